// race, between dispatches, and between dispatches and copies, that nothing orders: they may run at
// the same time. memory: what ends, or is not there yet, while a dispatch or a copy may use it.
#pragma once

#include "checks/global_race.h"
#include "checks/memory_use.h"
#include "checks/queue_order.h"

#include <deque>
#include <memory>
#include <mutex>

namespace fade::checks {

/// A dispatch that has ended, with all that it touched.
struct EndedDispatch {
  std::shared_ptr<DispatchRaces> races;
  QueueTimes before; ///< what was done before it began
  uint64_t queue = 0, index = 0;
  StreamOrder::Ptr command; ///< the call of HIP that launched it; null: not known
};

class OverlapCheck {
public:
  static OverlapCheck &instance();

  /// Compares a dispatch with those that ended lately, and keeps it for those to come.
  void ended(EndedDispatch dispatch);
  /// A queue is gone, and with it what ran there: all of that is done.
  void forgetQueue(uint64_t queue);

  /// A call of HIP: compares it with all that is known, and keeps it for what is to come.
  void called(MemoryUse use);
  /// The last hipFreeAsync of these bytes; null: none.
  StreamOrder::Ptr lastFree(const std::vector<MemoryUse::Range> &bytes);

private:
  static constexpr std::size_t kMost = 32, kMostUses = 256;
  static constexpr uint64_t kMostBytes = uint64_t{512} << 20;     ///< of shadows
  static constexpr uint64_t kMostBytesAlone = uint64_t{64} << 20; ///< while there is one stream

  std::mutex mutex_;
  std::deque<std::shared_ptr<const EndedDispatch>> ended_;
  std::deque<std::shared_ptr<const MemoryUse>> uses_;
  uint64_t bytes_ = 0;
};

} // namespace fade::checks
