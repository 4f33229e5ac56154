// Kernels and variables that launch/modules.hip loads by name.
#include <hip/hip_runtime.h>

extern "C" {
__device__ int offset = 3;
__constant__ float factors[4] = {1, 2, 4, 8};

__global__ void shift(int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += offset;
}

struct Pair {
  char tag;
  double value;
};
// Arguments of many sizes, so that their places in the argument block matter.
__global__ void combine(double *out, char a, short b, int c, long long d, float e, Pair p,
                        char last) {
  extern __shared__ double scratch[];
  scratch[threadIdx.x] = a + 10.0 * b + 100.0 * c + 1000.0 * d + e + p.tag + p.value + last;
  __syncthreads();
  out[threadIdx.x] = scratch[blockDim.x - 1 - threadIdx.x] * factors[threadIdx.x % 4];
}
}
