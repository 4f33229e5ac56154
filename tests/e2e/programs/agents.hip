// Runs the same kernel on every device, with a number of its own, and checks what it left there.
#include "check.h"

#include <vector>

__device__ int offset = 100;
__global__ void number(int *data, int device) { data[threadIdx.x] = offset + device + threadIdx.x; }

int main() {
  int count = 0;
  CHECK(hipGetDeviceCount(&count));
  std::vector<int *> data(count);
  for (int d = 0; d < count; ++d) {
    CHECK(hipSetDevice(d));
    CHECK(hipMalloc(&data[d], 64 * sizeof(int)));
    const int own = 1000 * (d + 1);
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(offset), &own, sizeof own));
  }
  for (int round = 0; round < 5; ++round)
    for (int d = 0; d < count; ++d) {
      CHECK(hipSetDevice(d));
      number<<<1, 64>>>(data[d], d);
    }
  for (int d = 0; d < count; ++d) {
    CHECK(hipSetDevice(d));
    std::vector<int> host(64);
    CHECK(hipMemcpy(host.data(), data[d], 64 * sizeof(int), hipMemcpyDeviceToHost));
    for (int i = 0; i < 64; ++i)
      if (host[i] != 1000 * (d + 1) + d + i) {
        std::printf("device %d: %d\n", d, host[i]);
        return 1;
      }
  }
  std::printf("%d devices are right\n", count);
  return 0;
}
