// One wave of a kernel alone on its SIMD, instruction by instruction: what each takes, and what the
// waits wait for.
//
// The compiler says with s_waitcnt (from gfx12 on s_wait_loadcnt and others) how many loads may be
// left under way. Loads come back in the order in which they were issued, so the one that is waited
// for is known. Loops are gone through twice, and the second time counts.
#pragma once

#include "analysis/gpu_model.h"
#include "analysis/kernel_profile.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace fade::profile {

struct InstructionTime {
  double busy = 0;  ///< cycles of its unit: VALU and matrix of a SIMD, the others of a unit
  double issue = 0; ///< cycles until the wave can go on
  double waits = 0; ///< cycles of an execution that the wave waits here
  std::optional<std::size_t> waits_for; ///< the instruction whose result comes last
};

std::vector<InstructionTime> timelineOf(const KernelProfile &kernel, const GpuModel &gpu);

/// v_rcp_f32, v_exp_f16, v_mul_lo_u32, ...: a quarter of the rate.
bool isSlow(std::string_view mnemonic);

} // namespace fade::profile
