// What a packet in a queue is, and the grid of a dispatch in either of its two forms: HSA's own,
// and AMD's extended one (HIP uses it on gfx1250), a packet of the vendor that starts clusters of
// workgroups. Kernel, arguments, segments and completion signal are at the same places in both.
#pragma once

#include <hsa/hsa.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace fade {

/// As large as every other packet.
using DispatchPacket = hsa_kernel_dispatch_packet_t;
static_assert(sizeof(DispatchPacket) == 64);

/// hsa_amd_ext_kernel_dispatch_packet_t.
struct ExtendedDispatch {
  uint16_t header;
  uint8_t format, setup;
  uint16_t workgroup[3], reserved;
  uint32_t clusters_x;
  uint16_t clusters_y, clusters_z;
  uint8_t cluster_size[3], hint; ///< in workgroups
  uint32_t private_segment_size, group_segment_size;
  uint64_t kernel_object;
  void *kernarg_address;
  hsa_signal_t waits_for;
  hsa_signal_t completion_signal;

  static ExtendedDispatch of(const DispatchPacket &packet) {
    ExtendedDispatch extended;
    std::memcpy(&extended, &packet, sizeof extended);
    return extended;
  }
};
static_assert(sizeof(ExtendedDispatch) == sizeof(DispatchPacket));
static_assert(offsetof(ExtendedDispatch, private_segment_size) ==
                  offsetof(DispatchPacket, private_segment_size) &&
              offsetof(ExtendedDispatch, kernel_object) ==
                  offsetof(DispatchPacket, kernel_object) &&
              offsetof(ExtendedDispatch, completion_signal) ==
                  offsetof(DispatchPacket, completion_signal));

enum class PacketKind {
  dispatch,
  extended_dispatch,
  other,  ///< runs no kernel
  unknown ///< nobody here can tell
};

inline unsigned typeOf(const DispatchPacket &packet) {
  constexpr uint16_t mask = (1 << HSA_PACKET_HEADER_WIDTH_TYPE) - 1;
  return (packet.header >> HSA_PACKET_HEADER_TYPE) & mask;
}

/// Of a packet of the vendor.
inline unsigned formatOf(const DispatchPacket &packet) { return packet.setup & 0xff; }

inline PacketKind kindOf(const DispatchPacket &packet) {
  enum : unsigned { pm4 = 1, barrier_value = 2, extended = 3 };
  switch (typeOf(packet)) {
  case HSA_PACKET_TYPE_KERNEL_DISPATCH: return PacketKind::dispatch;
  case HSA_PACKET_TYPE_INVALID:
  case HSA_PACKET_TYPE_BARRIER_AND:
  case HSA_PACKET_TYPE_AGENT_DISPATCH:
  case HSA_PACKET_TYPE_BARRIER_OR: return PacketKind::other;
  case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
    if (formatOf(packet) == extended) return PacketKind::extended_dispatch;
    return formatOf(packet) == pm4 || formatOf(packet) == barrier_value ? PacketKind::other
                                                                        : PacketKind::unknown;
  default: return PacketKind::unknown;
  }
}

inline bool runsKernel(const DispatchPacket &packet) {
  const PacketKind kind = kindOf(packet);
  return kind == PacketKind::dispatch || kind == PacketKind::extended_dispatch;
}

/// In work-items.
struct DispatchShape {
  unsigned dimensions = 1;
  std::array<uint32_t, 3> grid{}, workgroup{};
  bool has_clusters = false; ///< of more than one workgroup

  uint64_t items() const { return uint64_t{grid[0]} * grid[1] * grid[2]; }
};

inline DispatchShape shapeOf(const DispatchPacket &packet) {
  constexpr unsigned mask = (1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_WIDTH_DIMENSIONS) - 1;
  DispatchShape shape;
  shape.workgroup = {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z};
  if (kindOf(packet) != PacketKind::extended_dispatch) {
    shape.dimensions = (packet.setup >> HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS) & mask;
    shape.grid = {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z};
    return shape;
  }
  const auto extended = ExtendedDispatch::of(packet);
  shape.dimensions = (extended.setup >> HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS) & mask;
  const uint32_t clusters[] = {extended.clusters_x, extended.clusters_y, extended.clusters_z};
  for (std::size_t i = 0; i < 3; ++i) {
    const uint64_t size = std::max<uint64_t>(extended.cluster_size[i], 1);
    shape.has_clusters = shape.has_clusters || size > 1;
    shape.grid[i] = static_cast<uint32_t>(
        std::min<uint64_t>(clusters[i] * size * shape.workgroup[i], UINT32_MAX));
  }
  return shape;
}

} // namespace fade
