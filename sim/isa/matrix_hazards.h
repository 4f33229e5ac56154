// Wait states around matrix instructions: they depend on how many passes these take.
#pragma once

#include "isa/hazards.h"

namespace fade::sim {

/// Whose rules: gfx908 has accumulators of its own, gfx90a one file, gfx94x faster instructions.
enum class MatrixGpu : uint8_t { none, gfx908, gfx90a, gfx94x, gfx950 };

struct MatrixHazard {
  unsigned states = 0; // 0: none
  ObservedRange at{};
  const char *rule = "";
};
MatrixHazard matrix_hazard(MatrixGpu gpu, const HazardUse &first, const HazardUse &second);

/// Part of registers that two ranges share; count 0: none.
ObservedRange shared(const ObservedRange &a, const ObservedRange &b);
ObservedRange shared(std::span<const ObservedRange> a, std::span<const ObservedRange> b,
                     bool vector);

} // namespace fade::sim
