// Words as a shell reads them back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fade {

/// In single quotes if it needs them.
std::string shellWord(std::string_view word);
/// A command line.
std::string shellText(const std::vector<std::string> &words);

} // namespace fade
