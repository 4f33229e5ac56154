// A kernel's name in so many characters. Names of templates run to thousands, and what tells two of
// them apart may stand anywhere. Header-only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fade {

namespace kernel_name {

// Where the parameters begin: the last pair of parentheses that is not within another or within
// template arguments. The size of the name if there are none.
inline std::size_t parametersOf(std::string_view name) {
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) return i;
    if (depth == 0 && name[i] == '>') return name.size();
  }
  return name.size();
}

// "f<a<...>, b>": template arguments up to a depth, and "..." in place of what is deeper.
inline std::string upTo(std::string_view name, int deepest) {
  std::string text;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool is_arrow = c == '>' && i > 0 && name[i - 1] == '-';
    if (c == '<') {
      if (++depth == deepest + 1) text += "<...";
    } else if (c == '>' && !is_arrow && depth > 0) {
      if (depth-- == deepest + 1) {
        text += '>';
        continue;
      }
    }
    if (depth <= deepest) text += c;
  }
  return text;
}

inline uint32_t hash(std::string_view text) {
  uint32_t value = 2166136261u;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 16777619u;
  return value ^ value >> 16;
}

} // namespace kernel_name

// Parameters are left out first, then the return type, then template arguments from the inside out,
// then the middle. A name whose template arguments are not all there ends in four digits that tell
// it from others: "sort<...>(...) #3f2a". `width` of 12 and more is kept.
inline std::string shortKernelName(std::string_view full, std::size_t width) {
  std::string name;
  for (const char c : full) name += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  width = std::max<std::size_t>(width, 12);
  if (name.size() <= width) return name;
  const std::size_t parameters = kernel_name::parametersOf(name);
  const std::string tail = parameters == name.size() ? "" : "(...)";
  name.resize(parameters);
  if (name.starts_with("void ")) name.erase(0, 5);
  if (name.size() + tail.size() <= width) return name + tail;
  if (name.size() <= width) return name;
  constexpr char digits[] = "0123456789abcdef";
  const uint32_t number = kernel_name::hash(full);
  std::string mark = " #";
  for (int shift = 12; shift >= 0; shift -= 4) mark += digits[number >> shift & 15];
  for (int depth = 8; depth >= 0; --depth)
    if (std::string cut = kernel_name::upTo(name, depth); cut.size() + mark.size() <= width)
      return cut.size() + tail.size() + mark.size() <= width ? cut + tail + mark : cut + mark;
  const std::string cut = kernel_name::upTo(name, 0);
  const std::size_t room = width - mark.size() - 3, head = room - room / 2;
  return cut.substr(0, head) + "..." + cut.substr(cut.size() - room / 2) + mark;
}

} // namespace fade
