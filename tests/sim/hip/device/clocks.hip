// The clocks of the device go forward, and the one of fixed rate agrees with the host's.
#include "../check.h"

#include <chrono>

#ifndef __HIP_DEVICE_COMPILE__ // HIP 5.2 declares it for the device's compilation only
__device__ long long wall_clock64();
#endif

__global__ void read_clocks(long long *out, int loops, uint32_t *sink) {
  long long wall = wall_clock64(), cycles = clock64();
  uint32_t x = threadIdx.x;
  for (int i = 0; i < loops; ++i) x = x * 1664525u + 1013904223u;
  *sink = x;
  long long cycles_after = clock64(), wall_after = wall_clock64();
  if (threadIdx.x == 0) {
    long long *mine = out + 4 * blockIdx.x;
    mine[0] = wall, mine[1] = cycles, mine[2] = cycles_after, mine[3] = wall_after;
  }
}

__global__ void wait_for(volatile int *flag, long long *out) {
  *out = wall_clock64();
  *flag = 1;
  while (*flag != 2) __builtin_amdgcn_s_sleep(8);
  out[1] = wall_clock64();
}

int main() {
  check::Device<long long> out(4 * 20);
  check::Device<uint32_t> sink(1);
  long long before = 0;
  for (int round = 0; round < 3; ++round) {
    LAUNCH(read_clocks, 20, 64, out.get(), 1000, sink.get());
    auto got = out.read();
    long long latest = 0;
    for (int b = 0; b < 20; ++b) {
      EXPECT(got[4 * b] > before);             // after all of the dispatch before
      EXPECT(got[4 * b + 1] < got[4 * b + 2]); // cycles passed
      EXPECT(got[4 * b] <= got[4 * b + 3]);
      latest = std::max(latest, got[4 * b + 3]);
    }
    before = latest;
  }

  int *flag;
  HIP(hipHostMalloc(&flag, sizeof(int)));
  *flag = 0;
  long long *times;
  HIP(hipHostMalloc(&times, 2 * sizeof *times));
  LAUNCH(wait_for, 1, 1, flag, times);
  using Clock = std::chrono::steady_clock;
  auto launched = Clock::now();
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != 1) {
  }
  auto started = Clock::now();
  while (Clock::now() - started < std::chrono::milliseconds(200)) {
  }
  __atomic_store_n(flag, 2, __ATOMIC_RELEASE);
  HIP(hipDeviceSynchronize());
  auto ended = Clock::now();
  double device = static_cast<double>(times[1] - times[0]) /
                  100e6; // it counts at 100 MHz on all of these cards
  EXPECT(device >= 0.199);
  EXPECT(device <= std::chrono::duration<double>(ended - launched).count() + 0.001);
  return check::result();
}
