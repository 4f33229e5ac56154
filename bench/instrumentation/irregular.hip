// Kernels whose lanes go anywhere, for what it costs to add such accesses up.
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ void

__device__ inline int globalId() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Rows of different length, one for each lane: lanes leave the loop one after the other.
KERNEL spmv(const int *rows, const int *columns, const float *values, const float *x, float *y, int n) {
  int row = globalId();
  if (row >= n)
    return;
  float sum = 0;
  for (int j = rows[row]; j < rows[row + 1]; ++j)
    sum += values[j] * x[columns[j]];
  y[row] = sum;
}

KERNEL gather(const int *where, const float *in, float *out, int n, int rounds) {
  int i = globalId();
  float sum = 0;
  for (int k = 0; k < rounds; ++k)
    sum += in[where[i + k * n]];
  out[i] = sum;
}

// 256 bins in LDS.
KERNEL histogram(const unsigned *in, unsigned *bins, int n, int rounds) {
  __shared__ unsigned local[256];
  local[threadIdx.x] = 0;
  __syncthreads();
  for (int k = 0; k < rounds; ++k)
    atomicAdd(&local[in[globalId() + k * n] % 256], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}
