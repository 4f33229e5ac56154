// Kernels that use variables of the program: each is touched a known number of times.
#include "check.h"

namespace physics {
__device__ float table[3000];
}
__constant__ int factors[64];
static __device__ unsigned counter;
__device__ int never[16];

__global__ void fill(int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) physics::table[i] = static_cast<float>(factors[i % 64]);
}

__global__ void count(unsigned *out) {
  atomicAdd(&counter, 1u);
  if (out) out[threadIdx.x] = static_cast<unsigned>(never[0]);
}

int main() {
  int values[64];
  for (int i = 0; i < 64; ++i) values[i] = i * 3;
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(factors), values, sizeof values));
  unsigned zero = 0, total = 0;
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(counter), &zero, sizeof zero));
  fill<<<12, 256>>>(3000);
  count<<<2, 64>>>(nullptr);
  CHECK(hipDeviceSynchronize());
  float last = 0;
  CHECK(hipMemcpyFromSymbol(&last, HIP_SYMBOL(physics::table), sizeof last, 2999 * sizeof(float)));
  CHECK(hipMemcpyFromSymbol(&total, HIP_SYMBOL(counter), sizeof total));
  std::printf("%g %u\n", static_cast<double>(last), total);
}
