#include "analysis/critical_path/queue_room.h"

#include <algorithm>

namespace fade::profile {
namespace {

constexpr std::size_t kFewest = 256;       ///< under way: queues have more places than that
constexpr std::size_t kNearlyAll = 9;      ///< tenths of the most
constexpr uint64_t kShortestWait = 10'000; ///< ns

bool isKnown(const host_trace::Operation &one) {
  return one.has_times && one.end_ns >= one.start_ns;
}

} // namespace

QueueRoom::QueueRoom(const host_trace::HostEvents &events) : events_(events) {
  for (uint32_t i = 0; i < events.operations.size(); ++i) {
    const host_trace::Operation &one = events.operations[i];
    if (!isKnown(one)) continue;
    Queue &queue = queues_[{one.pid, one.event.queue}];
    queue.submitted.push_back(one.event.submitted_ns);
    queue.ends.emplace_back(one.end_ns, i);
  }
  for (auto &[key, queue] : queues_) {
    std::ranges::sort(queue.submitted);
    std::ranges::sort(queue.ends);
    for (const uint64_t ns : queue.submitted)
      queue.most = std::max(queue.most, underWay(queue, ns));
  }
}

std::size_t QueueRoom::ended(const Queue &queue, uint64_t ns) {
  return static_cast<std::size_t>(
      std::ranges::upper_bound(queue.ends, ns, {}, [](const auto &x) { return x.first; }) -
      queue.ends.begin());
}

std::size_t QueueRoom::underWay(const Queue &queue, uint64_t ns) {
  const auto submitted = static_cast<std::size_t>(std::ranges::upper_bound(queue.submitted, ns) -
                                                  queue.submitted.begin());
  return submitted - std::min(submitted, ended(queue, ns));
}

std::optional<uint32_t> QueueRoom::awaited(uint32_t operation, uint64_t since_ns) const {
  const host_trace::Operation &one = events_.operations[operation];
  const uint64_t submitted_ns = one.event.submitted_ns;
  const auto at = queues_.find({one.pid, one.event.queue});
  if (at == queues_.end() || submitted_ns < since_ns + kShortestWait) return std::nullopt;
  const Queue &queue = at->second;
  if (queue.most < kFewest || underWay(queue, since_ns) * 10 < queue.most * kNearlyAll)
    return std::nullopt;
  const std::size_t before = ended(queue, submitted_ns);
  if (before == 0 || queue.ends[before - 1].first <= since_ns) return std::nullopt;
  return queue.ends[before - 1].second;
}

} // namespace fade::profile
