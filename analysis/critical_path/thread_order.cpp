#include "analysis/critical_path/thread_order.h"

#include <algorithm>

namespace fade::profile {

std::optional<std::size_t> ThreadOrder::gapAt(const Calls &calls, uint64_t ns) {
  const auto next = std::ranges::upper_bound(calls, ns, {}, &Span::start_ns);
  if (next != calls.begin() && std::prev(next)->end_ns >= ns) return std::nullopt;
  return next - calls.begin();
}

ThreadOrder::ThreadOrder(const host_trace::HostEvents &events) {
  std::map<Key, Calls> threads;
  for (const host_trace::Call &call : events.calls)
    if (call.parent == 0)
      threads[{call.thread.pid, call.thread.tid}].push_back(
          {call.start_ns, call.hasReturned() ? call.end_ns : UINT64_MAX});
  for (const auto &[thread, calls] : threads) {
    const uint64_t first = calls.front().start_ns, last = calls.back().end_ns;
    const Key *starter = nullptr;
    uint64_t since = UINT64_MAX;
    for (auto other = threads.lower_bound({thread.first, 0});
         other != threads.end() && other->first.first == thread.first; ++other) {
      if (other->first == thread) continue;
      const auto gap = gapAt(other->second, first);
      // The thread that `main` runs in, if it can be that one: it was there before its first call.
      // Of the others, which may be busy with something else, the first that made no call as long
      // as this one lived.
      const bool is_main = other->first.second == thread.first;
      const bool can_be =
          is_main || (gap && *gap != 0 && *gap != other->second.size() &&
                      gapAt(other->second, last) == gap && other->second.front().start_ns < since);
      if (!gap || !can_be) continue;
      starter = &other->first;
      since = is_main ? 0 : other->second.front().start_ns;
    }
    if (!starter) continue;
    starters_.emplace(thread, *starter);
    if (gapAt(threads[*starter], last)) awaited_[*starter].emplace_back(last, thread);
  }
  for (auto &[thread, all] : awaited_) std::ranges::sort(all);
}

std::optional<ThreadOrder::Key> ThreadOrder::starterOf(const Key &thread) const {
  const auto at = starters_.find(thread);
  return at == starters_.end() ? std::nullopt : std::optional(at->second);
}

std::vector<ThreadOrder::Key> ThreadOrder::awaited(const Key &thread, uint64_t from_ns,
                                                   uint64_t to_ns) const {
  std::vector<Key> found;
  const auto all = awaited_.find(thread);
  if (all == awaited_.end()) return found;
  auto at =
      std::ranges::upper_bound(all->second, from_ns, {}, [](const auto &x) { return x.first; });
  for (; at != all->second.end() && at->first < to_ns; ++at) found.push_back(at->second);
  return found;
}

} // namespace fade::profile
