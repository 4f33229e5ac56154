#include "optimize/patch.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>
#include <vector>

namespace fade::cli {
namespace {

constexpr std::size_t kAround = 3; ///< lines that stay the same, on both sides

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

std::string line(char mark, std::string_view text) {
  return mark + std::string(text) +
         (text.ends_with('\n') ? "" : "\n\\ No newline at end of file\n");
}

std::string range(std::size_t first, std::size_t count) {
  return fmt::format("{},{}", count == 0 ? first : first + 1, count);
}

} // namespace

std::string patchOf(const std::string &file, const std::string &before, const std::string &after) {
  if (before == after) return "";
  const std::string name = file.substr(std::min(file.find_first_not_of('/'), file.size()));
  const auto was = linesOf(before), is = linesOf(after);
  std::size_t front = 0, back = 0;
  const std::size_t shorter = std::min(was.size(), is.size());
  while (front < shorter && was[front] == is[front]) ++front;
  while (back < shorter - front && was[was.size() - 1 - back] == is[is.size() - 1 - back]) ++back;
  const std::size_t begin = front - std::min(front, kAround), tail = back - std::min(back, kAround);
  const std::size_t was_end = was.size() - back, is_end = is.size() - back;
  std::string text =
      fmt::format("--- a/{0}\n+++ b/{0}\n@@ -{1} +{2} @@\n", name,
                  range(begin, was.size() - tail - begin), range(begin, is.size() - tail - begin));
  for (std::size_t i = begin; i < front; ++i) text += line(' ', was[i]);
  for (std::size_t i = front; i < was_end; ++i) text += line('-', was[i]);
  for (std::size_t i = front; i < is_end; ++i) text += line('+', is[i]);
  for (std::size_t i = was_end; i < was.size() - tail; ++i) text += line(' ', was[i]);
  return text;
}

} // namespace fade::cli
