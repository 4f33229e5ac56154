// One store in each workgroup of a three-dimensional grid.
#include "check.h"

__global__ void mark(int *data) {
  const int group = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  data[group * 64 + threadIdx.x] = group;
}

int main() {
  int *data;
  CHECK(hipMalloc(&data, 24 * 64 * sizeof(int)));
  mark<<<dim3(4, 3, 2), 64>>>(data);
  CHECK(hipDeviceSynchronize());
  return 0;
}
