// The C types that generated programs compute with.
#pragma once

#include <array>
#include <string>

namespace fade::sim::differential {

enum class Type : unsigned {
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  f16,
  f32,
  f64,
  u8x4,
  i16x2,
  u16x2,
  u32x2,
  u32x4,
  i32x4,
  u64x2,
  f16x2,
  f32x2,
  f32x4,
  count
};

struct TypeInfo {
  const char *name;
  unsigned bits; // of an element
  bool is_float, is_signed;
  unsigned lanes;
  Type element;
};

inline constexpr std::array<TypeInfo, static_cast<size_t>(Type::count)> type_table{{
    {"i8", 8, false, true, 1, Type::i8},       {"u8", 8, false, false, 1, Type::u8},
    {"i16", 16, false, true, 1, Type::i16},    {"u16", 16, false, false, 1, Type::u16},
    {"i32", 32, false, true, 1, Type::i32},    {"u32", 32, false, false, 1, Type::u32},
    {"i64", 64, false, true, 1, Type::i64},    {"u64", 64, false, false, 1, Type::u64},
    {"f16", 16, true, true, 1, Type::f16},     {"f32", 32, true, true, 1, Type::f32},
    {"f64", 64, true, true, 1, Type::f64},     {"u8x4", 8, false, false, 4, Type::u8},
    {"i16x2", 16, false, true, 2, Type::i16},  {"u16x2", 16, false, false, 2, Type::u16},
    {"u32x2", 32, false, false, 2, Type::u32}, {"u32x4", 32, false, false, 4, Type::u32},
    {"i32x4", 32, false, true, 4, Type::i32},  {"u64x2", 64, false, false, 2, Type::u64},
    {"f16x2", 16, true, true, 2, Type::f16},   {"f32x2", 32, true, true, 2, Type::f32},
    {"f32x4", 32, true, true, 4, Type::f32},
}};

constexpr const TypeInfo &info(Type t) { return type_table[static_cast<size_t>(t)]; }
inline std::string name(Type t) { return info(t).name; }
constexpr bool is_vector(Type t) { return info(t).lanes > 1; }
constexpr bool is_float(Type t) { return info(t).is_float; }
constexpr bool is_integer(Type t) { return !is_float(t) && !is_vector(t); }
constexpr unsigned bytes(Type t) { return info(t).bits / 8 * info(t).lanes; }

} // namespace fade::sim::differential
