// Kernels and a variable whose names, not being mangled, could be taken for mangled types.
#include "check.h"

__device__ int i;

extern "C" __global__ void f(float *out) {
  out[threadIdx.x] = 1.0f;
  if (threadIdx.x == 0) i = 7;
}
extern "C" __global__ void x(float *out) { out[threadIdx.x] += 2.0f; }

int main() {
  float *data, first = 0;
  int value = 0;
  CHECK(hipMalloc(&data, 64 * sizeof(float)));
  f<<<1, 64>>>(data);
  x<<<1, 64>>>(data);
  CHECK(hipMemcpy(&first, data, sizeof first, hipMemcpyDeviceToHost));
  CHECK(hipMemcpyFromSymbol(&value, HIP_SYMBOL(i), sizeof value));
  std::printf("%g %d\n", static_cast<double>(first), value);
}
