// Stores of equal values by several waves, which are harmless byte by byte, and stores that differ
// in some. Many workgroups meet at the same places, in whatever order they run.
#include "cases.h"

#include <hip/hip_fp16.h>

// Pairs that overlap by one element: each element gets one value, whoever stores it.
template <bool broken> __global__ void overlapping_pairs(int *p) {
  struct __attribute__((aligned(4))) Pair {
    int a, b;
  };
  const int i = (blockIdx.x + threadIdx.x) % 1023;
  const int wrong = broken && blockIdx.x % 2 ? 1 : 0;
  *reinterpret_cast<Pair *>(p + i) = {i * 3, (i + 1) * 3 + wrong}; // finds: race
}

// Of four elements each two are stored by the neighbor, too.
template <bool broken> __global__ void overlapping_fours(int *p) {
  struct __attribute__((aligned(8))) Four {
    int v[4];
  };
  const int i = (blockIdx.x * 2 + threadIdx.x * 2) % 1020;
  const int wrong = broken ? blockIdx.x : 0;
  *reinterpret_cast<Four *>(p + i) = {{i, i + 1, i + 2 + wrong, i + 3}}; // finds: race
}

// Bytes, and dwords around them.
template <bool broken> __global__ void bytes_and_dwords(unsigned char *p) {
  const int i = threadIdx.x;
  unsigned *dwords = reinterpret_cast<unsigned *>(p);
  const unsigned wrong = broken ? 1u << i % 4 * 8 : 0;
  if (blockIdx.x % 2)
    p[i * 4 + i % 4] = 7; // finds: race
  else
    dwords[i] = 0x07070707u ^ wrong; // finds: race
}

// Single dwords, from all workgroups.
template <bool broken> __global__ void single_dwords(int *p, const int *in) {
  for (int k = 0; k < 8; ++k) {
    const int i = (threadIdx.x + 37 * blockIdx.x + k) % 512;
    p[i] = in[i] + (broken && blockIdx.x == 3 ? 1 : 0); // finds: race
  }
}

// One workgroup stores something else first: that others store what it stores then is no excuse.
template <bool broken> __global__ void other_value_before(int *p) {
  volatile int *at = p + threadIdx.x;
  if (broken && blockIdx.x == 0) *at = 5; // finds: race
  *at = 6;                                // finds: race
}

// In LDS.
template <bool broken> __global__ void overlapping_in_lds(int *out) {
  __shared__ int tile[512];
  struct __attribute__((aligned(4))) Pair {
    int a, b;
  };
  const int i = threadIdx.x;
  *reinterpret_cast<Pair *>(tile + i) = {i, i + 1 + (broken && i == 63)}; // finds: race
  __syncthreads();
  out[i] = tile[i];
}

// Lanes of one wave meet: of the additions to a place only one is kept.
template <bool broken> __global__ void counts_in_a_wave(unsigned *bins, const int *in) {
  const unsigned x = in[threadIdx.x] % 1024u + threadIdx.x % 8;
  if (broken)
    bins[x]++; // finds: race says: one of the updates is lost
  else
    atomicAdd(&bins[x], 1u);
}
template <bool broken> __global__ void counts_in_lds(unsigned *out, const int *in) {
  __shared__ float bins[64];
  for (unsigned i = threadIdx.x; i < 64; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  const unsigned x = in[threadIdx.x] % 32u + threadIdx.x % 8;
  if (broken)
    bins[x] += 2.5f; // finds: race says: one of the updates is lost
  else
    atomicAdd(&bins[x], 2.5f);
  __syncthreads();
  out[threadIdx.x] = static_cast<unsigned>(bins[threadIdx.x]);
}

// Added by an instruction that adds to its own result; and bytes.
template <bool broken> __global__ void weighs_in_a_wave(double *bins, const int *in, double by) {
  const unsigned x = in[threadIdx.x] % 32u + threadIdx.x % 8;
  if (broken)
    bins[x] += by * 3.0; // finds: race says: one of the updates is lost
  else
    atomicAdd(&bins[x], by * 3.0);
}
template <bool broken> __global__ void counts_bytes(unsigned char *bins, const int *in) {
  const unsigned x = in[threadIdx.x] % 32u + threadIdx.x % 8;
  if (broken)
    bins[x]++; // finds: race says: one of the updates is lost
  else
    bins[threadIdx.x]++;
}

// f16 by a function of HIP, and bf16 by functions of the program.
template <bool broken> __global__ void adds_halves(__half *bins, const int *in) {
  const unsigned x = in[threadIdx.x] % 32u + threadIdx.x % 8;
  if (broken)
    bins[x] = __hadd(bins[x], __float2half(1.0f)); // finds: race says: one of the updates is lost
  else
    bins[threadIdx.x] = __hadd(bins[threadIdx.x], __float2half(1.0f));
}
struct Brief { // bf16
  unsigned short bits;
};
__device__ float longOf(Brief b) { return __uint_as_float(unsigned{b.bits} << 16); } // may: race
__device__ Brief briefOf(float f) {
  return {static_cast<unsigned short>((__float_as_uint(f) + 0x8000) >> 16)};
}
template <bool broken> __global__ void adds_briefs(Brief *bins, const int *in) {
  const unsigned x = in[threadIdx.x] % 32u + threadIdx.x % 8;
  const unsigned at = broken ? x : threadIdx.x;
  const float old = longOf(bins[at]); // may: race
  bins[at] = briefOf(old + 1.5f); // finds: race says: one of the updates is lost
}
// The larger of two is the same however often it is taken.
__global__ void largest_halves(__half *bins, const int *in) {
  const unsigned x = in[threadIdx.x] % 32u + threadIdx.x % 8;
  const float old = __half2float(bins[x]), mine = 2.0f + x;
  bins[x] = __float2half(old > mine ? old : mine);
}

// Lanes of one wave store what differs, or what does not.
template <bool broken> __global__ void lanes_meet(int *p, const int *in) {
  const int x = in[threadIdx.x] % 8 + threadIdx.x % 4;
  p[x] = broken ? threadIdx.x : x; // finds: race says: store different values
}

// Marks, and the largest of all: twice is the same as once.
__global__ void marks_in_a_wave(unsigned *seen, const int *in) {
  const unsigned x = in[threadIdx.x] % 64u + threadIdx.x % 8;
  if (seen[x] == 0x01010101u) seen[x] = 1;
  seen[x + 512] = max(seen[x + 512], 0x05050505u);
}

// What nobody wrote is copied within LDS, and only then used, or not.
template <bool broken> __global__ void copies_unwritten(int *out) {
  __shared__ int tile[64], copy[64];
  if (threadIdx.x < 16) tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  copy[threadIdx.x] = tile[threadIdx.x];
  __syncthreads();
  const int i = broken ? threadIdx.x ^ 1 : threadIdx.x % 16;
  out[threadIdx.x] = copy[i] * 3; // finds: init
}

template <bool broken> int run() {
  Device<int> ints(1024), in(1024), out(1024);
  constexpr int blocks = 24, threads = 256;
  overlapping_pairs<broken><<<blocks, threads>>>(ints.data);
  overlapping_fours<broken><<<blocks, threads>>>(ints.data);
  bytes_and_dwords<broken><<<blocks, threads>>>(reinterpret_cast<unsigned char *>(out.data));
  single_dwords<broken><<<blocks, threads>>>(ints.data, in.data);
  other_value_before<broken><<<blocks, threads>>>(out.data);
  overlapping_in_lds<broken><<<4, threads>>>(ints.data);
  // One wave, of whatever size.
  Device<unsigned> bins(2048);
  counts_in_a_wave<broken><<<1, 32>>>(bins.data, in.data);
  counts_in_lds<broken><<<1, 32>>>(bins.data, in.data);
  Device<double> sums(64);
  Device<unsigned char> bytes(64);
  Device<unsigned short> shorts(64);
  weighs_in_a_wave<broken><<<1, 32>>>(sums.data, in.data, 2.5);
  counts_bytes<broken><<<1, 32>>>(bytes.data, in.data);
  adds_halves<broken><<<1, 32>>>(reinterpret_cast<__half *>(shorts.data), in.data);
  adds_briefs<broken><<<1, 32>>>(reinterpret_cast<Brief *>(shorts.data), in.data);
  largest_halves<<<1, 32>>>(reinterpret_cast<__half *>(shorts.data), in.data);
  lanes_meet<broken><<<1, 32>>>(ints.data, in.data);
  marks_in_a_wave<<<1, 32>>>(bins.data, in.data);
  copies_unwritten<broken><<<1, 64>>>(ints.data);
  finish();
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
