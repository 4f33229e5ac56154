// Kernels that HIP launches by itself: to copy, to fill, and to wait in streams.
#pragma once

#include <string_view>

namespace fade {

inline constexpr std::string_view kHipHelperPrefix = "__amd_rocclr_";

inline bool isHipHelper(std::string_view kernel) { return kernel.starts_with(kHipHelperPrefix); }

} // namespace fade
