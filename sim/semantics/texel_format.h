// Formats of buffer elements and texels: how up to four components lie in memory, and what numbers
// they are.
#pragma once

#include "isa/arch.h"
#include "semantics/values.h"

#include <cstddef>
#include <cstdint>

namespace fade::sim {

enum class Number : uint8_t {
  unorm,
  snorm,
  uscaled,
  sscaled,
  uint,
  sint,
  reserved,
  floating,
  srgb
};

struct TexelFormat {
  uint8_t bits[4] = {}; // of each component, x first, from the lowest bit up
  Number number = Number::unorm;

  unsigned components() const {
    return (bits[0] > 0) + (bits[1] > 0) + (bits[2] > 0) + (bits[3] > 0);
  }
  unsigned bytes() const { return (bits[0] + bits[1] + bits[2] + bits[3]) / 8u; }
  bool valid() const { return bits[0] != 0; }
  bool integer() const { return number == Number::uint || number == Number::sint; }
};

// What a format field means: in a buffer resource (see BufferResource::format) or a typed buffer
// instruction.
TexelFormat buffer_format(const Arch &arch, unsigned format);

// A texel as registers see it: f32, or integers; components that the format lacks are 0, and 1 for
// w.
struct Texel {
  uint32_t c[4];
};
Texel load_texel(const TexelFormat &f, const std::byte *p);
void store_texel(const TexelFormat &f, const Texel &t, std::byte *p);

// The number one, in the format's kind.
inline uint32_t one_of(const TexelFormat &f) { return f.integer() ? 1 : 0x3f800000; }

} // namespace fade::sim
