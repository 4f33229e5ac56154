// Launches that had to wait until there was room in their queue. Nothing records it, but it can be
// seen: a queue that holds as many operations as it ever does, a call that takes long to add one
// more, and operations that end meanwhile.
#pragma once

#include "analysis/host_events/event_reader.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace fade::profile {

class QueueRoom {
public:
  explicit QueueRoom(const host_trace::HostEvents &events);

  /// The operation whose end made room for this one, which a call has been about to submit since
  /// `since_ns`; nothing if it had not to wait. Both are indexes of operations.
  std::optional<uint32_t> awaited(uint32_t operation, uint64_t since_ns) const;

private:
  struct Queue {
    std::vector<uint64_t> submitted;                 ///< in order
    std::vector<std::pair<uint64_t, uint32_t>> ends; ///< in order, with the operations
    std::size_t most = 0;                            ///< that were under way at a time
  };
  using Key = std::pair<uint32_t, uint32_t>; ///< process and queue
  /// How many were under way at that moment, or had ended by then.
  static std::size_t underWay(const Queue &queue, uint64_t ns);
  static std::size_t ended(const Queue &queue, uint64_t ns);

  const host_trace::HostEvents &events_;
  std::map<Key, Queue> queues_;
};

} // namespace fade::profile
