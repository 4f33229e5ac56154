// What runs instead of a kernel, by the replacement rules:
//   1. instrumented mode: its twin in the same executable;
//   2. else a kernel of the same name in the kernel cache: in instrumented mode with its arguments
//      and one more pointer, in comparison mode with the same arguments;
//   3. else nothing: the original runs.
// What is found is planned once per kernel and used for every dispatch.
#pragma once

#include "dispatch/kernel_registry.h"

#include <functional>
#include <memory>
#include <string>

namespace fade {

struct Replacement {
  std::shared_ptr<const KernelEntry> kernel; ///< what runs; null: the original
  bool instrumented = false;
  std::shared_ptr<const codeobj::KernargRewrite> kernargs; ///< null: the block stays as it is
  std::shared_ptr<const KernelInfo> info;
  std::shared_ptr<const std::string> variant;
  std::string reason; ///< why the original runs
};

/// The kernel's twin in its own executable.
std::shared_ptr<const Replacement> planTwin(KernelRegistry &registry, const KernelEntry &original);

} // namespace fade
