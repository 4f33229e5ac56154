// Kernels that take too much of something: LDS, so that few waves fit on a compute unit, and scratch memory; and such whose lanes part.
#include <hip/hip_runtime.h>

#include <cstdio>

constexpr int kGroups = 416, kLanes = 64, kRounds = 4;

// 40 KiB of LDS for one wave: a compute unit has room for one of them.
__global__ void few_waves(const float *in, float *out) {
  __shared__ float room[10240];
  float sum = 0;
  for (int k = 0; k < kRounds; ++k)
    sum += in[(k * gridDim.x + blockIdx.x) * kLanes + threadIdx.x];
  room[threadIdx.x + 9000] = sum;
  __syncthreads();
  out[blockIdx.x * kLanes + threadIdx.x] = room[9000 + kLanes - 1 - threadIdx.x];
}

// The same without the LDS: nothing keeps the waves off.
__global__ void many_waves(const float *in, float *out) {
  float sum = 0;
  for (int k = 0; k < kRounds; ++k)
    sum += in[(k * gridDim.x + blockIdx.x) * kLanes + threadIdx.x];
  out[blockIdx.x * kLanes + threadIdx.x] = sum;
}

// An array whose index is known only at run time is in memory.
__global__ void in_scratch(const int *in, int *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int table[256];
  for (int k = 0; k < 256; ++k)
    table[k] = (k * 7 + i) & 255;
  int at = in[i] & 255;
  for (int k = 0; k < 64; ++k)
    at = table[at];
  out[i] = at;
}

// The same, but hardly ever.
__global__ void seldom_in_scratch(const int *in, int *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int at = in[i] & 255;
  if (i % 1024 == 0) {
    int table[256];
    for (int k = 0; k < 256; ++k)
      table[k] = (k * 7 + i) & 255;
    for (int k = 0; k < 64; ++k)
      at = table[at];
  }
  out[i] = at;
}

// All registers that a lane can have, for nothing: a SIMD has room for one wave.
__global__ void many_registers(const unsigned char *in, float *out) {
  float sum = 0;
  for (int k = 0; k < kRounds; ++k)
    sum += in[(k * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x];
  asm volatile("" ::: "v255", "a255");
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// One lane of 32 stores what all of them have added up: a few instructions of many.
__global__ void few_lanes_at_the_end(const float *in, float *out) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const float value = in[blockIdx.x * blockDim.x + threadIdx.x];
  float sum = value > 0.5f ? sqrtf(value) * value : 0;
  for (int apart = 16; apart > 0; apart /= 2)
    sum += __shfl_xor(sum, apart, 32);
  if (threadIdx.x % 32 == 0) out[row] = sum;
}

// Every other lane, on one line.
__global__ void half_of_the_lanes(const float *in, float *out) {
  float value = in[blockIdx.x * blockDim.x + threadIdx.x];
  if (threadIdx.x % 2) for (int k = 0; k < 40; ++k) value = value * value * 0.5f + value * 0.3f + 0.1f;
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

int main() {
  void *in = nullptr, *out = nullptr;
  const size_t bytes = sizeof(float) * kGroups * kLanes * kRounds;
  if (hipMalloc(&in, bytes) != hipSuccess || hipMalloc(&out, bytes) != hipSuccess) return 1;
  if (hipMemset(in, 0, bytes) != hipSuccess) return 1;
  few_waves<<<kGroups, kLanes>>>(static_cast<float *>(in), static_cast<float *>(out));
  many_waves<<<kGroups, kLanes>>>(static_cast<float *>(in), static_cast<float *>(out));
  in_scratch<<<4, kLanes>>>(static_cast<int *>(in), static_cast<int *>(out));
  seldom_in_scratch<<<16, kLanes>>>(static_cast<int *>(in), static_cast<int *>(out));
  many_registers<<<208, 256>>>(static_cast<unsigned char *>(in), static_cast<float *>(out));
  few_lanes_at_the_end<<<64, kLanes>>>(static_cast<float *>(in), static_cast<float *>(out));
  half_of_the_lanes<<<kGroups * kRounds, kLanes>>>(static_cast<float *>(in), static_cast<float *>(out));
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  std::puts("done");
}
