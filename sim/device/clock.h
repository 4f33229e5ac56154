// The GPU's constant 100 MHz counter: what signals, SDMA timestamps and s_memrealtime show.
#pragma once

#include <cstdint>
#include <ctime>

namespace fade::sim {

inline uint64_t nanoseconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

inline uint64_t gpu_clock() { return nanoseconds(CLOCK_MONOTONIC_RAW) / 10; }

} // namespace fade::sim
