// One dispatch packet that is to run another kernel than the application's: a twin, another
// version, or the kernel itself while the software GPU writes its records. Where that cannot be,
// the packet stays as it is, and the report says why.
#pragma once

#include "dispatch/residency.h"
#include "hsa/allocations.h"
#include "hsa/instrumentation.h"
#include "hsa/live_dispatch.h"
#include "hsa/packet_shape.h"
#include "hsa/queue_registry.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fade {

/// What swapping kernels needs. All of it outlives every queue.
struct SwapServices {
  Instrumentation &instrumentation;
  KernelRegistry &registry;
  AllocationTable &allocations;
  const DeathWatch *deaths; ///< null: none is explained
};

class KernelSwap {
public:
  KernelSwap(const SwapServices &services, const QueueState &queue, DispatchPacket &packet,
             const DispatchShape &shape, const std::shared_ptr<KernelEntry> &kernel)
      : services_(services), instrumentation_(services.instrumentation), queue_(queue),
        packet_(packet), shape_(shape), kernel_(kernel) {}

  /// `ordinal`: of the dispatch among those of the kernel.
  void run(HsaDispatch &live, uint64_t ordinal);

private:
  uint64_t expectedBytes() const;
  bool readArguments();
  void addMemory(DispatchRecord &record) const;
  bool isCooperative(const Replacement &choice) const;
  std::optional<Residency> residency(const Replacement &choice) const;
  void skip(const std::string &reason) const;
  bool countsBySite(const KernelInfo &kernel) const;
  CounterRoom roomForSums(const DispatchRecord &record, const Replacement &choice) const;
  bool instrument(HsaDispatch &live, const Replacement &choice);
  bool observe(HsaDispatch &live);
  bool exchange(HsaDispatch &live, const Replacement &choice);

  const SwapServices &services_;
  Instrumentation &instrumentation_;
  const QueueState &queue_;
  DispatchPacket &packet_;
  const DispatchShape &shape_;
  const std::shared_ptr<KernelEntry> &kernel_;
  std::vector<uint8_t> arguments_; ///< a copy of the application's block, once it was read
};

} // namespace fade
