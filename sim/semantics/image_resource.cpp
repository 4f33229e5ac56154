#include "isa/opcode.h"

#include "semantics/image_resource.h"

#include <algorithm>
#include <cmath>

namespace fade::sim {
namespace {

uint32_t field(uint32_t word, unsigned at, unsigned bits) {
  return word >> at & ((1u << bits) - 1);
}

// Formats that only images have.
TexelFormat packed_format(unsigned which) {
  switch (which) {
  case 0: return {{5, 6, 5, 0}, Number::unorm};
  case 1: return {{5, 5, 5, 1}, Number::unorm};
  case 2: return {{1, 5, 5, 5}, Number::unorm};
  default: return {{4, 4, 4, 4}, Number::unorm};
  }
}
TexelFormat srgb_format(unsigned components) {
  TexelFormat f{{8, 0, 0, 0}, Number::srgb};
  for (unsigned i = 1; i < components; i++) f.bits[i] = 8;
  return f;
}

TexelFormat image_format(const Arch &arch, const uint32_t *words) {
  if (arch.gfx9) {
    const unsigned data = field(words[1], 20, 6), number = field(words[1], 26, 4);
    TexelFormat f = data >= 16 && data <= 19 ? packed_format(data - 16)
                    : data < 15              ? buffer_format(arch, data | (number & 7) << 4)
                                             : TexelFormat{};
    if (number == 9) f.number = Number::srgb;
    return f;
  }
  const bool gfx11 = arch.gfx11;
  const unsigned format = field(words[1], 20, gfx11 ? 8 : 9), extra = gfx11 ? 64 : 128;
  if (format < extra) return buffer_format(arch, format);
  if (format < extra + 3) return srgb_format(format == extra + 2 ? 4 : format - extra + 1);
  const unsigned packed = format - extra - (gfx11 ? 4 : 5);
  return packed < 4 ? packed_format(packed) : TexelFormat{};
}

uint32_t align(uint32_t v, uint32_t to) { return (v + to - 1) / to * to; }

} // namespace

unsigned ImageResource::coordinates() const {
  switch (dim) {
  case Dim::d1: return 1;
  case Dim::d2:
  case Dim::d1_array: return 2;
  default: return 3;
  }
}

ImageResource image_resource(const Arch &arch, const uint32_t *words, int dim) {
  ImageResource r;
  r.base = (uint64_t{field(words[1], 0, 8)} << 32 | words[0]) << 8;
  r.format = image_format(arch, words);
  for (unsigned i = 0; i < 4; i++) r.select[i] = static_cast<uint8_t>(field(words[3], 3 * i, 3));
  r.dim = static_cast<ImageResource::Dim>(dim >= 0 ? dim & 7
                                                   : static_cast<int>(field(words[3], 28, 4) & 7));
  r.height = field(words[2], 14, 14) + 1;
  r.depth = field(words[4], 0, 13) + 1;
  const bool linear = field(words[3], 20, 5) == 0;
  if (arch.gfx9) {
    r.width = field(words[2], 0, 14) + 1;
    r.pitch = linear ? field(words[4], 13, 16) + 1 : r.width;
  } else {
    r.width = (field(words[1], 30, 2) | field(words[2], 0, 12) << 2) + 1;
    r.pitch = r.width;
    // Where depth is not needed its field holds the pitch of linear images; others are aligned to
    // 256 bytes.
    const bool flat = r.dim == ImageResource::Dim::d1 || r.dim == ImageResource::Dim::d2;
    if (linear && r.format.valid())
      r.pitch = flat ? field(words[4], 0, 14) + 1 : align(r.width, 256 / r.format.bytes());
    if (flat) r.depth = 1;
  }
  if (r.dim == ImageResource::Dim::d1 || r.dim == ImageResource::Dim::d1_array) r.height = 1;
  if (r.dim == ImageResource::Dim::d1 || r.dim == ImageResource::Dim::d2) r.depth = 1;
  return r;
}

std::optional<uint64_t> texel_address(const ImageResource &r, const TexelIndex &t) {
  if (t.x < 0 || t.y < 0 || t.z < 0 || t.x >= r.width || t.y >= r.height || t.z >= r.depth)
    return std::nullopt;
  const uint64_t texel =
      (static_cast<uint64_t>(t.z) * r.height + static_cast<uint64_t>(t.y)) * r.pitch +
      static_cast<uint64_t>(t.x);
  return r.base + texel * r.format.bytes();
}

Sampler sampler(const uint32_t *words) {
  Sampler s;
  for (unsigned i = 0; i < 3; i++)
    s.clamp[i] = static_cast<Sampler::Clamp>(field(words[0], 3 * i, 3));
  s.unnormalized = field(words[0], 15, 1);
  s.linear = field(words[2], 20, 2) & 1;
  s.border = static_cast<uint8_t>(field(words[3], 30, 2));
  return s;
}

namespace {

// A texel's index brought into range.
int64_t clamped(int64_t i, int64_t size, Sampler::Clamp clamp) {
  using Clamp = Sampler::Clamp;
  auto wrapped = [](int64_t v, int64_t n) { return ((v % n) + n) % n; };
  switch (clamp) {
  case Clamp::wrap: return wrapped(i, size);
  case Clamp::mirror: {
    const int64_t m = wrapped(i, 2 * size);
    return m < size ? m : 2 * size - 1 - m;
  }
  case Clamp::edge: return std::clamp<int64_t>(i, 0, size - 1);
  case Clamp::mirror_once_edge: return std::min(i < 0 ? -1 - i : i, size - 1);
  case Clamp::half_border:
  case Clamp::border: return i < 0 || i >= size ? -1 : i;
  default: {
    const int64_t m = i < 0 ? -1 - i : i;
    return m < size ? m : -1;
  }
  }
}

} // namespace

Footprint footprint(float coordinate, uint32_t size, Sampler::Clamp clamp, bool unnormalized,
                    bool linear) {
  double x = unnormalized ? coordinate : static_cast<double>(coordinate) * size;
  // NaN and what is far outside end up at an edge that exists; no texture is larger than 2^14.
  x = std::isnan(x) ? 0 : std::clamp(x, -1e9, 1e9);
  if (!linear) {
    const auto i = static_cast<int64_t>(std::floor(x));
    return {{clamped(i, size, clamp), clamped(i, size, clamp)}, 0};
  }
  const auto fixed = static_cast<int64_t>(std::floor((x - 0.5) * 256 + 0.5));
  const int64_t i = fixed >> 8;
  return {{clamped(i, size, clamp), clamped(i + 1, size, clamp)},
          static_cast<float>(fixed & 255) / 256};
}

} // namespace fade::sim
