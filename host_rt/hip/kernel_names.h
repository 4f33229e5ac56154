// The names of kernels that the application launches, by the address that it launches them with: a
// launch that is captured into a graph makes no packet that would tell.
#pragma once

#include <cstdint>
#include <string_view>

namespace fade::hip {

/// What the first argument of a launch is.
enum class Launched : uint8_t {
  nothing,
  host_function,   ///< the address of the kernel's stub
  module_function, ///< a hipFunction_t
};

/// From a line of fade/hip_functions.inc.
constexpr Launched launchedBy(std::string_view group, std::string_view parameters) {
  if (group != "launch") return Launched::nothing;
  if (parameters.starts_with("f:hipFunction_t")) return Launched::module_function;
  for (const std::string_view name : {"function_address:", "f:const void*", "func:const void*"})
    if (parameters.starts_with(name)) return Launched::host_function;
  return Launched::nothing;
}

/// HIP's hipKernelNameRefByPtr and hipKernelNameRef; null if it does not have them.
void setNameFunctions(void *of_host_function, void *of_module_function) noexcept;

/// After a launch that has succeeded: records the name if the address is new.
void noteLaunch(Launched kind, const void *address) noexcept;

} // namespace fade::hip
