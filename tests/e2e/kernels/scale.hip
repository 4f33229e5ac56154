// A kernel in several versions: VERSION 1 is the application's own; 2 computes the same in another
// way; 3 takes other arguments; 4 does something else on purpose, so that it is seen to have run;
// 5 uses a variable.
#include <hip/hip_runtime.h>

#if VERSION == 3
extern "C" __global__ void scale(float *x, double by, int n, int unused) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= static_cast<float>(by) + unused;
}
#elif VERSION == 2
extern "C" __global__ void scale(float *x, float by, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    x[i] = by * x[i];
}
#elif VERSION == 5
__device__ float scale_factor = 1;
extern "C" __global__ void scale(float *x, float by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by * scale_factor;
}
#else
extern "C" __global__ void scale(float *x, float by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
#if VERSION == 4
  if (i < n) x[i] += 1000;
#endif
}
#endif
