// Code that is right only because a wave has 64 lanes.
#include "cases.h"

#define CASE(name, parameters) template <bool broken> __global__ void name parameters

namespace {

// The end of a reduction, as it is written for waves of 64.
CASE(reduced, (float *out)) {
  __shared__ volatile float s[128];
  const int t = threadIdx.x;
  s[t] = t;
  __syncthreads();
  if (t < 64) s[t] = s[t] + s[t + 64]; // finds: wave on gfx9 says: add __syncthreads() after line 14, before line 16
  if (!broken) __syncthreads();
  if (t < 32) s[t] = s[t] + s[t + 32]; // finds: wave on gfx9
  if (t < 16) s[t] = s[t] + s[t + 16];
  if (t < 8) s[t] = s[t] + s[t + 8];
  if (t == 0) *out = s[0];
}

// The last lane's value for all of the wave.
CASE(last_lane, (float *out, const float *in)) {
  __shared__ volatile float last[4];
  if (threadIdx.x % 64 == 63) last[threadIdx.x / 64] = in[threadIdx.x]; // finds: wave on gfx9
  if (!broken) __syncthreads();
  out[threadIdx.x] = last[threadIdx.x / 64]; // finds: wave on gfx9
}

// Within 32 lanes, in each half.
CASE(neighbours, (float *out, const float *in)) {
  __shared__ volatile float tile[128];
  tile[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = tile[threadIdx.x ^ 31];
}

// Shuffles need no LDS.
CASE(shuffled, (float *out, const float *in)) {
  float sum = in[threadIdx.x];
  for (int by = warpSize / 2; by > 0; by /= 2) sum += __shfl_xor(sum, by);
  out[threadIdx.x] = sum + __popcll(__ballot(sum > 0));
}

// One wave in a workgroup: the barrier is in the source, but not in the code.
__global__ void __launch_bounds__(64) one_wave(float *out, const float *in) {
  __shared__ volatile float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];
}

// One wave in a workgroup, too, but what is there is for the compiler alone.
__global__ void __launch_bounds__(64) unordered_wave(float *out, const float *in) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x]; // finds: wave on gfx9
  __builtin_amdgcn_wave_barrier();
  out[threadIdx.x] = tile[63 - threadIdx.x]; // finds: wave on gfx9
}

// Made for both sizes.
CASE(asked, (float *out, const float *in)) {
  __shared__ volatile float tile[128];
  tile[threadIdx.x] = in[threadIdx.x];
  if (warpSize != 64) __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x / 64 * 64 + (63 - threadIdx.x % 64)];
}

// Atomics order, and results come after a barrier.
CASE(counted, (int *out)) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);
  __syncthreads();
  out[threadIdx.x] = count;
}

template <bool broken> void run() {
  Device<float> in(128), out(128);
  Device<int> counts(128);
  reduced<broken><<<1, 128>>>(out.data);
  last_lane<broken><<<1, 128>>>(out.data, in.data);
  neighbours<broken><<<1, 128>>>(out.data, in.data);
  shuffled<broken><<<1, 128>>>(out.data, in.data);
  one_wave<<<1, 64>>>(out.data, in.data);
  if (broken) unordered_wave<<<1, 64>>>(out.data, in.data);
  asked<broken><<<1, 128>>>(out.data, in.data);
  counted<broken><<<1, 128>>>(counts.data);
  finish();
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  std::strcmp(argv[1], "broken") == 0 ? run<true>() : run<false>();
  std::printf("done\n");
  return 5;
}
