// What is to be checked, from the environment: FADE_CHECKS, FADE_KERNELS, FADE_DISPATCHES,
// FADE_WORKGROUPS.
#pragma once

#include "checks/finding_file.h"

#include "base/settings.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace fade::checks {

struct Options {
  std::array<bool, static_cast<std::size_t>(Check::count)> enabled{};
  Settings settings;

  bool has(Check check) const { return enabled[static_cast<std::size_t>(check)]; }
};

std::string_view nameOf(Check check);

/// "memory,race" or "all"; empty: those that are on by default. What is wrong with it, or nothing.
std::optional<std::string> readChecks(std::string_view list, Options &options);

/// Of this process, read once. Mistakes were named by fadeprobe, and are ignored here.
const Options &options();

} // namespace fade::checks
