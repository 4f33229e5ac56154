#include "host_trace/log_text.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace fade::host_trace {

std::string durationText(uint64_t ns) {
  const auto value = static_cast<double>(ns);
  if (ns < 10'000) return fmt::format("{} ns", ns);
  if (ns < 10'000'000) return fmt::format("{:.1f} us", value / 1e3);
  if (ns < 10'000'000'000) return fmt::format("{:.1f} ms", value / 1e6);
  return fmt::format("{:.2f} s", value / 1e9);
}

std::string nameCell(std::string_view name, std::size_t width) {
  return cli::shortened(cli::printable(name), width);
}

std::size_t columnsOf(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string padded(std::string text, std::size_t width, bool is_number) {
  const std::string blanks(width - std::min(width, columnsOf(text)), ' ');
  return is_number ? blanks + text : text + blanks;
}

Operator operatorIn(std::string_view marker) {
  constexpr std::string_view sizes_mark = ", sizes = ", inputs_mark = ", input_op_ids = ";
  Operator found{marker, {}, false};
  for (const std::string_view mark :
       {std::string_view(", seq = "), std::string_view(", op_id = "), sizes_mark, inputs_mark})
    if (const auto at = marker.find(mark); at != marker.npos && at != 0) {
      found.name = found.name.substr(0, std::min(found.name.size(), at));
      found.is_operator = true;
    }
  if (const auto at = marker.find(sizes_mark); at != marker.npos) {
    found.sizes = marker.substr(at + sizes_mark.size());
    found.sizes = found.sizes.substr(0, found.sizes.find(inputs_mark));
  }
  return found;
}

} // namespace fade::host_trace
