// The builds of kernels that count and add up: processor, level of optimization, wave size.
// CMakeLists.txt of tests/passes/run makes them.
#pragma once

#include "extent.h"

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace fade::test {

struct Build {
  const char *arch, *level, *size;

  std::string name() const { return std::string(arch) + "_" + level + "_" + size; }
  // Those of which all kernels are tried: the others have code of the same kind.
  bool isTriedInFull() const {
    const std::string_view a = arch;
    return extent::is_long || a == "gfx90a" || a == "gfx1030";
  }
};
inline std::ostream &operator<<(std::ostream &out, const Build &b) { return out << b.name(); }

// gtest's names of tests.
inline constexpr auto nameOfBuild = [](const auto &info) { return info.param.name(); };

inline std::vector<Build> builds() {
  std::vector<Build> out;
  for (const char *arch : {"gfx90a", "gfx942", "gfx1030", "gfx1100"})
    for (const char *level : {"O0", "O1", "O2", "O3"})
      for (const char *size : {"default", "wave64"}) {
        const bool is_90a = arch == std::string("gfx90a");
        const bool is_gfx9 = is_90a || arch == std::string("gfx942");
        const bool is_usual = level == std::string("O2") || (level == std::string("O0") && is_90a);
        if (!is_usual && !extent::is_long) continue;
        if (size == std::string("wave64") && (is_gfx9 || !extent::is_long)) continue;
        out.push_back({arch, level, size});
      }
  return out;
}

} // namespace fade::test
