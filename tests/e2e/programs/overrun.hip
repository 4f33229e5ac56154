// Writes beyond both ends of a buffer: `overrun N M` N elements from its start on, M before it.
#include "check.h"

__global__ void spill(int *p, int first, int n) {
  for (int i = first + static_cast<int>(threadIdx.x); i < n; i += 64) p[i] = -1;
}
__global__ void number(int *p) { p[threadIdx.x] = static_cast<int>(threadIdx.x); }

int main(int, char **argv) {
  constexpr int size = 4096;
  int *p, host[64];
  CHECK(hipMalloc(&p, size));
  for (int round = 0; round < 4; ++round) {
    spill<<<1, 64>>>(p, -std::atoi(argv[2]), std::atoi(argv[1]));
    CHECK(hipDeviceSynchronize());
    for (int i = 0; i < 3; ++i) number<<<1, 64>>>(p);
    CHECK(hipMemcpy(host, p, sizeof host, hipMemcpyDeviceToHost));
    for (int i = 0; i < 64; ++i)
      if (host[i] != i) return 1;
  }
  std::puts("right");
}
