// Ten thousand dispatches in a row, empty ones and ones that count, without waiting in between.
// With the argument "time" it says how long the empty ones took.
#include "../check.h"

#include <chrono>

__global__ void nothing() {}
__global__ void count(uint32_t *total) {
  if (threadIdx.x == 0) ++*total; // no atomic: dispatches of one stream do not overlap
}

int main(int argc, char **argv) {
  check::Device<uint32_t> total(1);
  total.fill(0);
  LAUNCH(nothing, 1, 64);
  HIP(hipDeviceSynchronize());
  auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 10000; ++i) LAUNCH(nothing, 1, 64);
  HIP(hipDeviceSynchronize());
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  for (int i = 0; i < 10000; ++i) LAUNCH(count, 1, 64, total.get());
  EXPECT_EQ(total.read()[0], 10000u);
  if (argc > 1 && std::string(argv[1]) == "time")
    std::printf("10000 empty dispatches: %.3f s\n", seconds.count());
  return check::result();
}
