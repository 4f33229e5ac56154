// The header of an AQL packet: its one place for changes to the scopes of its fences.
#pragma once

#include "hsa/hsa_api.h"

#include <cstdint>

namespace fade {

/// The same header, with fences that reach the whole system. What is there already has to go first:
/// none, agent and system are 0, 1 and 2, and 3, which agent and system together would be, is no
/// scope at all.
constexpr uint16_t withSystemScope(uint16_t header) {
  constexpr uint16_t scopes = ((1 << HSA_PACKET_HEADER_WIDTH_SCACQUIRE_FENCE_SCOPE) - 1)
                                  << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                              ((1 << HSA_PACKET_HEADER_WIDTH_SCRELEASE_FENCE_SCOPE) - 1)
                                  << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  constexpr uint16_t system = HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                              HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  return static_cast<uint16_t>((header & ~scopes) | system);
}

/// And it waits for all packets before it.
constexpr uint16_t asFence(uint16_t header) {
  return static_cast<uint16_t>(withSystemScope(header) | 1 << HSA_PACKET_HEADER_BARRIER);
}

} // namespace fade
