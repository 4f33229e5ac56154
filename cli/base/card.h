// Whether this machine has an AMD GPU that a program could use.
#pragma once

#include <string>

namespace fade::cli {

inline constexpr const char *kDriver = "/dev/kfd";
inline constexpr const char *kTopology = "/sys/class/kfd/kfd/topology/nodes";

/// Empty if there is a card to use; else why there is none: "no AMD GPU found (no /dev/kfd)".
std::string whyNoCard(const std::string &driver = kDriver, const std::string &topology = kTopology);

} // namespace fade::cli
