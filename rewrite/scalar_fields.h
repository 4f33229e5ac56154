// Fields of the scalar encodings, which are the same on all processors here.
#pragma once

#include <cstdint>

namespace fade::rewrite {

inline unsigned destination(uint32_t word) { return word >> 16 & 127; }
inline unsigned source0(uint32_t word) { return word & 255; }
inline unsigned source1(uint32_t word) { return word >> 8 & 255; }

} // namespace fade::rewrite
