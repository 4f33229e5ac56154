// Pairs of kernels: as somebody wrote it first, and with the change that FADE's first finding asks for. bench/model/compare runs all of them and compares
// what the finding promises with what the model says of the changed kernel. Results are of no interest; what is loaded is added up so that it is used.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#define CHECK(call) do { if (const hipError_t e = (call); e != hipSuccess) { std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(e)); std::exit(1); } } while (false)
#define KERNEL(name) extern "C" __global__ void name(const float *__restrict__ in, float *__restrict__ out, const int *__restrict__ index, int n)
constexpr int kSize = 512, kCount = kSize * kSize; // a square matrix of floats

__device__ int lane() { return threadIdx.x % 64; }
__device__ int global() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ float shared_out(float value) {
  for (int apart = 32; apart > 0; apart /= 2) value += __shfl_xor(value, apart);
  return value;
}
template <int Steps> __device__ float work(float x) {
#pragma unroll 1
  for (int i = 0; i < Steps; ++i) x = x * 0.999f + 0.5f;
  return x;
}

// Lanes of an access that are far apart.
template <int Pitch> __device__ void turned(const float *in, float *out) {
  __shared__ float tile[32][Pitch];
  const int tiles = kSize / 32, bx = blockIdx.x % tiles * 32, by = blockIdx.x / tiles * 32, x = threadIdx.x % 32, y = threadIdx.x / 32;
  tile[y][x] = in[(by + y) * kSize + bx + x];
  __syncthreads();
  out[(bx + y) * kSize + by + x] = tile[x][y];
}
KERNEL(transpose_store_before) { const int x = global() % kSize, y = global() / kSize; out[x * kSize + y] = in[y * kSize + x]; }
KERNEL(transpose_store_after) { turned<33>(in, out); }
KERNEL(transpose_load_before) { const int x = global() % kSize, y = global() / kSize; out[y * kSize + x] = in[x * kSize + y]; }
KERNEL(transpose_load_after) { turned<33>(in, out); }
KERNEL(row_sums_before) { // a row of 32 for each lane
  float sum = 0;
  for (int i = 0; i < 32; ++i) sum += in[global() * 32 + i];
  out[global()] = sum;
}
KERNEL(row_sums_after) {
  float sum = in[global()];
  for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor(sum, apart, 32);
  if (threadIdx.x % 32 == 0) out[global() / 32] = sum;
}
KERNEL(stride_load_before) { out[global()] = in[global() * 16 % kCount]; }
KERNEL(stride_load_after) { out[global()] = in[global()]; }
KERNEL(stride_store_before) { out[global() * 16 % kCount] = in[global()]; }
KERNEL(stride_store_after) { out[global()] = in[global()]; }
struct Particle { float x, y, z, vx, vy, vz, mass, charge; };
KERNEL(structs_before) { out[global()] = reinterpret_cast<const Particle *>(in)[global()].mass; }
KERNEL(structs_after) { out[global()] = in[global()]; }
KERNEL(gather_before) { out[global()] = in[index[global()]]; }
KERNEL(gather_after) { out[global()] = in[(index[global()] >> 30) | global()]; }
KERNEL(blocked_load_before) { // 16 neighbours for each lane
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < 16; ++i) sum += in[global() * 16 + i];
  out[global()] = sum;
}
KERNEL(blocked_load_after) {
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < 16; ++i) sum += in[i * (kCount / 16) + global()];
  out[global()] = sum;
}
KERNEL(blocked_store_before) {
#pragma unroll 1
  for (int i = 0; i < 16; ++i) out[global() * 16 + i] = i;
}
KERNEL(blocked_store_after) {
#pragma unroll 1
  for (int i = 0; i < 16; ++i) out[i * (kCount / 16) + global()] = i;
}
KERNEL(matrix_vector_before) { // 512 rows, a lane for 64 columns of each
  const int row = global() % kSize, part = global() / kSize;
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < 32; ++i) sum += in[row * kSize + part * 32 + i];
  atomicAdd(&out[row], sum);
}
KERNEL(matrix_vector_after) {
  const int row = global() % kSize, part = global() / kSize;
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < 32; ++i) sum += in[(part * 32 + i) * kSize + row];
  atomicAdd(&out[row], sum);
}
KERNEL(swapped_stencil_before) {
  const int y = global() % kSize, x = global() / kSize;
  if (x == 0 || y == 0 || x == kSize - 1 || y == kSize - 1) return;
  const float *p = in + y * kSize + x;
  out[y * kSize + x] = p[0] + p[1] + p[-1] + p[kSize] + p[-kSize];
}
KERNEL(swapped_stencil_after) {
  const int x = global() % kSize, y = global() / kSize;
  if (x == 0 || y == 0 || x == kSize - 1 || y == kSize - 1) return;
  const float *p = in + y * kSize + x;
  out[y * kSize + x] = p[0] + p[1] + p[-1] + p[kSize] + p[-kSize];
}
KERNEL(wide_stride_before) { reinterpret_cast<double *>(out)[global()] = reinterpret_cast<const double *>(in)[global() * 32 % (kCount / 2)]; }
KERNEL(wide_stride_after) { reinterpret_cast<double *>(out)[global()] = reinterpret_cast<const double *>(in)[global() % (kCount / 64)]; }
KERNEL(bytes_before) { reinterpret_cast<unsigned char *>(out)[global()] = reinterpret_cast<const unsigned char *>(in)[global() * 64 % (kCount * 4)]; }
KERNEL(bytes_after) { reinterpret_cast<unsigned char *>(out)[global()] = reinterpret_cast<const unsigned char *>(in)[global()]; }
KERNEL(both_sides_before) { out[global() * 8 % kCount] = in[global() * 8 % kCount] * 2; }
KERNEL(both_sides_after) { out[global()] = in[global()] * 2; }

// Banks of LDS.
template <int Pitch> __device__ void columns(const float *in, float *out) {
  __shared__ float tile[64 * Pitch];
  for (int i = threadIdx.x; i < 64 * Pitch; i += 256) tile[i] = in[i];
  __syncthreads();
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < 64; ++k) sum += tile[lane() * Pitch + k % 32];
  out[global()] = sum;
}
KERNEL(lds_columns_before) { columns<32>(in, out); }
KERNEL(lds_columns_after) { columns<33>(in, out); }
KERNEL(lds_pairs_before) { columns<34>(in, out); }
KERNEL(lds_pairs_after) { columns<33>(in, out); }
KERNEL(lds_quads_before) { columns<36>(in, out); }
KERNEL(lds_quads_after) { columns<37>(in, out); }
template <int Pitch> __device__ void writes(float *out) {
  __shared__ float tile[64 * Pitch];
#pragma unroll 1
  for (int k = 0; k < 64; ++k) tile[lane() * Pitch + k % 32] = k;
  __syncthreads();
  out[global()] = tile[threadIdx.x];
}
KERNEL(lds_writes_before) { writes<32>(out); }
KERNEL(lds_writes_after) { writes<33>(out); }
template <int Pitch> __device__ void product(const float *a, const float *b, float *c) {
  __shared__ float as[32][Pitch], bs[32][Pitch];
  const int tx = threadIdx.x % 32, ty = threadIdx.x / 32, tiles = kSize / 32, bx = blockIdx.x % tiles, by = blockIdx.x / tiles;
  float sum = 0;
#pragma unroll 1
  for (int k0 = 0; k0 < 32; k0 += 32) {
    as[ty][tx] = a[(by * 32 + ty) * kSize + k0 + tx];
    bs[ty][tx] = b[(bx * 32 + ty) * kSize + k0 + tx];
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 32; ++k) sum += as[ty][k] * bs[tx][k];
    __syncthreads();
  }
  c[(by * 32 + ty) * kSize + bx * 32 + tx] = sum;
}
KERNEL(product_before) { product<32>(in, in, out); }
KERNEL(product_after) { product<33>(in, in, out); }
KERNEL(tile_transpose_before) { turned<32>(in, out); }
KERNEL(tile_transpose_after) { turned<33>(in, out); }
KERNEL(lds_fields_before) { // one field of structs of 8
  __shared__ float fields[256 * 8];
  for (int i = threadIdx.x; i < 256 * 8; i += 256) fields[i] = in[i];
  __syncthreads();
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < 64; ++k) sum += fields[threadIdx.x * 8 + k % 8];
  out[global()] = sum;
}
KERNEL(lds_fields_after) {
  __shared__ float fields[256 * 8];
  for (int i = threadIdx.x; i < 256 * 8; i += 256) fields[i] = in[i];
  __syncthreads();
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < 64; ++k) sum += fields[k % 8 * 256 + threadIdx.x];
  out[global()] = sum;
}
KERNEL(lds_doubles_before) {
  __shared__ double tile[32 * 64];
  for (int i = threadIdx.x; i < 32 * 64; i += 256) tile[i] = i;
  __syncthreads();
  double sum = 0;
#pragma unroll 1
  for (int k = 0; k < 64; ++k) sum += tile[lane() * 32 + k % 32];
  out[global()] = sum;
}
KERNEL(lds_doubles_after) {
  __shared__ double tile[33 * 64];
  for (int i = threadIdx.x; i < 32 * 64; i += 256) tile[i] = i;
  __syncthreads();
  double sum = 0;
#pragma unroll 1
  for (int k = 0; k < 64; ++k) sum += tile[lane() * 33 + k % 32];
  out[global()] = sum;
}

// Atomic operations on few addresses.
template <int Spread> __device__ void bins(const int *index, float *out) {
  __shared__ int counts[64 * Spread];
  for (int i = threadIdx.x; i < 64 * Spread; i += 256) counts[i] = 0;
  __syncthreads();
#pragma unroll 1
  for (int k = 0; k < 32; ++k) atomicAdd(&counts[index[global()] % 2 * Spread + (Spread > 1 ? lane() % Spread : 0)], k + lane());
  __syncthreads();
  if (threadIdx.x < 64) out[blockIdx.x * 64 + threadIdx.x] = counts[threadIdx.x * Spread];
}
KERNEL(lds_atomics_before) { bins<1>(index, out); }
KERNEL(lds_atomics_after) { bins<32>(index, out); }
KERNEL(lds_sum_before) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
#pragma unroll 1
  for (int k = 0; k < 16; ++k) atomicAdd(&sum + (index[global()] >> 30), in[global()] + k);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
KERNEL(lds_sum_after) {
  __shared__ float sum[32];
  if (threadIdx.x < 32) sum[threadIdx.x] = 0;
  __syncthreads();
#pragma unroll 1
  for (int k = 0; k < 16; ++k) atomicAdd(sum + threadIdx.x % 32 + (index[global()] >> 30), in[global()] + k);
  __syncthreads();
  float all = 0;
  if (threadIdx.x == 0)
    for (const float one : sum) all += one;
  if (threadIdx.x == 0) out[blockIdx.x] = all;
}
KERNEL(hot_sum_before) { atomicAdd(out + (index[global()] >> 30), in[global()]); } // not one address to the compiler
KERNEL(hot_sum_after) {
  const float all = shared_out(in[global()]);
  if (lane() == 0) atomicAdd(out, all);
}
KERNEL(histogram_before) { atomicAdd(reinterpret_cast<int *>(out) + index[global()] % 16 * 32, 1); }
KERNEL(histogram_after) {
  __shared__ int counts[16][33];
  for (int i = threadIdx.x; i < 16 * 33; i += 256) counts[i / 33][i % 33] = 0;
  __syncthreads();
  atomicAdd(&counts[index[global()] % 16][lane() % 32], 1);
  __syncthreads();
  if (threadIdx.x < 16) {
    int all = 0;
    for (int i = 0; i < 32; ++i) all += counts[threadIdx.x][i];
    atomicAdd(reinterpret_cast<int *>(out) + threadIdx.x * 32, all);
  }
}
KERNEL(wave_counters_before) { // one operation of each wave on the same address, many times
#pragma unroll 1
  for (int k = 0; k < 8; ++k)
    if (lane() == k) atomicAdd(out, in[global()]);
}
KERNEL(wave_counters_after) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
#pragma unroll 1
  for (int k = 0; k < 8; ++k)
    if (lane() == k) atomicAdd(&sum, in[global()]);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(out, sum);
}

// Lanes of a wave that take different ways.
KERNEL(odd_even_before) { float x = in[global()]; x = global() % 2 ? work<400>(x) : work<401>(x) + 1; out[global()] = x; }
KERNEL(odd_even_after) { float x = in[global()]; x = global() / 64 % 2 ? work<400>(x) : work<401>(x) + 1; out[global()] = x; }
KERNEL(four_ways_before) {
  float x = in[global()];
  switch (global() % 4) { case 0: x = work<300>(x); break; case 1: x = work<301>(x) + 1; break; case 2: x = work<302>(x) + 2; break; default: x = work<303>(x) + 3; }
  out[global()] = x;
}
KERNEL(four_ways_after) {
  float x = in[global()];
  switch (global() / 64 % 4) { case 0: x = work<300>(x); break; case 1: x = work<301>(x) + 1; break; case 2: x = work<302>(x) + 2; break; default: x = work<303>(x) + 3; }
  out[global()] = x;
}
KERNEL(one_in_eight_before) { float x = in[global()]; if (global() % 8 == 0) x = work<800>(x); out[global()] = x; }
KERNEL(one_in_eight_after) { float x = in[global()]; if (global() / 64 % 8 == 0) x = work<800>(x); out[global()] = x; }
KERNEL(lengths_before) { // loops of different lengths, side by side
  float x = in[global()];
#pragma unroll 1
  for (int i = 0; i < index[global() % 64] % 64 * 8; ++i) x = x * 0.99f + 0.25f;
  out[global()] = x;
}
KERNEL(lengths_after) {
  float x = in[global()];
#pragma unroll 1
  for (int i = 0; i < index[global() / 64 % 64] % 64 * 8; ++i) x = x * 0.99f + 0.25f;
  out[global()] = x;
}
KERNEL(lower_half_before) { float x = in[global()]; if (lane() < 32) x = work<600>(x); out[global()] = x; }
KERNEL(lower_half_after) { float x = in[global()]; if (global() / 64 % 2) x = work<600>(x); out[global()] = x; }

// Workgroups that leave lanes of their waves without work, or compute units without workgroups.
KERNEL(half_waves_before) { out[global()] = work<400>(in[global()]); }
KERNEL(half_waves_after) { out[global()] = work<400>(in[global()]); }
KERNEL(single_lanes_before) { out[global()] = work<200>(in[global()]); }
KERNEL(single_lanes_after) { out[global()] = work<200>(in[global()]); }
KERNEL(parts_of_waves_before) { out[global()] = work<400>(in[global()]); }
KERNEL(parts_of_waves_after) { out[global()] = work<400>(in[global()]); }
__device__ void all_of(const float *in, float *out, int n) {
  float sum = 0;
#pragma unroll 1
  for (int i = global(); i < n; i += gridDim.x * blockDim.x) sum += in[i];
  out[global()] = sum;
}
KERNEL(four_groups_before) { all_of(in, out, 65536); }
KERNEL(four_groups_after) { all_of(in, out, 65536); }
KERNEL(one_group_before) { all_of(in, out, 32768); }
KERNEL(one_group_after) { all_of(in, out, 32768); }
KERNEL(few_groups_before) {
  float x = 0;
#pragma unroll 1
  for (int i = global(); i < 32768; i += gridDim.x * blockDim.x) x += work<16>(in[i]);
  out[global()] = x;
}
KERNEL(few_groups_after) {
  float x = 0;
#pragma unroll 1
  for (int i = global(); i < 32768; i += gridDim.x * blockDim.x) x += work<16>(in[i]);
  out[global()] = x;
}
KERNEL(layernorm_before) { // a row for each lane
  const int row = global(), columns = 128;
  float mean = 0, variance = 0;
  for (int c = 0; c < columns; ++c) mean += in[row * columns + c];
  mean /= columns;
  for (int c = 0; c < columns; ++c) { const float d = in[row * columns + c] - mean; variance += d * d; }
  const float scale = rsqrtf(variance / columns + 1e-5f);
  for (int c = 0; c < columns; ++c) out[row * columns + c] = (in[row * columns + c] - mean) * scale;
}
KERNEL(layernorm_after) { // a row for each wave
  const int row = global() / 64, columns = 128;
  float mean = 0, variance = 0;
  for (int c = lane(); c < columns; c += 64) mean += in[row * columns + c];
  mean = shared_out(mean) / columns;
  for (int c = lane(); c < columns; c += 64) { const float d = in[row * columns + c] - mean; variance += d * d; }
  const float scale = rsqrtf(shared_out(variance) / columns + 1e-5f);
  for (int c = lane(); c < columns; c += 64) out[row * columns + c] = (in[row * columns + c] - mean) * scale;
}

// Waves that do not fit.
template <int Floats> __device__ void roomy(const float *in, float *out) {
  __shared__ float own[Floats];
  own[threadIdx.x] = threadIdx.x;
  __syncthreads();
  float sum = own[(threadIdx.x + 1) % 64];
#pragma unroll 1
  for (int i = 0; i < 16; ++i) sum += in[(i * 64 * 1024 + global()) % kCount];
  own[Floats - 1 - threadIdx.x] = sum;
  __syncthreads();
  out[global()] = own[Floats - 1 - threadIdx.x];
}
KERNEL(much_lds_before) { roomy<16000>(in, out); }
KERNEL(much_lds_after) { roomy<1000>(in, out); }
KERNEL(half_the_lds_before) { roomy<8000>(in, out); }
KERNEL(half_the_lds_after) { roomy<1000>(in, out); }
extern "C" __global__ __launch_bounds__(64, 1) void registers_before(const float *__restrict__ in, float *__restrict__ out, const int *, int) {
  float x = in[global()];
#pragma unroll 1
  for (int i = 0; i < 16; ++i) x += in[(i * 8192 + global()) % kCount];
  asm volatile("v_mov_b32 v200, 0" ::: "v200"); // keeps it
  out[global()] = x;
}
KERNEL(registers_after) {
  float x = in[global()];
#pragma unroll 1
  for (int i = 0; i < 16; ++i) x += in[(i * 8192 + global()) % kCount];
  asm volatile("v_mov_b32 v40, 0" ::: "v40");
  out[global()] = x;
}

// Arrays in scratch memory.
KERNEL(local_array_before) {
  float own[64];
#pragma unroll 1
  for (int i = 0; i < 64; ++i) own[i] = i;
#pragma unroll 1
  for (int i = 0; i < 64; ++i) own[(i * 7 + n) % 64] += own[i];
  out[global()] = own[n % 64] + own[(n + 5) % 64];
}
KERNEL(local_array_after) {
  float own = n;
#pragma unroll 1
  for (int i = 0; i < 64; ++i) own += i;
#pragma unroll 1
  for (int i = 0; i < 64; ++i) own += own * i;
  out[global()] = own;
}

// One wave that all wait for.
KERNEL(long_rows_before) {
  float sum = 0;
  const int wave = global() / 64, length = wave % 64 == 0 ? 512 : 8;
#pragma unroll 1
  for (int i = 0; i < length; ++i) sum += in[(wave * 512 + i * 64 + lane()) % kCount];
  out[global()] = sum;
}
KERNEL(long_rows_after) {
  float sum = 0;
  const int wave = global() / 64;
#pragma unroll 1
  for (int i = 0; i < 16; ++i) sum += in[(wave * 512 + i * 64 + lane()) % kCount];
  out[global()] = sum;
}

using Kernel = void (*)(const float *, float *, const int *, int);
struct Version { const char *name; Kernel kernel; int groups, lanes; };
#define VERSION(name, groups, lanes) Version{#name, name, groups, lanes}
#define BOTH(name, groups, lanes) VERSION(name##_before, groups, lanes), VERSION(name##_after, groups, lanes)

int main(int argc, char **argv) {
  constexpr int all = kCount / 256, tiles = kCount / 1024;
  const Version versions[] = {
      VERSION(transpose_store_before, all, 256), VERSION(transpose_store_after, tiles, 1024), VERSION(transpose_load_before, all, 256), VERSION(transpose_load_after, tiles, 1024),
      VERSION(row_sums_before, kCount / 32 / 64, 64), VERSION(row_sums_after, all, 256), BOTH(stride_load, all, 256), BOTH(stride_store, all, 256), BOTH(structs, kCount / 8 / 256, 256), BOTH(gather, all, 256),
      BOTH(blocked_load, kCount / 16 / 64, 64), BOTH(blocked_store, kCount / 16 / 64, 64), BOTH(matrix_vector, kSize * 16 / 64, 64), BOTH(swapped_stencil, all, 256),
      BOTH(wide_stride, all / 2, 256), BOTH(bytes, all, 256), BOTH(both_sides, all, 256),
      BOTH(lds_columns, 208, 256), BOTH(lds_pairs, 208, 256), BOTH(lds_quads, 208, 256), BOTH(lds_writes, 208, 256), BOTH(product, tiles, 1024), BOTH(tile_transpose, tiles, 1024), BOTH(lds_fields, 208, 256), BOTH(lds_doubles, 208, 256),
      BOTH(lds_atomics, 208, 256), BOTH(lds_sum, 208, 256), BOTH(hot_sum, 128, 256), BOTH(histogram, 256, 256), BOTH(wave_counters, 256, 256),
      BOTH(odd_even, 416, 256), BOTH(four_ways, 416, 256), BOTH(one_in_eight, 416, 256), BOTH(lengths, 416, 256), BOTH(lower_half, 416, 256),
      VERSION(half_waves_before, 2080, 32), VERSION(half_waves_after, 1040, 64), VERSION(single_lanes_before, 3328, 1), VERSION(single_lanes_after, 52, 64), VERSION(parts_of_waves_before, 1664, 80), VERSION(parts_of_waves_after, 2080, 64),
      VERSION(four_groups_before, 4, 256), VERSION(four_groups_after, 104, 256), VERSION(one_group_before, 1, 256), VERSION(one_group_after, 104, 256), VERSION(few_groups_before, 13, 64), VERSION(few_groups_after, 104, 64),
      VERSION(layernorm_before, 4, 64), VERSION(layernorm_after, 256, 64),
      BOTH(much_lds, 832, 64), BOTH(half_the_lds, 832, 64), BOTH(registers, 3328, 64), BOTH(local_array, 416, 64), BOTH(long_rows, 416, 64)};
  float *in, *out;
  int *index, *order = static_cast<int *>(std::malloc(kCount * sizeof(int)));
  unsigned state = 1;
  for (int i = 0; i < kCount; ++i) order[i] = static_cast<int>((state = state * 1664525u + 1013904223u) >> 8) % kCount;
  CHECK(hipMalloc(&in, kCount * sizeof(float)));
  CHECK(hipMalloc(&out, kCount * sizeof(float)));
  CHECK(hipMalloc(&index, kCount * sizeof(int)));
  CHECK(hipMemset(in, 0, kCount * sizeof(float)));
  CHECK(hipMemset(out, 0, kCount * sizeof(float)));
  CHECK(hipMemcpy(index, order, kCount * sizeof(int), hipMemcpyHostToDevice));
  for (const Version &one : versions) {
    bool is_wanted = argc == 1; // the names of pairs
    for (int i = 1; i < argc; ++i) is_wanted |= std::strncmp(one.name, argv[i], std::strlen(argv[i])) == 0;
    if (is_wanted) hipLaunchKernelGGL(one.kernel, dim3(one.groups), dim3(one.lanes), 0, nullptr, in, out, index, 3);
    CHECK(hipGetLastError());
  }
  CHECK(hipDeviceSynchronize());
  return 0;
}
