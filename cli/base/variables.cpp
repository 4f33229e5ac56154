#include "base/variables.h"

#include <cstdlib>

namespace fade::cli {

std::string valueOf(const Variables &variables, const char *name) {
  for (auto at = variables.rbegin(); at != variables.rend(); ++at)
    if (at->first == name) return at->second;
  const char *inherited = std::getenv(name);
  return inherited ? inherited : "";
}

} // namespace fade::cli
