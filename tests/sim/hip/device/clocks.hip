// The clocks of the device go forward, the one of fixed rate agrees with the host's, and cycles pass at the rate that
// the device reports.
#include "../check.h"

#include <chrono>
#include <string>

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

// Cycles and ticks over the same time: the ticks at least and at most.
__global__ void compare_clocks(long long *out) {
  long long outer = wall_clock64(), cycles = clock64(), inner = wall_clock64();
  while (wall_clock64() - inner < 100000) {
  }
  out[0] = wall_clock64() - inner;
  out[1] = clock64() - cycles;
  out[2] = wall_clock64() - outer;
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

  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, 0));
  int rate = 0; // kHz
  HIP(hipDeviceGetAttribute(&rate, hipDeviceAttributeClockRate, 0));
  LAUNCH(compare_clocks, 1, 1, out.get());
  auto passed = out.read();
  if (std::string(properties.gcnArchName).rfind("gfx11", 0) != 0) { // there it has 20 bits
    const double cycles_per_tick = rate / 100e3;                    // 100 MHz
    EXPECT(static_cast<double>(passed[1]) >= static_cast<double>(passed[0] - 1) * cycles_per_tick);
    EXPECT(static_cast<double>(passed[1]) <= static_cast<double>(passed[2] + 1) * cycles_per_tick + 1);
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
