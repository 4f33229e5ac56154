// Whether all workgroups of a dispatch are on the GPU at once. Those of cooperative and persistent
// kernels wait for each other: if a kernel that runs instead needs more registers or LDS, the last
// ones never start, and it never ends.
#pragma once

#include "codeobj/occupancy.h"

#include <cstdint>
#include <optional>

namespace fade {

/// What a kernel, and one that runs instead of it, take of a compute unit.
struct ResidencyNeeds {
  codeobj::Target target;
  codeobj::OccupancyInput original, replacement;

  /// Nothing if one of them is not known. Symbols are without ".kd".
  static std::optional<ResidencyNeeds> of(const codeobj::CodeObject *original,
                                          const std::string &original_symbol,
                                          const codeobj::CodeObject *replacement,
                                          const std::string &replacement_symbol);
};

/// Workgroups of a dispatch, and how many of them fit on the GPU at once.
struct Residency {
  uint64_t workgroups = 0, original = 0, replacement = 0;

  /// The original has room for all of them, what runs instead has not.
  bool isLost() const { return workgroups <= original && workgroups > replacement; }
};

struct ResidentLaunch {
  uint64_t workgroups = 0;
  unsigned workgroup_size = 0;
  uint32_t original_lds = 0, replacement_lds = 0; ///< static and dynamic
  uint32_t compute_units = 0;                     ///< of the GPU, or of its partition
};
/// Nothing for a GPU that is not known.
std::optional<Residency> residencyOf(const ResidencyNeeds &needs, const ResidentLaunch &launch);

} // namespace fade
