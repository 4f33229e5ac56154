// What fadeprobe says on stderr, and how it ends for a mistake in its options.
#pragma once

#include <string_view>

namespace fade::cli {

/// "fadeprobe: <text>" on stderr.
void complain(std::string_view text);

inline constexpr int kUsageError = 2;

} // namespace fade::cli
