#include "replay/element_type.h"

#include <array>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>

namespace fade::replay {
namespace {

double halfValue(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const double fraction = bits & 0x3ff;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 0x1f)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

double valueOf(ElementType type, uint64_t bits) {
  switch (type) {
  case ElementType::f64: return std::bit_cast<double>(bits);
  case ElementType::f32:
    return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  case ElementType::f16: return halfValue(static_cast<uint16_t>(bits));
  default: return static_cast<double>(bits);
  }
}

/// Floating-point numbers in their order, as whole numbers.
int64_t inOrder(uint64_t bits, unsigned width) {
  const uint64_t sign = uint64_t{1} << (width - 1);
  const auto magnitude = static_cast<int64_t>(bits & (sign - 1));
  return bits & sign ? -magnitude : magnitude;
}

// Numbers as programs have them: not tiny, not huge, or zero; and what instructions make of errors,
// infinity and the quiet NaN.
bool looksLikeF32(uint32_t bits) {
  const uint32_t exponent = bits >> 23 & 0xff;
  return (bits & 0x7fffffff) == 0 || (bits & 0x7fbfffff) == 0x7f800000 ||
         (exponent >= 127 - 40 && exponent <= 127 + 40);
}
bool looksLikeF64(uint64_t bits) {
  const uint64_t exponent = bits >> 52 & 0x7ff;
  return (bits << 1) == 0 || (bits & 0x7ff7ffffffffffff) == 0x7ff0000000000000 ||
         (exponent >= 1023 - 100 && exponent <= 1023 + 100);
}
bool looksLikeF16(uint16_t bits) {
  const unsigned exponent = bits >> 10 & 0x1f;
  return (bits & 0x7fff) == 0 || (bits & 0x7dff) == 0x7c00 || (exponent >= 5 && exponent <= 25);
}

/// Whether nearly all that could be of a kind look like it.
class Votes {
public:
  void add(bool fits) {
    ++all_;
    fitting_ += fits ? 1 : 0;
  }
  bool passes() const { return all_ > 0 && fitting_ * 100 >= all_ * 95; }

private:
  uint64_t all_ = 0, fitting_ = 0;
};

} // namespace

uint32_t sizeOf(ElementType type) {
  switch (type) {
  case ElementType::f64:
  case ElementType::pointer: return 8;
  case ElementType::f16: return 2;
  default: return 4;
  }
}

const char *nameOf(ElementType type) {
  switch (type) {
  case ElementType::f64: return "f64";
  case ElementType::pointer: return "pointer";
  case ElementType::f16: return "f16";
  case ElementType::f32: return "f32";
  default: return "u32";
  }
}

namespace {

/// How far the exponents of halves that are not 0 lie from their mean.
class Exponents {
public:
  void add(uint16_t bits) {
    if ((bits & 0x7fff) != 0) ++counts_[bits >> 10 & 0x1f];
  }
  uint64_t count() const { return std::reduce(counts_.begin(), counts_.end()); }
  double spread() const {
    const auto all = static_cast<double>(count());
    if (all == 0) return 0;
    double sum = 0, distance = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) sum += static_cast<double>(counts_[i] * i);
    for (std::size_t i = 0; i < counts_.size(); ++i)
      distance += static_cast<double>(counts_[i]) * std::abs(static_cast<double>(i) - sum / all);
    return distance / all;
  }

private:
  std::array<uint64_t, 32> counts_{};
};

/// What words look like as numbers of several kinds.
struct Looks {
  Votes f32, f64, f16;
  Votes lower; ///< halves of 8 bytes that are 0
  uint64_t words = 0;
  Exponents low, high; ///< of the halves of 4 bytes

  void add(uint64_t bits) {
    f64.add(looksLikeF64(bits));
    for (const unsigned shift : {0u, 32u}) {
      f32.add(looksLikeF32(static_cast<uint32_t>(bits >> shift)));
      ++words;
      low.add(static_cast<uint16_t>(bits >> shift));
      high.add(static_cast<uint16_t>(bits >> (shift + 16)));
    }
    for (const unsigned shift : {0u, 16u, 32u, 48u})
      f16.add(looksLikeF16(static_cast<uint16_t>(bits >> shift)));
    lower.add(static_cast<uint32_t>(bits) == 0);
  }
  /// Two numbers of 2 bytes often look like one of 4 or 8. But the lower ends of those are 0 or
  /// anything: of anything a third is no such number, and its size varies more than that of the
  /// upper ends.
  bool isF16() const {
    constexpr uint64_t enough = 16;
    constexpr double more = 1.5;
    return f16.passes() && low.count() >= enough && low.count() * 2 >= words &&
           low.spread() <= high.spread() + more;
  }
};

} // namespace

ElementType guessType(std::span<const WordPair> pairs,
                      const std::function<bool(uint64_t)> &is_address,
                      std::span<const uint64_t> neighbors) {
  Votes pointers;
  Looks differing, around;
  for (const WordPair &pair : pairs) {
    pointers.add(is_address(pair.expected) && (pair.got == 0 || is_address(pair.got)));
    differing.add(pair.expected);
    differing.add(pair.got);
    around.add(pair.expected);
  }
  if (pointers.passes()) return ElementType::pointer;
  for (const uint64_t word : neighbors) around.add(word);
  if (differing.f16.passes() && around.isF16()) return ElementType::f16;
  // The upper half of an f64 looks like an f32; the lower one is 0 or anything.
  if (differing.f64.passes() && (!differing.f32.passes() || differing.lower.passes()))
    return ElementType::f64;
  if (differing.f32.passes()) return ElementType::f32;
  if (differing.f16.passes()) return ElementType::f16;
  return ElementType::u32;
}

Distance distance(ElementType type, uint64_t expected, uint64_t got) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (type == ElementType::pointer || type == ElementType::u32)
    return {UINT64_MAX, infinite, infinite};
  const double a = valueOf(type, expected), b = valueOf(type, got);
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b) ? Distance{} : Distance{UINT64_MAX, infinite, infinite};
  const unsigned width = sizeOf(type) * 8;
  const int64_t x = inOrder(expected, width), y = inOrder(got, width);
  const uint64_t ulp = x > y ? static_cast<uint64_t>(x) - static_cast<uint64_t>(y)
                             : static_cast<uint64_t>(y) - static_cast<uint64_t>(x);
  if (a == b) return {ulp, 0, 0, a};
  if (std::isinf(a) || std::isinf(b)) return {ulp, infinite, infinite, a};
  return {ulp, a == 0 ? infinite : std::abs((b - a) / a), std::abs(b - a), a};
}

std::string elementText(ElementType type, uint64_t bits) {
  switch (type) {
  case ElementType::pointer: return fmt::format("{:#x}", bits);
  case ElementType::u32: return fmt::format("{}", static_cast<uint32_t>(bits));
  case ElementType::f32:
    return fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(bits)));
  default: return fmt::format("{}", valueOf(type, bits));
  }
}

} // namespace fade::replay
