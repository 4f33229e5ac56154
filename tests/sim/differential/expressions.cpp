#include "expressions.h"

#include <fmt/format.h>

namespace fade::sim::differential {

using fmt::format;

std::string fill(std::string_view pattern, std::initializer_list<std::string> pieces) {
  std::string text;
  auto piece = pieces.begin();
  for (char c : pattern) {
    if (c == '$')
      text += *piece++;
    else
      text += c;
  }
  return text;
}

std::string converted(const std::string &text, Type from, Type to) {
  if (from == to) return text;
  if (is_vector(from)) {
    if (info(from).lanes == info(to).lanes && !is_float(from) && !is_float(to))
      return format("__builtin_convertvector({}, {})", text, name(to));
    return converted(format("({})[0]", text), info(from).element, to);
  }
  if (is_vector(to)) return format("(({}){})", name(to), converted(text, from, info(to).element));
  if (is_float(from) && !is_float(to)) return format("{}_of_{}({})", name(to), name(from), text);
  // Hosts and GPUs go to f16 by way of f32: say so.
  if (to == Type::f16 && from != Type::f32) return format("((f16)(f32){})", text);
  return format("(({}){})", name(to), text);
}

Type Expressions::integer_type() {
  return dice_.pick({Type::i8, Type::u8, Type::i16, Type::u16, Type::i32, Type::u32, Type::u32,
                     Type::i32, Type::i64, Type::u64, Type::u64});
}

Type Expressions::scalar_type() {
  return dice_.chance(65) ? integer_type()
                          : dice_.pick({Type::f32, Type::f32, Type::f64, Type::f64, Type::f16});
}

Type Expressions::any_type() {
  if (dice_.chance(80)) return scalar_type();
  return static_cast<Type>(
      static_cast<unsigned>(Type::u8x4) +
      dice_.below(static_cast<unsigned>(Type::count) - static_cast<unsigned>(Type::u8x4)));
}

std::string Expressions::integer_constant(Type type) {
  const unsigned bits = info(type).bits;
  uint64_t v = 0;
  switch (dice_.below(6)) {
  case 0: v = dice_.below(70) - 3u; break; // near the inline constants
  case 1: v = 0u - static_cast<uint64_t>(dice_.below(20)); break;
  case 2: v = 1ull << dice_.below(bits); break;
  case 3: v = (1ull << dice_.below(bits)) - 1; break;
  case 4: v = dice_.word(); break;
  case 5:
    v = dice_.pick<uint64_t>(
        {0xff, 0xffff, 0x80, 0x8000, 0x7fffffff, 0x80000000, 0xffff0000, 0x00ff00ff});
    break;
  }
  if (bits < 64) v &= (1ull << bits) - 1;
  return format("(({}){:#x}{})", name(type), v, bits == 64 ? "ul" : "u");
}

std::string Expressions::float_constant(Type type) {
  switch (dice_.below(8)) {
  case 0:
    return fill("(($)$)", {name(type), dice_.pick({"0.0", "-0.0", "0.5", "-0.5", "1.0", "-1.0",
                                                   "2.0", "4.0"})});
  case 1: return format("(({})0.15915494309189532)", name(type)); // an inline constant on GPUs
  case 2:
    return fill("(($)$)", {name(type), std::to_string(static_cast<int>(dice_.below(2000)) - 1000)});
  case 3:
    if (type == Type::f16) return format("f16_bits({:#x}u)", dice_.below(0x10000));
    return type == Type::f32 ? format("f32_bits({:#x}u)", dice_.word() & 0xffffffff)
                             : format("f64_bits({:#x}ul)", dice_.word());
  case 4: { // denormal, huge, infinite
    if (type == Type::f16)
      return format("f16_bits({:#x}u)", dice_.pick({0x1u, 0x3ffu, 0x400u, 0x7bffu, 0x7c00u}));
    if (type == Type::f32)
      return format("f32_bits({:#x}u)",
                    dice_.pick({0x1u, 0x7fffffu, 0x800000u, 0x7f7fffffu, 0x7f800000u}));
    return format("f64_bits({:#x}ul)",
                  dice_.pick<uint64_t>({0x1ul, 0xffffffffffffful, 0x10000000000000ul,
                                        0x7fefffffffffffff, 0x7ff0000000000000}));
  }
  default:
    return fill("(($)$.$)", {name(type), std::to_string(static_cast<int>(dice_.below(200)) - 100),
                             std::to_string(dice_.below(1000))});
  }
}

std::string Expressions::constant(Type type) {
  if (!is_vector(type)) return is_float(type) ? float_constant(type) : integer_constant(type);
  std::string text = format("(({}){{", name(type));
  for (unsigned i = 0; i < info(type).lanes; i++)
    text += (i ? ", " : "") + constant(info(type).element);
  return text + "})";
}

// A number that picks an element: a constant, the work-item, or a variable.
std::string Expressions::index(const Scope &scope) {
  if (dice_.chance(25)) return fill("$u", {std::to_string(dice_.below(64))});
  if (scope.uniform) return dice_.pick({"uni0", "uni1", "uni2", "group"});
  if (scope.item && dice_.chance(40))
    return dice_.chance(50) ? "id" : fill("(id * $u)", {std::to_string(dice_.between(2, 40))});
  std::vector<const Variable *> candidates;
  for (const Variable &v : scope.variables)
    if (is_integer(v.type)) candidates.push_back(&v);
  if (candidates.empty()) return "3u";
  const Variable &v = *dice_.pick(candidates);
  return converted(v.name, v.type, Type::u32);
}

// Memory holds integers: floats are made of their bits. One access in eight is at any byte.
std::string Expressions::loaded(const std::string &space, Type type, const std::string &pointer,
                                unsigned bytes_there, const std::string &at) {
  const Type element = info(type).element;
  if (is_float(element)) {
    if (element == Type::f32 && dice_.chance(40))
      return converted(
          fill("((f32)$ * 0.0625f)", {loaded(space, Type::i16, pointer, bytes_there, at)}),
          Type::f32, type);
    const Type raw = element == Type::f16   ? Type::u16
                     : element == Type::f32 ? Type::u32
                                            : Type::u64;
    return converted(
        fill("$_bits($)", {name(element), loaded(space, raw, pointer, bytes_there, at)}), element,
        type);
  }
  if (dice_.below(8) == 0)
    return format("(({1})LOOSE({0}, {1}, {2}, {3} & {4}u))", space, name(type), pointer, at,
                  bytes_there - 17);
  const unsigned size = bytes(type);
  return format("(({1})TIGHT({0}, {1}, {2}, {3} * {4}u & {5}u))", space, name(type), pointer, at,
                size, bytes_there - size);
}

std::string Expressions::load(const Scope &scope, Type type) {
  if (scope.item && !scope.uniform) {
    if (dice_.chance(30)) return loaded("LDS", type, "lds_read", 4096, index(scope));
    if (dice_.chance(30)) return loaded("GLOBAL", type, "mem", 64, index(scope));
    if (scope.counters && dice_.chance(20))
      return converted(fill("lds_count[$ & 31]", {index(scope)}), Type::u32, type);
  }
  if (scope.shared && dice_.chance(40)) return loaded("const", type, "shared", 4096, index(scope));
  return loaded(scope.in_space, type, "in", 4096, index(scope));
}

std::string Expressions::leaf(const Scope &scope, Type type) {
  if (dice_.chance(18)) return constant(type);
  if (dice_.chance(18)) return load(scope, type);
  if (!scope.uniform && !scope.arrays.empty() && dice_.chance(25)) {
    const Array &a = dice_.pick(scope.arrays);
    return converted(fill("$[$ & $]", {a.name, index(scope), std::to_string(a.size - 1)}), a.type,
                     type);
  }
  std::vector<const Variable *> same, all;
  for (const Variable &v : scope.variables) {
    if (scope.uniform && !v.uniform) continue;
    all.push_back(&v);
    if (v.type == type) same.push_back(&v);
  }
  if (!same.empty() && dice_.chance(80)) return dice_.pick(same)->name;
  if (!all.empty()) {
    const Variable &v = *dice_.pick(all);
    return converted(v.name, v.type, type);
  }
  return constant(type);
}

std::string Expressions::value(const Scope &scope, Type type, int depth) {
  const unsigned node = nodes_.next();
  std::string text =
      depth <= 0 || dice_.chance(15) ? leaf(scope, type) : compound(scope, type, depth);
  if (!nodes_.dropped(node)) return text;
  return converted("((u32)1)", Type::u32, type);
}

std::string Expressions::condition(const Scope &scope, int depth) {
  if (depth > 1 && dice_.chance(25))
    return fill("($ $ $)", {condition(scope, depth - 1), dice_.pick({"&&", "||", "!=", "&", "|"}),
                            condition(scope, depth - 1)});
  if (dice_.chance(10)) return fill("(!$)", {condition(scope, depth - 1)});
  const Type t = scalar_type();
  if (is_float(t) && dice_.chance(15)) {
    const std::string x = value(scope, t, depth - 1);
    return dice_.chance(50) ? format("(bits_{}({}) == 0)", name(t), x)
                            : format("__builtin_isnan({})", x);
  }
  if (is_integer(t) && dice_.chance(30))
    return fill("(($ & $) $ 0)",
                {value(scope, t, depth - 1), constant(t), dice_.pick({"!=", "=="})});
  return fill("($ $ $)",
              {value(scope, t, depth - 1), dice_.pick({"<", "<=", ">", ">=", "==", "!="}),
               value(scope, t, depth - 1)});
}

std::string Expressions::compound(const Scope &scope, Type type, int depth) {
  if (dice_.chance(12))
    return fill("($ ? $ : $)", {condition(scope, depth - 1), value(scope, type, depth - 1),
                                value(scope, type, depth - 1)});
  if (dice_.chance(12)) {
    const Type other = any_type();
    return converted(value(scope, other, depth - 1), other, type);
  }
  if (is_vector(type)) return vector(scope, type, depth);
  return is_float(type) ? real(scope, type, depth) : integer(scope, type, depth);
}

// Instructions that exist for 32 and 64 bits only, and the patterns that become them.
std::string Expressions::word(const Scope &scope, Type type, int depth) {
  auto sub = [&](Type t) { return value(scope, t, depth - 1); };
  const Type u = Type::u32, i = Type::i32;
  std::string text;
  Type made = u;
  switch (dice_.below(21)) {
  case 0: text = fill("mulhi_u32($, $)", {sub(u), sub(u)}); break;
  case 1: text = fill("mulhi_i32($, $)", {sub(i), sub(i)}), made = i; break;
  case 2: text = fill("mulhi_u64($, $)", {sub(Type::u64), sub(Type::u64)}), made = Type::u64; break;
  case 3: text = fill("mulhi_i64($, $)", {sub(Type::i64), sub(Type::i64)}), made = Type::i64; break;
  case 4: text = fill("$($)", {dice_.pick({"clz_u32", "ctz_u32"}), sub(u)}); break;
  case 5: text = fill("$($)", {dice_.pick({"clz_u64", "ctz_u64"}), sub(Type::u64)}); break;
  case 6: text = fill("funnel_u32($, $, $)", {sub(u), sub(u), sub(u)}); break;
  case 7:
    text =
        fill("field_u32($, $, $)", {sub(u), dice_.chance(50) ? constant(u) : sub(u), constant(u)});
    break;
  case 8: text = fill("field_i32($, $, $)", {sub(u), constant(u), constant(u)}), made = i; break;
  case 9: text = fill("insert_u32($, $, $)", {sub(u), sub(u), sub(u)}); break;
  case 10:
    text = fill("permute_u32($, $, $)", {sub(u), sub(u), dice_.chance(70) ? constant(u) : sub(u)});
    break;
  case 11: text = fill("mul24_u32($, $)", {sub(u), sub(u)}); break;
  case 12: text = fill("mul24_i32($, $)", {sub(i), sub(i)}), made = i; break;
  case 13: text = fill("sad_u32($, $, $)", {sub(u), sub(u), sub(u)}); break;
  case 14: text = fill("median_i32($, $, $)", {sub(i), sub(i), sub(i)}), made = i; break;
  case 15:
    text = fill("((u64)$ * $ + $)", {sub(u), sub(u), sub(Type::u64)}), made = Type::u64;
    break;
  case 16:
    text = fill("((i64)$ * $ + $)", {sub(i), sub(i), sub(Type::i64)}), made = Type::i64;
    break;
  case 17: text = fill("max3_u32($, $, $)", {sub(u), sub(u), sub(u)}); break;
  case 18: text = fill("min3_i32($, $, $)", {sub(i), sub(i), sub(i)}), made = i; break;
  case 19: text = fill("clamp_i32($)", {sub(i)}), made = i; break;
  case 20:
    text = fill("max3_i16($, $, $)", {sub(Type::i16), sub(Type::i16), sub(Type::i16)}),
    made = Type::i16;
    break;
  }
  return converted(text, made, type);
}

std::string Expressions::integer(const Scope &scope, Type type, int depth) {
  const std::string t = name(type);
  const unsigned bits = info(type).bits;
  auto sub = [&](Type s) { return value(scope, s, depth - 1); };
  auto count = [&] {
    return dice_.chance(40) ? fill("$", {std::to_string(dice_.below(bits))})
                            : fill("($ & $)", {sub(Type::u32), std::to_string(bits - 1)});
  };
  switch (dice_.below(16)) {
  case 0:
  case 1:
  case 2: return fill("(($)($ $ $))", {t, sub(type), dice_.pick({"+", "-", "*"}), sub(type)});
  case 3:
  case 4: return fill("(($)($ $ $))", {t, sub(type), dice_.pick({"&", "|", "^"}), sub(type)});
  case 5:
  case 6: {
    const std::string a = sub(type);
    return fill("(($)($ $ $))", {t, a, dice_.pick({"<<", ">>"}), count()});
  }
  case 7:
    return fill("$_$($, $)", {dice_.pick({"div", "mod"}), t, sub(type),
                              dice_.chance(40) ? constant(type) : sub(type)});
  case 8: return fill("(($)($$))", {t, dice_.pick({"~", "-"}), sub(type)});
  case 9:
    return fill("(($)__builtin_elementwise_$($, $))",
                {t, dice_.pick({"min", "max", "add_sat", "sub_sat"}), sub(type), sub(type)});
  case 10: {
    const Type u = bits == 8    ? Type::u8
                   : bits == 16 ? Type::u16
                   : bits == 32 ? Type::u32
                                : Type::u64;
    if (dice_.chance(40))
      return fill("(($)__builtin_rotateleft$($, $))", {t, std::to_string(bits), sub(u), count()});
    if (dice_.chance(40))
      return fill("(($)__builtin_bitreverse$($))", {t, std::to_string(bits), sub(u)});
    if (dice_.chance(40) && bits > 8)
      return fill("(($)__builtin_bswap$($))", {t, std::to_string(bits), sub(u)});
    return fill("(($)__builtin_popcount$($))", {t, bits == 64 ? "l" : "", sub(u)});
  }
  case 11:
    return fill("carry_$_$($, $)", {dice_.pick({"add", "sub", "mul"}), t, sub(type), sub(type)});
  case 12: return fill("(($)$)", {t, condition(scope, depth - 1)});
  case 13: { // bits, parts and conversions of a float
    const Type f = dice_.pick({Type::f16, Type::f32, Type::f64});
    if (f != Type::f16 && dice_.chance(20)) return fill("(($)exponent_$($))", {t, name(f), sub(f)});
    return dice_.chance(40) ? fill("(($)bits_$($))", {t, name(f), sub(f)})
                            : converted(sub(f), f, type);
  }
  case 14: { // element of a vector
    const Type v = dice_.pick(
        {Type::u8x4, Type::i16x2, Type::u16x2, Type::u32x2, Type::u32x4, Type::i32x4, Type::u64x2});
    const std::string of = sub(v);
    const std::string at = dice_.chance(50)
                               ? fill("$", {std::to_string(dice_.below(info(v).lanes))})
                               : fill("$ & $", {index(scope), std::to_string(info(v).lanes - 1)});
    return converted(format("({})[{}]", of, at), info(v).element, type);
  }
  default: return word(scope, type, depth);
  }
}

std::string Expressions::real(const Scope &scope, Type type, int depth) {
  const std::string t = name(type);
  auto sub = [&](Type s) { return value(scope, s, depth - 1); };
  switch (dice_.below(12)) {
  case 0:
  case 1:
  case 2:
  case 3: return fill("$_$($, $)", {dice_.pick({"add", "sub", "mul"}), t, sub(type), sub(type)});
  case 4: return fill("$_$($, $)", {dice_.pick({"min", "max"}), t, sub(type), sub(type)});
  case 5:
    return fill("$_$($)", {dice_.pick({"abs", "neg", "floor", "trunc", "rint"}), t, sub(type)});
  case 6: {
    const Type from = integer_type();
    return converted(sub(from), from, type);
  }
  case 7: {
    const Type u = type == Type::f16 ? Type::u16 : type == Type::f32 ? Type::u32 : Type::u64;
    return fill("$_bits($)", {t, sub(u)});
  }
  case 8:
    return converted(
        fill("((f32)($ >> $ & 0xff))", {sub(Type::u32), std::to_string(dice_.below(4) * 8)}),
        Type::f32, type);
  default: break;
  }
  if (dice_.chance(15)) {
    if (dice_.chance(50))
      return converted(fill("mix_f32($, $, $)", {sub(Type::f16), sub(Type::f16x2), sub(Type::f32)}),
                       Type::f32, type);
    return converted(fill("mix_f16($, $, $)", {sub(Type::f16x2), sub(Type::f16), sub(Type::f32)}),
                     Type::f16, type);
  }
  if (type == Type::f16) return fill("fma_f16($, $, $)", {sub(type), sub(type), sub(type)});
  switch (dice_.below(8)) {
  case 0:
  case 1: return fill("div_$($, $)", {t, sub(type), sub(type)});
  case 2:
  case 3: return fill("fma_$($, $, $)", {t, sub(type), sub(type), sub(type)});
  case 4: return fill("sqrt_$($)", {t, sub(type)});
  case 5: return fill("ldexp_$($, $)", {t, sub(type), sub(Type::i32)});
  case 6: return fill("copysign_$($, $)", {t, sub(type), sub(type)});
  default: return fill("$_$($)", {dice_.pick({"mantissa", "ceil"}), t, sub(type)});
  }
}

std::string Expressions::vector(const Scope &scope, Type type, int depth) {
  const std::string t = name(type);
  const unsigned lanes = info(type).lanes;
  auto sub = [&](Type s) { return value(scope, s, depth - 1); };
  switch (dice_.below(9)) {
  case 0: { // of elements
    std::string text = format("(({}){{", t);
    for (unsigned i = 0; i < lanes; i++) text += (i ? ", " : "") + sub(info(type).element);
    return text + "})";
  }
  case 1: {
    std::string text = fill("(($)__builtin_shufflevector($, $", {t, sub(type), sub(type)});
    for (unsigned i = 0; i < lanes; i++)
      text += fill(", $", {std::to_string(dice_.below(2 * lanes))});
    return text + "))";
  }
  case 2: return fill("(($)$)", {t, sub(info(type).element)});
  case 3:
    if (type == Type::f32x2 || type == Type::f32x4)
      return fill("__builtin_elementwise_fma($, $, $)", {sub(type), sub(type), sub(type)});
    if (type == Type::f16x2) return fill("fma_f16x2($, $, $)", {sub(type), sub(type), sub(type)});
    [[fallthrough]];
  case 4:
    if (is_float(type)) return fill("(-$)", {sub(type)});
    return fill("__builtin_elementwise_$($, $)",
                {dice_.pick({"min", "max", "add_sat", "sub_sat"}), sub(type), sub(type)});
  case 5:
    if (is_float(type)) break;
    return fill("($ $ ($ & ($)$))", {sub(type), dice_.pick({"<<", ">>"}), sub(type), t,
                                     std::to_string(info(type).bits - 1)});
  case 6:
    if (is_float(type)) break;
    return fill("($ $ $)", {sub(type), dice_.pick({"&", "|", "^"}), sub(type)});
  default: break;
  }
  return fill("($ $ $)", {sub(type), dice_.pick({"+", "-", "*"}), sub(type)});
}

} // namespace fade::sim::differential
