// race, between dispatches on different queues that nothing orders: they may run at the same time.
#pragma once

#include "checks/global_race.h"
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
};

class OverlapCheck {
public:
  static OverlapCheck &instance();

  /// Compares a dispatch with those that ended lately, and keeps it for those to come.
  void ended(EndedDispatch dispatch);
  /// A queue is gone, and with it what ran there: all of that is done.
  void forgetQueue(uint64_t queue);
  void compare(const EndedDispatch &now, const EndedDispatch &earlier) const;

private:
  static constexpr std::size_t kMost = 32;
  static constexpr uint64_t kMostBytes = uint64_t{512} << 20; ///< of shadows

  std::mutex mutex_;
  std::deque<std::shared_ptr<const EndedDispatch>> ended_;
  uint64_t bytes_ = 0;
};

} // namespace fade::checks
