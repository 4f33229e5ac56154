#include "base/result.h"

#include <fmt/format.h>

namespace fade {

std::string Error::message() const {
  std::string where = file;
  if (!section.empty())
    where += fmt::format("{}{}+{:#x}", where.empty() ? "" : ": ", section, offset);
  else if (offset != 0)
    where += fmt::format("{}{:#x}", where.empty() ? "" : ": ", offset);
  return where.empty() ? what : where + ": " + what;
}

} // namespace fade
