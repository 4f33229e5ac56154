// The kernel of cooperative.cl, compiled for every GPU that clang knows and built in.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fade::replay {

inline constexpr const char *kCooperativeKernel = "__amd_rocclr_gwsInit";

/// A code object; empty: there is none for this GPU.
std::span<const uint8_t> cooperativeCodeFor(std::string_view gpu);

} // namespace fade::replay
