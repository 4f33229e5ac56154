// The variables by which the HSA runtime loads a tool. Needs nothing but the standard library: what
// is preloaded uses it, too.
//
// ROCr since 6 gives its tables to rocprofiler-register. If a profiler is registered there
// (PyTorch's, JAX's, rocprofv3), ROCr reads HSA_TOOLS_LIB only if HSA_TOOLS_ROCPROFILER_V1_TOOLS is
// set. Such a profiler puts functions of its own around queues; HSA_TOOLS_DISABLE_REGISTER leaves
// it out.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fade {

inline constexpr const char *kToolsVariable = "HSA_TOOLS_LIB";
inline constexpr const char *kOldToolsVariable = "HSA_TOOLS_ROCPROFILER_V1_TOOLS";
inline constexpr const char *kNoRegisterVariable = "HSA_TOOLS_DISABLE_REGISTER";

/// What to set so that the runtime loads `library`, before the tools that it would load anyway.
/// `there`: HSA_TOOLS_LIB as it is, or null. `others`: FADE_OTHER_TOOLS, or null.
inline std::vector<std::pair<std::string, std::string>>
toolVariables(const std::string &library, const char *there, const char *others) {
  std::string all = there ? there : "";
  if (all.find(library) == std::string::npos) all = all.empty() ? library : library + ' ' + all;
  std::vector<std::pair<std::string, std::string>> variables = {{kToolsVariable, all},
                                                                {kOldToolsVariable, "1"}};
  if (!others || std::string(others) != "keep") variables.emplace_back(kNoRegisterVariable, "1");
  return variables;
}

} // namespace fade
