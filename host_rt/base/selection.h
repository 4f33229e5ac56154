// Which kernels, and which of their dispatches, the user asked for.
#pragma once

#include "base/settings.h"

#include <cstdint>
#include <optional>
#include <regex>
#include <string>

namespace fade {

class Selection {
public:
  explicit Selection(const Settings &settings);

  bool wantsKernel(const std::string &demangled) const;
  /// `ordinal` counts the dispatches of a kernel from 1. A random choice depends on nothing but the
  /// seed, the kernel and the ordinal, so a run can be repeated.
  bool wantsDispatch(const std::string &symbol, uint64_t ordinal) const;

private:
  std::optional<std::regex> kernels_;
  DispatchChoice dispatches_;
  uint64_t seed_;
};

} // namespace fade
