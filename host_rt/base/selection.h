// Which kernels, and which of their dispatches, the user asked for.
#pragma once

#include "base/settings.h"
#include "fade/expression.h"

#include <cstdint>
#include <optional>
#include <string>

namespace fade {

class Selection {
public:
  explicit Selection(const Settings &settings);

  bool wantsKernel(const std::string &demangled) const;
  /// The file that the kernel's code is in; empty if it is in none.
  bool wantsLibrary(const std::string &path) const;
  bool hasLibraryFilter() const { return libraries_.has_value(); }
  /// `ordinal` counts the dispatches of a kernel from 1. A random choice depends on nothing but the
  /// seed, the kernel and the ordinal, so a run can be repeated.
  bool wantsDispatch(const std::string &symbol, uint64_t ordinal) const;

private:
  std::optional<Expression> kernels_, libraries_;
  bool wants_others_ = false; ///< than the libraries
  DispatchChoice dispatches_;
  uint64_t seed_;
};

} // namespace fade
