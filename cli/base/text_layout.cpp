#include "base/text_layout.h"

#include <fmt/format.h>

namespace fade::cli {

std::string printable(std::string_view text) {
  std::string out(text);
  for (char &c : out) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t width) {
  if (text.size() <= width || width < 8) return std::string(text);
  // The front says more than the end, but templates differ at the end.
  std::size_t front = (width - 1) * 2 / 3;
  return fmt::format("{}…{}", text.substr(0, front),
                     text.substr(text.size() - (width - 1 - front)));
}

std::string flowed(std::string_view label, std::size_t indent,
                   const std::vector<std::string> &words) {
  std::string out(label), line_start(indent, ' ');
  out.resize(indent, ' ');
  std::size_t column = indent;
  bool first = true;
  for (const std::string &word : words) {
    if (!first && column + 2 + word.size() > kColumns) {
      out += "\n" + line_start;
      column = indent;
      first = true;
    }
    if (!first) {
      out += "  ";
      column += 2;
    }
    out += word;
    column += word.size();
    first = false;
  }
  return out + "\n";
}

std::string bytesText(unsigned long long bytes) {
  constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::string grouped(unsigned long long number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

} // namespace fade::cli
