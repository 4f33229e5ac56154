// The line of a dispatch as FADE itself writes it, read without a JSON document: a long run has
// hundreds of thousands of them, and little else.
#pragma once

#include "analysis/run_log.h"

#include <optional>
#include <string_view>
#include <vector>

namespace fade::report {

struct DispatchLine {
  struct Argument {
    std::string_view name, type;
    uint64_t offset = 0, bytes = 0, value = 0, allocation = 0;
    bool has_allocation = false;
  };

  std::string_view kernel, module, variant; ///< of the line
  Dispatch dispatch;                        ///< but for its kernel and variant
  std::vector<Argument> arguments;
};

/// False if anything in it is not as FADE writes it: another key or type, a key twice, an escape, a
/// character that is not ASCII. Then it is to be read as JSON, which knows what is wrong, if
/// anything is. `to` has lists that are used again.
bool readDispatchLine(std::string_view line, DispatchLine &to);

/// What the line says its type is, if it says so at its beginning, as FADE's lines do.
std::optional<std::string_view> typeAtBegin(std::string_view line);

} // namespace fade::report
