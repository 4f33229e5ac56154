// The clocks of a GPU. Both are the host's monotonic clock, so they never disagree.
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

// The constant counter: what signals, SDMA timestamps and s_memrealtime show.
constexpr uint64_t gpu_tick = 10; // nanoseconds
inline uint64_t gpu_clock() { return system_clock() / gpu_tick; }

// Cycles of the compute units, as s_memtime and SHADER_CYCLES show them: at the rate that the card
// says it has. Without overflow in any machine's life.
inline uint64_t shader_clock(uint32_t mhz) {
  const uint64_t ns = system_clock();
  return ns / 1000 * mhz + ns % 1000 * mhz / 1000;
}

} // namespace fade::sim
