// Arrays side by side, in LDS and among a program's variables: an index beyond one hits another.
#include "cases.h"

// ---- the last work-item reads one element too many
template <bool broken> __global__ void halo(const float *in, float *out, int n) {
  __shared__ float left[64];
  __shared__ float right[64];
  const unsigned i = threadIdx.x;
  left[i] = in[i];
  right[63 - i] = in[i];
  __syncthreads();
  const float next = broken || i < 63
                         ? left[i + n] // finds: memory says: right after array left, 256 bytes of LDS
                         : 0;
  out[i] = left[i] + next + right[i];
}

// ---- a histogram with one bin too few
template <bool broken> __global__ void count(const unsigned *in, unsigned *out) {
  __shared__ unsigned bins[broken ? 12 : 13];
  __shared__ unsigned total[8];
  const unsigned i = threadIdx.x;
  if (i < 12) bins[i] = 0;
  if (i < 8) total[i] = 0;
  if (!broken && i == 12) bins[i] = 0;
  __syncthreads();
  atomicAdd(&bins[in[i] % 13], 1u); // finds: memory, optimized says: bins has 12 elements
  atomicAdd(&total[in[i] & 7], 2u);
  __syncthreads();
  if (i < 12) out[i] = bins[i] + total[i % 8];
}

// ---- one row before the first
template <bool broken> __global__ void rows(const int *in, int *out) {
  __shared__ int above[9][8];
  __shared__ int tile[8][8];
  const unsigned x = threadIdx.x % 8, y = threadIdx.x / 8;
  above[y][x] = in[threadIdx.x] + 1;
  if (y == 0) above[8][x] = 7;
  __syncthreads();
  tile[y][x] = in[threadIdx.x];
  __syncthreads();
  const int before = broken || y > 0
                         ? tile[int(y) - 1][x] // finds: memory says: 32 bytes before array tile
                         : 0;
  const int other = above[8 - y][x];
  out[threadIdx.x] = before + tile[y][7 - x] + other;
}

// ---- stored beyond the end
template <bool broken> __global__ void scatter(const int *in, double *out, int n) {
  __shared__ double sums[32];
  __shared__ double squares[32];
  const unsigned i = threadIdx.x;
  if (i < 32) squares[i] = i;
  __syncthreads();
  if (i == 0) sums[0] = n;
  if (broken || i < 31) sums[i + 1] = in[i]; // finds: memory says: right after array sums
  __syncthreads();
  if (i < 32) out[i] = sums[i] + squares[31 - i];
}

// ---- two elements are read by one instruction
template <bool broken> __global__ void pairs(const int *in, int *out) {
  __shared__ int steps[broken ? 64 : 65];
  __shared__ int limits_of[64];
  const unsigned i = threadIdx.x;
  steps[i] = in[i], limits_of[i] = in[63 - i];
  if (!broken && i == 0) steps[64] = 5;
  __syncthreads();
  const int difference = steps[i + 1] - steps[i]; // finds: memory says: right after array steps
  out[i] = difference + limits_of[i];
}
// The last of one array and the first of another: they are side by side as well.
template <bool broken> __global__ void ends(const int *in, int *out) {
  __shared__ int lower[64];
  __shared__ int upper[64];
  const unsigned i = threadIdx.x;
  lower[i] = in[i], upper[i] = in[i] + 1;
  __syncthreads();
  if (i < 2) out[i] = lower[63] * upper[0] + i;
}

// ---- variables of the program
__constant__ float weights[16] = {1, 2, 3};
__constant__ float bias[16] = {4, 5, 6};
__device__ int counters[8];
__device__ int limits[8];
template <bool broken> __global__ void apply(float *out, int n) {
  const unsigned i = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += weights[(i + k) % (broken ? 18 : 16)]; // finds: memory says: array weights, 64 bytes
  out[i] = sum + bias[i % 16];
  if (i < (broken ? 9 : 8)) {
    counters[i] = n; // finds: memory says: right after array counters
    limits[i % 8] = n + 1;
  }
}

// ---- loops that are unrolled: one instruction loads several elements
__constant__ float taps[9] = {1, 2, 3};
__constant__ float gains[16] = {4, 5, 6};
__constant__ int steps_of[5] = {1, 2, 3, 4, 5};
__constant__ int others_of[8] = {6, 7, 8};
__constant__ int three[3] = {1, 2, 3};
__constant__ unsigned char letters[3] = {1, 2, 3};
// At -O1 each element has a load and an address of its own, all under one line: the wrong one is
// that of the next array.
template <bool broken> __global__ void stencil(const float *in, float *out) {
  const unsigned i = threadIdx.x;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < (broken ? 10 : 9); ++k)
    sum += taps[k] * in[(i + k) % 64]; // finds: memory, unless O1 says: array taps, 36 bytes
  out[i] = sum + gains[i % 16];
}
template <bool broken> __global__ void by_four(const int *in, int *out, int n) {
  const unsigned i = threadIdx.x;
  int sum = 0;
#pragma unroll 4
  for (int k = 0; k < n; ++k)
    sum += steps_of[k] * in[(i + k) % 64]; // finds: memory says: array steps_of, 20 bytes
  out[i] = sum + others_of[i % 8];
}
// An instruction loads four of three: there is none for three.
__global__ void of_three(const int *in, int *out) {
  int sum = three[0] * in[0] + three[1] * in[1] + three[2] * in[2];
  out[threadIdx.x] = sum + letters[0] * letters[2];
}

// ---- clean, but not simple
#define LAST(array) array[63]
template <int kind> __device__ float own(const float *in) {
  __shared__ float mine[64];
  mine[threadIdx.x] = in[threadIdx.x] + kind;
  __syncthreads();
  return mine[63 - threadIdx.x];
}
__global__ void tricky(const float *in, float *out, int n) {
  __shared__ float a[64];
  __shared__ float b[64];
  __shared__ struct {
    float a[64], b[64];
  } both;
  __shared__ float one, two;
  const unsigned i = threadIdx.x;
  a[i] = in[i], b[i] = in[i] + 1; // stored by one instruction
  both.a[i] = in[i], both.b[i] = in[i];
  if (i == 0) one = in[0], two = in[1];
  __syncthreads();
  float sum = one + two + a[63] + b[0]; // loaded together
  for (int k = 0; k < n; ++k) sum += a[(i + k) % 64] * b[3]; // the second does not change
  const float *p = n & 1 ? a : b;
  sum += p[i] + (n & 2 ? a : b)[i] + (n & 4 ? a[i] : b[i]);
  __syncthreads();
  if (n & 8) a[63 - i] = sum; else b[63 - i] = sum;
  __syncthreads();
  sum += LAST(a) + LAST(b) + own<1>(in) + own<2>(in);
  const float4 four = *reinterpret_cast<const float4 *>(&a[i / 4 * 4]);
  {
    const float *weights = b; // not the program's
    sum += weights[i] + weights[(i + 40) % 64];
  }
  const auto both_of = [&](int k) { return a[k] + b[k]; };
  const float *flat = &both.a[0];
  sum += both_of(i) + both_of(63 - i) + flat[i * 2] + four.x + four.w;
  out[i] = sum;
}

// ---- the last variable of all: behind it there is nothing
__device__ int last_of_all[16];
template <bool broken> __global__ void beyond_all(int n) {
  const unsigned i = threadIdx.x;
  if (i < (broken ? 17 : 16)) last_of_all[i] = n; // finds: memory says: right after array last_of_all
}

// ---- loads that share their place in the line table with the computation of their address
__device__ int table_of_16[16], behind_table[16];
template <bool broken> __global__ void looks_up(int *out, int n) {
  out[threadIdx.x] = table_of_16[threadIdx.x % n]; // finds: memory says: right after array table_of_16
}
__device__ float weights_of_16[16], behind_weights[16];
template <bool broken> __global__ void weighs(float *out, int n) {
  out[threadIdx.x] = behind_weights[threadIdx.x & 15] +
                     weights_of_16[threadIdx.x % n] * 2; // finds: memory
}
// The compiler counts from before the table.
__global__ void counts_from_before(const int *in, int *out) {
  out[threadIdx.x] = behind_table[in[threadIdx.x] % 16 + 16 - 16] + behind_table[in[63] - 16];
  out[threadIdx.x] += behind_table[in[threadIdx.x] - 16];
}

// In LDS, likewise.
__device__ int r_of(int k) { return k * 5 + 1; }
template <bool broken> __global__ void shifted(int *out, int k) {
  __shared__ int first[64];
  __shared__ int second[64];
  const int i = threadIdx.x;
  first[i] = i;
  second[i] = 2 * i;
  __syncthreads();
  const int x = first[i + k]; // finds: memory says: right after array first
  const int y = second[i];
  out[i] = x * y;
}
template <bool broken> __global__ void blended(const float *in, float *out, int k) {
  __shared__ float line[64];
  __shared__ float weight[64];
  const int i = threadIdx.x;
  line[i] = in[i];
  weight[i] = in[63 - i];
  __syncthreads();
  float sum = 0;
  for (int r = 0; r < 3; ++r)
    sum += line[(broken ? 2 : 1) * i + r * k] * weight[i]; // finds: memory says: array line
  out[i] = sum;
}
// Loads that compilers move to the computation of another one's address.
__global__ void moved(const int *in, int *out, int n, int k) {
  __shared__ int a[64];
  __shared__ int b[64];
  const int i = threadIdx.x;
  a[i] = in[i];
  b[i] = in[63 - i];
  __syncthreads();
  int sum = 0;
  for (int r = 0; r < n; ++r) {
    sum += a[(i + k) & 63] * r + b[(i + k) & 63];
    if (sum < 0) break;
  }
  sum += n > 3 ? a[(i + r_of(k)) & 63] : b[(i + r_of(k)) & 63];
  if (n > 5)
    sum += b[(i + 2 * k) & 63];
  else
    sum += b[(i + 2 * k) & 63] * a[(i + 3 * k) & 63];
  const int at = (i ^ k) & 63;
  for (int r = 0; r < n; ++r) sum += in[r] > 0 ? b[at] : a[at] + b[at];
  out[i] = sum + a[(i + n) & 63] * b[(i + n) & 63];
}

template <bool broken> int run() {
  Device<float> in(64), out(64);
  Device<unsigned> numbers(64), bins(64);
  Device<double> doubles(64);
  std::vector<unsigned> values(64);
  for (unsigned i = 0; i < 64; ++i) values[i] = i * 7;
  HIP(hipMemcpy(numbers.data, values.data(), 256, hipMemcpyHostToDevice));
  Device<int> ints(64), results(64);
  halo<broken><<<1, 64>>>(in.data, out.data, 1);
  count<broken><<<1, 64>>>(numbers.data, bins.data);
  rows<broken><<<1, 64>>>(ints.data, results.data);
  scatter<broken><<<1, 32>>>(ints.data, doubles.data, 64);
  pairs<broken><<<1, 64>>>(ints.data, results.data);
  ends<broken><<<1, 64>>>(ints.data, results.data);
  apply<broken><<<1, 64>>>(out.data, 3);
  beyond_all<broken><<<1, 32>>>(7);
  looks_up<broken><<<1, 64>>>(results.data, broken ? 17 : 16);
  weighs<broken><<<1, 64>>>(out.data, broken ? 17 : 16);
  for (unsigned i = 0; i < 64; ++i) values[i] = 16 + i % 16;
  HIP(hipMemcpy(numbers.data, values.data(), 256, hipMemcpyHostToDevice));
  counts_from_before<<<1, 64>>>(reinterpret_cast<int *>(numbers.data), results.data);
  shifted<broken><<<1, 64>>>(results.data, broken ? 1 : 0);
  blended<broken><<<1, 64>>>(in.data, out.data, 0);
  for (int n = 0; n < 9; ++n) moved<<<1, 64>>>(ints.data, results.data, n, n % 4);
  stencil<broken><<<1, 64>>>(in.data, out.data);
  by_four<broken><<<1, 64>>>(ints.data, results.data, broken ? 6 : 5);
  of_three<<<1, 64>>>(ints.data, results.data);
  for (int n = 0; n < 16; ++n) tricky<<<1, 64>>>(in.data, out.data, n);
  finish();
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
