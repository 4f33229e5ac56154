#include "semantics/texel_format.h"
#include "isa/opcode.h"

#include <cmath>
#include <cstring>

namespace fade::sim {
namespace {

// Layouts in the order of gfx9's data formats; the hardware's names have the highest component
// first.
struct Layout {
  uint8_t bits[4];
};
enum LayoutName {
  l_8 = 1,
  l_16,
  l_8_8,
  l_32,
  l_16_16,
  l_10_11_11,
  l_11_11_10,
  l_10_10_10_2,
  l_2_10_10_10,
  l_8_8_8_8,
  l_32_32,
  l_16_16_16_16,
  l_32_32_32,
  l_32_32_32_32
};
// clang-format off
constexpr Layout layouts[] = {
    {},           {{8}},           {{16}},          {{8, 8}},         {{32}},    {{16, 16}},         {{11, 11, 10}}, {{10, 11, 11}},
    {{2, 10, 10, 10}}, {{10, 10, 10, 2}}, {{8, 8, 8, 8}}, {{32, 32}}, {{16, 16, 16, 16}}, {{32, 32, 32}}, {{32, 32, 32, 32}},
};
// clang-format on

// gfx10 and gfx11 number all combinations in one list: for each layout, the number kinds that it
// has.
constexpr unsigned kinds_integer_based = 0x3f, kinds_all = 0xbf, kinds_32 = 0xb0,
                   kinds_float = 0x80, kinds_int_norm = 0x33;
struct Group {
  uint8_t layout;
  uint8_t kinds; // bit per Number
};
// clang-format off
constexpr Group gfx10_groups[] = {
    {l_8, kinds_integer_based},          {l_16, kinds_all},          {l_8_8, kinds_integer_based},
    {l_32, kinds_32},                    {l_16_16, kinds_all},       {l_10_11_11, kinds_all},
    {l_11_11_10, kinds_all},             {l_10_10_10_2, kinds_integer_based}, {l_2_10_10_10, kinds_integer_based},
    {l_8_8_8_8, kinds_integer_based},    {l_32_32, kinds_32},        {l_16_16_16_16, kinds_all},
    {l_32_32_32, kinds_32},              {l_32_32_32_32, kinds_32},
};
// clang-format on
// clang-format off
constexpr Group gfx11_groups[] = {
    {l_8, kinds_integer_based},          {l_16, kinds_all},          {l_8_8, kinds_integer_based},
    {l_32, kinds_32},                    {l_16_16, kinds_all},       {l_10_11_11, kinds_float},
    {l_11_11_10, kinds_float},           {l_10_10_10_2, kinds_int_norm}, {l_2_10_10_10, kinds_integer_based},
    {l_8_8_8_8, kinds_integer_based},    {l_32_32, kinds_32},        {l_16_16_16_16, kinds_all},
    {l_32_32_32, kinds_32},              {l_32_32_32_32, kinds_32},
};
// clang-format on

TexelFormat make(unsigned layout, unsigned number) {
  TexelFormat f;
  std::memcpy(f.bits, layouts[layout].bits, 4);
  f.number = static_cast<Number>(number);
  return f;
}

template <size_t n> TexelFormat from_list(const Group (&groups)[n], unsigned format) {
  unsigned next = 1;
  for (const Group &g : groups)
    for (unsigned kind = 0; kind < 8; kind++)
      if (g.kinds >> kind & 1 && next++ == format) return make(g.layout, kind);
  return {};
}

// Floats of 16, 11 and 10 bits: the last two have no sign and fewer digits.
f32 small_float(uint32_t raw, unsigned bits_wide) {
  if (bits_wide == 16) return to_f32(f16{static_cast<u16>(raw)});
  return to_f32(f16{static_cast<u16>(raw << (15 - bits_wide))});
}
uint32_t to_small_float(f32 v, unsigned bits_wide) {
  const f16 h = to_f16(v);
  if (bits_wide == 16) return h.bits;
  if (!is_nan(v) && (h.bits & 0x8000)) return 0; // no negative numbers
  return (h.bits & 0x7fffu) >> (15 - bits_wide);
}

int32_t sign_extend(uint32_t v, unsigned width) {
  return static_cast<int32_t>(v << (32 - width)) >> (32 - width);
}

uint32_t decode(Number number, uint32_t raw, unsigned width) {
  const f32 most = static_cast<f32>((1ull << width) - 1),
            most_signed = static_cast<f32>((1ull << (width - 1)) - 1);
  switch (number) {
  case Number::unorm: return bits(static_cast<f32>(raw) / most);
  case Number::snorm:
    return bits(std::fmax(static_cast<f32>(sign_extend(raw, width)) / most_signed, -1.0f));
  case Number::uscaled: return bits(static_cast<f32>(raw));
  case Number::sscaled: return bits(static_cast<f32>(sign_extend(raw, width)));
  case Number::sint: return static_cast<uint32_t>(sign_extend(raw, width));
  case Number::floating: return width == 32 ? raw : bits(small_float(raw, width));
  case Number::srgb: {
    const f32 v = static_cast<f32>(raw) / most;
    return bits(v <= 0.04045f ? v / 12.92f : std::pow((v + 0.055f) / 1.055f, 2.4f));
  }
  default: return raw;
  }
}

f32 clamped(f32 v, f32 low, f32 high) {
  return v > low ? (v < high ? v : high) : low;
} // NaN gives `low`

uint32_t encode(Number number, uint32_t value, unsigned width) {
  const f32 v = as_f32(value);
  const f32 most = static_cast<f32>((1ull << width) - 1),
            most_signed = static_cast<f32>((1ull << (width - 1)) - 1);
  const uint32_t mask = width == 32 ? ~0u : (1u << width) - 1;
  switch (number) {
  case Number::unorm: return to_int<u32>(std::nearbyint(clamped(v, 0, 1) * most));
  case Number::snorm: {
    const f32 c = is_nan(v) ? 0 : clamped(v, -1, 1);
    return static_cast<uint32_t>(to_int<i32>(std::nearbyint(c * most_signed))) & mask;
  }
  case Number::uscaled: return to_int<u32>(clamped(v, 0, most)) & mask;
  case Number::sscaled: {
    const f32 c = is_nan(v) ? 0 : clamped(v, -most_signed - 1, most_signed);
    return static_cast<uint32_t>(to_int<i32>(c)) & mask;
  }
  case Number::floating: return width == 32 ? value : to_small_float(v, width);
  case Number::srgb: {
    const f32 c = clamped(v, 0, 1);
    const f32 s = c <= 0.0031308f ? c * 12.92f : 1.055f * std::pow(c, 1 / 2.4f) - 0.055f;
    return to_int<u32>(std::nearbyint(s * most));
  }
  default: return value & mask;
  }
}

} // namespace

TexelFormat buffer_format(const Arch &arch, unsigned format) {
  if (arch.gfx9) {
    const unsigned layout = format & 15;
    return layout < std::size(layouts) ? make(layout, format >> 4 & 7) : TexelFormat{};
  }
  return arch.gfx11 ? from_list(gfx11_groups, format) : from_list(gfx10_groups, format);
}

Texel load_texel(const TexelFormat &f, const std::byte *p) {
  Texel t{{0, 0, 0, one_of(f)}};
  uint32_t words[4] = {};
  std::memcpy(words, p, f.bytes());
  unsigned at = 0;
  for (unsigned i = 0; i < 4 && f.bits[i]; at += f.bits[i++]) {
    const unsigned width = f.bits[i];
    const uint32_t raw =
        width == 32 ? words[at / 32] : words[at / 32] >> at % 32 & ((1u << width) - 1);
    t.c[i] = decode(f.number == Number::srgb && i == 3 ? Number::unorm : f.number, raw, width);
  }
  return t;
}

void store_texel(const TexelFormat &f, const Texel &t, std::byte *p) {
  uint32_t words[4] = {};
  unsigned at = 0;
  for (unsigned i = 0; i < 4 && f.bits[i]; at += f.bits[i++])
    words[at / 32] |=
        encode(f.number == Number::srgb && i == 3 ? Number::unorm : f.number, t.c[i], f.bits[i])
        << at % 32;
  std::memcpy(p, words, f.bytes());
}

} // namespace fade::sim
