#include "host_trace/nesting.h"

#include <algorithm>
#include <tuple>

namespace fade::host_trace {
namespace {

constexpr uint32_t kOwnThread = 1; ///< ranges that overlap others are in threads of their own

} // namespace

void findParents(TraceLog &log) {
  const Nesting nesting(log);
  for (const Nesting::Item &item : nesting.items()) {
    if (!item.is_call) continue;
    for (auto at = item.parent; at; at = nesting.items()[*at].parent)
      if (nesting.items()[*at].is_call) {
        log.calls[item.index].parent = nesting.items()[*at].index;
        break;
      }
  }
}

uint64_t endOf(const TraceLog &log) {
  uint64_t last = 0;
  for (const LoggedCall &call : log.calls) last = std::max({last, call.start_ns, call.end_ns});
  for (const LoggedRange &range : log.ranges) last = std::max(last, range.end_ns);
  for (const LoggedOperation &operation : log.operations) last = std::max(last, operation.end_ns);
  return last;
}

Nesting::Nesting(const TraceLog &log) : of_call_(log.calls.size()), log_(log) {
  const uint64_t end = endOf(log);
  items_.reserve(log.calls.size() + log.ranges.size());
  for (std::size_t i = 0; i < log.calls.size(); ++i) {
    const LoggedCall &call = log.calls[i];
    const bool has_end = call.has_returned || call.is_name_only;
    items_.push_back({true, i, std::nullopt, 0, call.start_ns,
                      std::max(call.start_ns, has_end ? call.end_ns : end)});
  }
  for (std::size_t i = 0; i < log.ranges.size(); ++i) {
    const LoggedRange &range = log.ranges[i];
    items_.push_back(
        {false, i, std::nullopt, 0, range.start_ns, std::max(range.start_ns, range.end_ns)});
  }
  sort();
  nest();
}

void Nesting::sort() {
  const auto key = [&](const Item &item) {
    uint32_t pid = 0, tid = 0, own = 0;
    if (item.is_call) {
      pid = log_.calls[item.index].pid;
      tid = log_.calls[item.index].tid;
    } else {
      const LoggedRange &range = log_.ranges[item.index];
      pid = range.pid;
      tid = range.tid;
      own = range.is_nested ? 0 : kOwnThread;
    }
    return std::tuple(pid, tid, own, item.start_ns, UINT64_MAX - item.end_ns, item.is_call,
                      item.index);
  };
  std::ranges::sort(items_, {}, key);
}

void Nesting::nest() {
  const auto threadOf = [&](const Item &item) {
    if (item.is_call)
      return std::tuple(log_.calls[item.index].pid, log_.calls[item.index].tid, std::size_t{0});
    const LoggedRange &range = log_.ranges[item.index];
    return std::tuple(range.pid, range.tid, range.is_nested ? 0 : item.index + 1);
  };
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    Item &item = items_[i];
    if (item.is_call) of_call_[item.index] = i;
    if (i == 0 || threadOf(items_[i - 1]) != threadOf(item)) open.clear();
    while (!open.empty() && items_[open.back()].end_ns <= item.start_ns) open.pop_back();
    if (!open.empty()) {
      const Item &parent = items_[open.back()];
      item.parent = open.back();
      item.depth = parent.depth + 1;
      item.end_ns = std::min(item.end_ns, parent.end_ns);
    }
    open.push_back(i);
  }
}

} // namespace fade::host_trace
