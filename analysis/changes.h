// A kernel with one quantity changed: what the model says of it tells what the change would gain.
#pragma once

#include "analysis/measured_kernels.h"

#include <functional>

namespace fade::profile {

/// Changes what was counted of a kernel. What follows from accesses is worked out afterwards.
using Change = std::function<void(KernelProfile &)>;

/// Lanes of an access side by side: no line too many, and no byte moved for nothing. `lines`:
/// false if the lines are fine, and only bytes are moved for nothing.
void coalesce(report::Access &access, const KernelProfile &kernel, bool lines);

/// Atomic operations of an access go to LDS, and each workgroup makes one for all of its own.
void collectInLds(KernelProfile &kernel, std::size_t access);

/// All lanes of each executed instruction take part, in as many fewer executions; the wave that has
/// most to do does not get faster by that.
void fillLanes(KernelProfile &kernel, const GpuModel &gpu);

/// As many waves as it takes if all their lanes have work.
void fillWaves(KernelProfile &kernel);

/// As many workgroups as there are compute units, which share the work, as far as waves have enough
/// of it.
void spreadWorkgroups(KernelProfile &kernel, const GpuModel &gpu);
/// Whether that changes anything.
bool leavesUnitsIdle(const ModeledKernel &kernel);

/// Without scratch memory.
void keepInRegisters(KernelProfile &kernel);

/// Fewer registers or less LDS, for more waves at a time.
struct Room {
  uint32_t vgprs = 0;
  uint64_t lds = 0;
  double waves = 0; ///< of a SIMD, that fit then
};
/// The least change that gains nearly all there is to gain; nothing if there is nothing.
std::optional<Room> moreRoom(const ModeledKernel &kernel);
void give(const Room &room, KernelProfile &kernel);

} // namespace fade::profile
