// Kernels whose counts can be worked out by hand (tests/e2e/hotspots.py): 256 work-items in two
// workgroups each. Inline assembly where the compiler might choose another instruction.
#include <hip/hip_runtime.h>

#include "check.h"

__global__ void loop(float *out, int n) {
  float x = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < n; ++i) asm volatile("v_fma_f32 %0, %0, %0, %0" : "+v"(x)); // loop.fma
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;                                 // loop.store
}

// Of each 32 lanes 8 go into the first branch; of the others those with an odd number into the
// second, three times.
__global__ void branches(int *out) {
  const unsigned item = blockIdx.x * blockDim.x + threadIdx.x;
  int x = 1;
  if (threadIdx.x % 32 < 8) {
    asm volatile("v_not_b32 %0, %0" : "+v"(x)); // branches.first
  } else if (threadIdx.x % 2 == 1) {
#pragma unroll 1
    for (int i = 0; i < 3; ++i)
      asm volatile("v_lshlrev_b32 %0, 1, %0" : "+v"(x)); // branches.second
  }
  out[item] = x;
}

__global__ void types(float *out, const float4 *in) {
  __shared__ float4 tile[128];
  double d = threadIdx.x;
  unsigned h = threadIdx.x;
  float x = threadIdx.x;
  tile[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x]; // types.load: 16 bytes
  __syncthreads();
  asm volatile("v_rcp_f32 %0, %0" : "+v"(x));
  asm volatile("v_fma_f64 %0, %0, %0, %0" : "+v"(d));
  asm volatile("v_add_f64 %0, %0, %0" : "+v"(d));
  asm volatile("v_pk_fma_f16 %0, %0, %0, %0" : "+v"(h));
  asm volatile("v_mul_f16 %0, %0, %0" : "+v"(h));
#if __gfx90a__
  asm volatile("v_pk_mul_f32 %0, %0, %0" : "+v"(d));
  typedef float floatx16 __attribute__((ext_vector_type(16)));
  floatx16 sum = {};
  asm volatile("" : "+v"(x), "+v"(h)); // the matrix operation is not too early behind v_rcp_f32
  sum = __builtin_amdgcn_mfma_f32_32x32x2f32(x, x, sum, 0, 0, 0);
  asm volatile("" ::"v"(sum));
#endif
  asm volatile("" ::"v"(d), "v"(h), "v"(x));
  out[blockIdx.x * blockDim.x + threadIdx.x] = tile[127 - threadIdx.x].y; // types.store
}

int main() {
  float *floats = nullptr;
  int *ints = nullptr;
  float4 *in = nullptr;
  CHECK(hipMalloc(&floats, 256 * sizeof(float)));
  CHECK(hipMalloc(&ints, 256 * sizeof(int)));
  CHECK(hipMalloc(&in, 256 * sizeof(float4)));
  CHECK(hipMemset(in, 0, 256 * sizeof(float4)));
  loop<<<2, 128>>>(floats, 10);
  loop<<<2, 128>>>(floats, 5);
  branches<<<2, 128>>>(ints);
  types<<<2, 128>>>(floats, in);
  CHECK(hipDeviceSynchronize());
  int last = 0;
  CHECK(hipMemcpy(&last, ints + 255, sizeof last, hipMemcpyDeviceToHost));
  std::printf("%d\n", last); // 8
}
