// How many packets wait in a queue, and around the end of its ring.
//
// ROCr since 7.1 gives all packets that wait in a queue to a tool at once. Since 7.2 it copies
// those that lie around the end of the ring into a buffer of 256 packets first, however many they
// are: what lies behind the buffer is overwritten, and the process dies somewhere else
// (ROCm/rocm-systems#5071). HIP 7 rings the doorbell late, so that hundreds of packets do wait.
// And if as many wait as the queue has places, ROCr gives the GPU what fits, behind a packet that
// shall call for the rest; if it looks again before the GPU has taken that one, it finds the queue
// full and no such packet, and ends the process. FADE may make several packets out of one.
// Whoever has reserved places therefore does not get to fill them before few enough packets wait.
#pragma once

#include "hsa/hsa_api.h"

#include <chrono>
#include <cstdint>

namespace fade {

/// So many packets may wait if some of them lie beyond the end of the ring.
inline constexpr uint64_t kMostAroundRingEnd = 256;

/// So many may wait in a queue of this size: what FADE makes of them fits into it.
constexpr uint64_t mostWaiting(uint32_t size) { return size / 8; }

/// Whether the places from `first` on may be filled when packets before `read` have been taken out.
constexpr bool mayFill(uint64_t first, uint64_t count, uint64_t read, uint32_t size) {
  if (first <= read) return true; // there is nothing to wait for
  const uint64_t ring_end = (read / size + 1) * size, waiting = first + count - read;
  return waiting <= mostWaiting(size) &&
         (first + count <= ring_end || waiting <= kMostAroundRingEnd);
}

/// The calling thread has reserved these places in a queue that FADE watches and will fill them
/// when this returns. Waits until it may, and rings the doorbell for those before it; gives up if
/// nothing is taken out for as long as `patience`.
void waitToFill(const hsa_queue_t *queue, uint64_t first, uint64_t count,
                std::chrono::milliseconds patience) noexcept;

} // namespace fade
