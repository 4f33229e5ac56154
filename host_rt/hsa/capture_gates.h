// Packets and signals of which gates, marks and doors are made (capture_session.h).
#pragma once

#include "hsa/hsa_api.h"
#include "hsa/packet_header.h"
#include "hsa/packet_rewrite.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace fade::gates {

inline constexpr auto kPoll = std::chrono::microseconds(50);

inline bool isReached(hsa_signal_t signal) {
  return hsaApi().core.hsa_signal_load_scacquire_fn(signal) <= 0;
}
inline void open(hsa_signal_t signal) { hsaApi().core.hsa_signal_store_screlease_fn(signal, 0); }

inline DispatchPacket barrier(hsa_signal_t waits_for, hsa_signal_t completes) {
  hsa_barrier_and_packet_t packet{};
  packet.header = asFence(HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE);
  packet.dep_signal[0] = waits_for;
  packet.completion_signal = completes;
  DispatchPacket out;
  std::memcpy(&out, &packet, sizeof out);
  return out;
}

/// A barrier that waits for signals and comes after all before it.
inline bool isWaiting(const DispatchPacket &packet) {
  if (typeOf(packet) != HSA_PACKET_TYPE_BARRIER_AND && typeOf(packet) != HSA_PACKET_TYPE_BARRIER_OR)
    return false;
  hsa_barrier_and_packet_t waiting;
  std::memcpy(&waiting, &packet, sizeof waiting);
  return (packet.header >> HSA_PACKET_HEADER_BARRIER & 1) != 0 &&
         std::ranges::any_of(waiting.dep_signal, [](hsa_signal_t s) { return s.handle != 0; });
}

} // namespace fade::gates
