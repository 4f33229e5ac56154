#include "base/clock.h"

#include "base/card_mode.h"

namespace fade::sim {
namespace {

// Without overflow in any machine's life.
uint64_t cycles(uint64_t ns, uint32_t mhz) { return ns / 1000 * mhz + ns % 1000 * mhz / 1000; }

} // namespace

uint64_t shader_clock_about_to_wrap(uint64_t ns, uint64_t first_ns, uint32_t mhz) {
  return (uint64_t{1} << 32) - cycles_before_wrap + cycles(ns, mhz) - cycles(first_ns, mhz);
}

uint64_t shader_clock(uint32_t mhz) {
  static const bool wraps = is_like_card("FADE_GPU_CLOCK");
  const uint64_t ns = system_clock();
  if (!wraps) return cycles(ns, mhz);
  static const uint64_t first_ns = ns;
  return shader_clock_about_to_wrap(ns, first_ns, mhz);
}

} // namespace fade::sim
