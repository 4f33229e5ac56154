#include "shared.h"

__device__ float weigh(const float *table, int i) {
  return table[i] * 0.5f; // READ weigh
}

__global__ void tripleAll(float *data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    data[i] = data[i] * 3; // READ and WRITE tripleAll
}
