#include "isa/instruction.h"

#include "isa/opcode.h"

#include <cstddef>
#include <iterator>

namespace fade::sim {
namespace {

struct FloatConstant {
  uint16_t half;
  uint32_t single;
  uint64_t dbl;
};
// Source encodings 240-248: 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/(2*pi).
// clang-format off
constexpr FloatConstant floats[] = {
    {0x3800, 0x3f000000, 0x3fe0000000000000}, {0xb800, 0xbf000000, 0xbfe0000000000000},
    {0x3c00, 0x3f800000, 0x3ff0000000000000}, {0xbc00, 0xbf800000, 0xbff0000000000000},
    {0x4000, 0x40000000, 0x4000000000000000}, {0xc000, 0xc0000000, 0xc000000000000000},
    {0x4400, 0x40800000, 0x4010000000000000}, {0xc400, 0xc0800000, 0xc010000000000000},
    {0x3118, 0x3e22f983, 0x3fc45f306dc9c882},
};
// clang-format on

} // namespace

const char *name_of(ExecClass c) {
  static constexpr const char *names[] = {"valu", "salu", "vmem_load", "vmem_store", "vmem_atomic",
                                          "smem", "lds",  "branch",    "mfma",       "other"};
  static_assert(std::size(names) == static_cast<size_t>(ExecClass::count));
  return names[static_cast<size_t>(c)];
}

uint64_t constant_bits(const Operand &o, Type type) {
  if (o.inline_float) {
    const FloatConstant &f = floats[o.index - 240];
    if (is_16(type) || type == Type::pk16) return f.half;
    return is_64(type) ? f.dbl : f.single;
  }
  if (o.literal) {
    if (type == Type::f64) return o.value << 32;
    if (type == Type::i64)
      return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(o.value)));
    return o.value;
  }
  return is_64(type) ? o.value : static_cast<uint32_t>(o.value);
}

} // namespace fade::sim
