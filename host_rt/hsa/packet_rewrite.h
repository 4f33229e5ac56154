// Packets on their way from the application to the GPU: every dispatch is timed, and those that
// were asked for run another kernel.
#pragma once

#include "hsa/kernel_swap.h"
#include "hsa/live_dispatch.h"
#include "hsa/packet_shape.h"
#include "hsa/queue_registry.h"
#include "stream/collector.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace fade {

class Runtime;

/// What passing packets on needs. All of it outlives every queue.
struct PacketServices {
  SwapServices swap;
  DispatchServices dispatch;
  Collector &collector;
  std::atomic<uint64_t> &dispatches; ///< counts them; their numbers

  static PacketServices of(Runtime &runtime);
};

/// Times and swaps what is to be timed and swapped; whatever goes wrong, a packet stays whole.
/// There may be more packets afterwards. `index`: of the first one in the application's queue.
void rewritePackets(const PacketServices &services, const std::shared_ptr<QueueState> &queue,
                    std::vector<DispatchPacket> &packets, uint64_t index);

} // namespace fade
