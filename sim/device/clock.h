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

// The clock that the driver calls the system's. Runtimes translate times of the GPU to it, by pairs
// of both that they ask for: made from one reading, a pair is exact on however busy a machine.
inline uint64_t system_clock() { return nanoseconds(CLOCK_BOOTTIME); }
constexpr uint64_t gpu_tick = 10; // nanoseconds

inline uint64_t gpu_clock() { return system_clock() / gpu_tick; }

} // namespace fade::sim
