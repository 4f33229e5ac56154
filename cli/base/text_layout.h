// Text for terminals: 100 columns, and nothing in it that a terminal would obey.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fade::cli {

inline constexpr std::size_t kColumns = 100;

/// Names come from files: control characters become '?'.
std::string printable(std::string_view text);
/// At most `width` characters, with "…" in the place of what was cut out of the middle.
std::string shortened(std::string_view text, std::size_t width);
/// The words on as many lines as they need, separated by two blanks; the first line starts with
/// `label`, padded to `indent`, the others with blanks.
std::string flowed(std::string_view label, std::size_t indent,
                   const std::vector<std::string> &words);
/// "512 B", "1.5 KiB".
std::string bytesText(unsigned long long bytes);
/// "1,234,567".
std::string grouped(unsigned long long number);

} // namespace fade::cli
