// The application's own clock and its own events agree about a kernel that takes a while.
#include "check.h"

#include <chrono>

__global__ void busy(int *data, int rounds) {
  int x = data[threadIdx.x];
  for (int i = 0; i < rounds; ++i) x = x * 1664525 + 1013904223;
  data[threadIdx.x] = x;
}

int main() {
  int *data;
  CHECK(hipMalloc(&data, 64 * sizeof(int)));
  CHECK(hipMemset(data, 1, 64 * sizeof(int)));
  hipEvent_t start, stop;
  CHECK(hipEventCreate(&start));
  CHECK(hipEventCreate(&stop));
  CHECK(hipDeviceSynchronize());
  for (int i = 0; i < 5; ++i) {
    const auto before = std::chrono::steady_clock::now();
    CHECK(hipEventRecord(start));
    busy<<<1, 64>>>(data, 20000);
    CHECK(hipEventRecord(stop));
    CHECK(hipEventSynchronize(stop));
    const std::chrono::duration<double, std::milli> all = std::chrono::steady_clock::now() - before;
    float ms = -1;
    CHECK(hipEventElapsedTime(&ms, start, stop));
    // The GPU's clock ticks every 10 ns.
    std::printf("%f %f\n", static_cast<double>(ms), all.count());
  }
  return 0;
}
