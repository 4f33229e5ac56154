// How a recording is recognized (--record; the format is in stream/trace_format.h).
#pragma once

#include <cstdint>

namespace fade::trace {

inline constexpr uint64_t kMagic = 0x4543415254454446ull; // "FDETRACE"

} // namespace fade::trace
