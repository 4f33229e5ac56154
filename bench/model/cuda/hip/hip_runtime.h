// As much of HIP as pairs.hip needs, for nvcc: each version runs 50 times in a row, seven times,
// and the shortest average is printed, in microseconds.
//   sed -E 's/asm volatile\(.*\);.*//; s/roomy<16000>/roomy<12000>/; s/__launch_bounds__\(64,
//   1\)//' ../pairs.hip > pairs.cu nvcc -x cu -I. -O2 -std=c++17 -arch=sm_90 pairs.cu -o pairs &&
//   ./pairs
// Waves of 64 lanes are two warps: exchanges go on within each of them, so results differ from
// AMD's.
#pragma once

#include <cstdio>
#include <cuda_runtime.h>

#define hipError_t cudaError_t
#define hipSuccess cudaSuccess
#define hipGetErrorString cudaGetErrorString
#define hipMalloc cudaMalloc
#define hipMemset cudaMemset
#define hipMemcpy cudaMemcpy
#define hipMemcpyHostToDevice cudaMemcpyHostToDevice
#define hipGetLastError cudaGetLastError
#define hipDeviceSynchronize cudaDeviceSynchronize
#define __shfl_xor exchanged

__device__ inline float exchanged(float value, int apart, int = 0) {
  return __shfl_xor_sync(~0u, value, apart & 31);
}

template <class F> void timeIt(const char *name, F launch) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  float best = 1e9;
  constexpr int times = 50;
  for (int round = 0; round < 7; ++round) {
    cudaEventRecord(begin);
    for (int i = 0; i < times; ++i) launch();
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    float ms;
    cudaEventElapsedTime(&ms, begin, end);
    if (ms < best) best = ms;
  }
  std::printf("%s %.3f\n", name, best * 1000 / times);
}

#define hipLaunchKernelGGL(kernel_, groups, lanes, lds, stream, ...)                               \
  timeIt(one.name, [&] { one.kernel<<<groups, lanes, lds, stream>>>(__VA_ARGS__); })
