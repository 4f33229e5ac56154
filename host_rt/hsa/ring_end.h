// Packets that wait around the end of a queue's ring.
//
// ROCr since 7.1 gives all packets that wait in a queue to a tool at once. Since 7.2 it copies
// those that lie around the end of the ring into a buffer of 256 packets first, however many they
// are: what lies behind the buffer is overwritten, and the process dies somewhere else
// (ROCm/rocm-systems#5071). HIP 7 rings the doorbell late, so that hundreds of packets do wait.
// Whoever has reserved places beyond the end of the ring therefore does not get to fill them before
// few enough packets wait.
#pragma once

#include "hsa/hsa_api.h"

#include <chrono>
#include <cstdint>

namespace fade {

/// So many packets may wait if some of them lie beyond the end of the ring.
inline constexpr uint64_t kMostAroundRingEnd = 256;

/// Whether the places from `first` on may be filled when packets before `read` have been taken out.
constexpr bool mayFill(uint64_t first, uint64_t count, uint64_t read, uint32_t size) {
  const uint64_t ring_end = (read / size + 1) * size;
  return first + count <= ring_end || first + count <= read + kMostAroundRingEnd;
}

/// The calling thread has reserved these places in a queue that FADE watches and will fill them
/// when this returns. Waits until it may, and rings the doorbell for those before it; gives up if
/// nothing is taken out for as long as `patience`.
void waitToFill(const hsa_queue_t *queue, uint64_t first, uint64_t count,
                std::chrono::milliseconds patience) noexcept;

} // namespace fade
