// Kernels that look wasteful in the source and are not in the machine code: the compiler merges or
// combines their accesses. The last one is wasteful.
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
struct P { float x, y, z, w; };
__global__ void structs(const P *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i].x +
           in[i].y +
           in[i].z * in[i].w;
}
__global__ void vec4(const float4 *in, float4 *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 v = in[i];
  v.x += v.w;
  out[i] = v;
}
__global__ void halves(const __half2 *in, __half2 *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = __hadd2(in[i], in[i]);
}
__global__ void unrolled(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
#pragma unroll
  for (int k = 0; k < 4; k++) s += in[4 * i + k];
  out[i] = s;
}
__global__ void sum(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(out, in[i]);
}
__global__ void half_struct(const P *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i].x;
}
int main() {
  float *a, *b;
  if (hipMalloc(&a, 1 << 20) != hipSuccess || hipMalloc(&b, 1 << 20) != hipSuccess) return 1;
  structs<<<4, 256>>>((P *)a, b);
  vec4<<<4, 256>>>((float4 *)a, (float4 *)b);
  halves<<<4, 256>>>((__half2 *)a, (__half2 *)b);
  unrolled<<<4, 256>>>(a, b);
  sum<<<4, 256>>>((int *)a, (int *)b);
  half_struct<<<4, 256>>>((P *)a, b);
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
