// What the GPU is given to do, as host events (fade/host_events.h).
#pragma once

#include "dispatch/blit_kernel.h"
#include "fade/host_events.h"
#include "hsa/hsa_api.h"

#include <cstdint>
#include <optional>

namespace fade {

class AllocationTable;
struct Agent;
struct KernelEntry;
struct DispatchRecord;

/// Ticks of the runtime's clock.
uint64_t nanosecondsOf(uint64_t ticks) noexcept;

/// Times of the GPU, which the runtime tells by a clock of its own choice, by CLOCK_MONOTONIC. Asks
/// the runtime for the difference now and then. Any thread.
uint64_t monotonicOf(uint64_t hsa_ns) noexcept;

struct BlitPlaces : Blit {
  events::Direction direction = events::Direction::none; ///< of a copy, if it is known
};
/// What a kernel of HIP's own is about to copy or to fill; nothing for all others.
std::optional<BlitPlaces> blitPlaces(const KernelEntry *kernel, const void *arguments,
                                     AllocationTable &allocations) noexcept;

/// A kernel on its way to the GPU; the place of the event, 0 if it is not recorded.
uint64_t recordKernel(const Agent &agent, const DispatchRecord &record, KernelEntry *kernel,
                      uint32_t private_bytes, uint64_t call, uint64_t packet,
                      const std::optional<BlitPlaces> &blit) noexcept;

/// `operation`: a place; nothing happens for 0. Times by the runtime's clock, in ns; 0: not known.
void recordOperationEnd(uint64_t operation, uint16_t flags, uint64_t start_ns,
                        uint64_t end_ns) noexcept;

} // namespace fade
