// Packets on their way from the application to the GPU: every dispatch is timed, and those that
// were asked for run another kernel.
#pragma once

#include "hsa/packet_shape.h"
#include "hsa/queue_registry.h"
#include "hsa/runtime.h"

#include <memory>
#include <vector>

namespace fade {

/// Times and swaps what is to be timed and swapped; whatever goes wrong, a packet stays whole.
/// There may be more packets afterwards. `index`: of the first one in the application's queue.
void rewritePackets(Runtime &runtime, const std::shared_ptr<QueueState> &queue,
                    std::vector<DispatchPacket> &packets, uint64_t index);

} // namespace fade
