// What a kernel asks of the host, read out of memory that the kernel may write at any time: each
// word is read once, and what was checked is what is used.
#pragma once

#include "base/address_space.h"

#include <cstdint>
#include <optional>

namespace fade::replay {

// As the device library has them.
struct HostcallBuffer {
  uint64_t headers, payloads, doorbell, free_stack, ready_stack, index_mask;
};
struct HostcallHeader {
  uint64_t next, lanes;
  uint32_t service, control;
};
inline constexpr uint64_t kHostcallPayloadBytes = 64 * 64; // eight words of each lane

struct HostcallPacket {
  uint64_t next, lanes, payload; ///< payload: its address
  uint32_t service;
  uint32_t *control; ///< whose first bit is cleared when it has been answered
};

/// Nothing if the packet does not lie in memory of the kernel. `buffer`: a HostcallBuffer.
template <typename Buffer>
std::optional<HostcallPacket> readPacket(const sim::AddressSpace &space,
                                         const volatile Buffer &buffer, uint64_t packet) {
  const uint64_t index = packet & buffer.index_mask;
  const uint64_t at = buffer.headers + index * sizeof(HostcallHeader);
  if (at % alignof(HostcallHeader) != 0) return std::nullopt;
  auto *header = space.at<HostcallHeader>(at);
  if (!header) return std::nullopt;
  const volatile HostcallHeader &words = *header;
  const uint64_t payload = buffer.payloads + index * kHostcallPayloadBytes;
  return HostcallPacket{words.next, words.lanes, payload & ~uint64_t{7}, words.service,
                        &header->control};
}

} // namespace fade::replay
