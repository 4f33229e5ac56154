// Which instructions of a kernel use scratch memory.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <set>
#include <string>

namespace fade::report {

/// Reads a kernel's instructions in their order. Older GPUs reach scratch memory through a
/// descriptor, like any buffer: it is in the first registers, which the ABI gives it, or was copied
/// from there. To be asked only of kernels that have scratch memory.
class ScratchCode {
public:
  bool uses(const std::string &text) {
    if (text.starts_with("scratch_")) return true;
    if (text.starts_with("buffer_")) {
      for (const std::string &registers : descriptors_)
        if (text.find(registers) != text.npos) return true;
      return false;
    }
    unsigned first = 0, last = 0;
    if (text.ends_with(", s[0:1]") &&
        std::sscanf(text.c_str(), "s_mov_b64 s[%u:%u]", &first, &last) == 2)
      descriptors_.insert(fmt::format("s[{}:{}]", first, first + 3));
    return false;
  }

private:
  std::set<std::string> descriptors_ = {"s[0:3]"};
};

} // namespace fade::report
