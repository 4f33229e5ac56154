// What the words of a buffer probably are, and how far two of them are apart.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace fade::replay {

enum class ElementType { f32, f64, f16, pointer, u32 };

uint32_t sizeOf(ElementType type);
const char *nameOf(ElementType type);

/// Eight aligned bytes of which some differ.
struct WordPair {
  uint64_t expected = 0, got = 0;
};

/// `is_address`: whether a value points into captured memory. `neighbors`: words beside them that
/// do not differ; they count where the others may be several things.
ElementType guessType(std::span<const WordPair> pairs,
                      const std::function<bool(uint64_t)> &is_address,
                      std::span<const uint64_t> neighbors = {});

/// How far two elements are apart. Whole numbers and pointers have no distance but "different".
struct Distance {
  uint64_t ulp = 0;    ///< UINT64_MAX: not to be counted (not a number, whole numbers)
  double relative = 0; ///< of the expected value; infinite if that is 0
  double absolute = 0; ///< infinite: not to be counted
  double expected = 0; ///< the value itself
};
Distance distance(ElementType type, uint64_t expected, uint64_t got);

/// For people.
std::string elementText(ElementType type, uint64_t bits);

} // namespace fade::replay
