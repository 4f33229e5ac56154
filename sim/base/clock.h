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
// says it has. Like a card (FADE_GPU_CLOCK), the lower 32 bits are about to wrap when a process
// first looks, and with them all counters that have fewer.
uint64_t shader_clock(uint32_t mhz);
constexpr uint64_t cycles_before_wrap = 64;
// The same at a given time, by a clock that was first looked at at another one.
uint64_t shader_clock_about_to_wrap(uint64_t ns, uint64_t first_ns, uint32_t mhz);

} // namespace fade::sim
