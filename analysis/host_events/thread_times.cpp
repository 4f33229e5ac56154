#include "analysis/host_events/thread_times.h"

#include <algorithm>

namespace fade::host_trace {
namespace {

/// Of one thread, in order of start.
void nestThread(std::vector<Interval *> &all) {
  std::vector<Interval *> open;
  uint64_t last = 0;
  const auto after = [&](uint64_t time) { return last = std::max(time, last + 1); };
  const auto closeUntil = [&](uint64_t time) {
    while (!open.empty() && open.back()->end_ns <= time) {
      open.back()->end_ns = after(open.back()->end_ns);
      open.pop_back();
    }
  };
  for (Interval *interval : all) {
    closeUntil(interval->start_ns);
    if (!open.empty()) interval->end_ns = std::min(interval->end_ns, open.back()->end_ns);
    interval->start_ns = after(interval->start_ns);
    interval->end_ns = std::max(interval->end_ns, interval->start_ns);
    open.push_back(interval);
  }
  closeUntil(UINT64_MAX);
}

Range rangeOf(const Marker &begin, uint64_t end_ns, bool is_nested) {
  return {begin.thread, begin.time_ns,  end_ns,       begin.text,     begin.position,
          is_nested,    begin.is_named, begin.domain, begin.arguments};
}

/// Pairs the markers of one thread.
class ThreadRanges {
public:
  void push(const Marker &marker) { open_.push_back(marker); }
  Range pop(const Marker &marker, uint64_t recording_since) {
    if (open_.empty())
      return {marker.thread, recording_since, marker.time_ns, "", marker.position, true};
    const Marker begin = open_.back();
    open_.pop_back();
    return rangeOf(begin, marker.time_ns, true);
  }
  const std::vector<Marker> &open() const { return open_; }

private:
  std::vector<Marker> open_;
};

} // namespace

void makeNested(std::span<Interval> intervals) {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Interval *>> threads;
  for (Interval &interval : intervals)
    threads[{interval.thread.pid, interval.thread.tid}].push_back(&interval);
  for (auto &[thread, all] : threads) {
    std::ranges::sort(all, {}, [](const Interval *interval) {
      return std::pair(interval->start_ns, interval->order);
    });
    nestThread(all);
  }
}

uint64_t endOf(const HostEvents &events, uint32_t pid) {
  const auto known = events.ended_ns.find(pid);
  uint64_t last = known == events.ended_ns.end() ? 0 : known->second;
  for (const Call &call : events.calls)
    if (call.thread.pid == pid) last = std::max({last, call.start_ns, call.end_ns});
  for (const Marker &marker : events.markers)
    if (marker.thread.pid == pid) last = std::max(last, marker.time_ns);
  for (const Operation &operation : events.operations)
    if (operation.pid == pid) last = std::max(last, operation.end_ns);
  return last;
}

std::vector<Range> rangesOf(const HostEvents &events) {
  using events::MarkerKind;
  std::vector<Range> ranges;
  std::map<std::pair<uint32_t, uint32_t>, ThreadRanges> threads;
  std::map<std::pair<uint32_t, uint64_t>, Marker> started; // by process and number
  const auto since = [&](uint32_t pid, uint64_t before) {
    uint64_t time = before;
    for (const Switch &change : events.switches)
      if (change.pid == pid && change.is_on && change.time_ns <= before) time = change.time_ns;
    return time;
  };
  for (const Marker &marker : events.markers) {
    const uint32_t pid = marker.thread.pid;
    ThreadRanges &thread = threads[{pid, marker.thread.tid}];
    switch (marker.kind) {
    case MarkerKind::mark: ranges.push_back(rangeOf(marker, marker.time_ns, true)); break;
    case MarkerKind::push: thread.push(marker); break;
    case MarkerKind::pop: ranges.push_back(thread.pop(marker, since(pid, marker.time_ns))); break;
    case MarkerKind::start: started[{pid, marker.range}] = marker; break;
    case MarkerKind::stop:
      if (const auto at = started.find({pid, marker.range}); at != started.end()) {
        const Marker &begin = at->second;
        ranges.push_back(rangeOf(begin, marker.time_ns, false));
        started.erase(at);
      }
      break;
    }
  }
  const auto close = [&](const Marker &begin, bool is_nested) {
    ranges.push_back(rangeOf(begin, endOf(events, begin.thread.pid), is_nested));
  };
  for (const auto &[thread, open] : threads)
    for (const Marker &begin : open.open()) close(begin, true);
  for (const auto &[range, begin] : started) close(begin, false);
  std::ranges::sort(ranges, {},
                    [](const Range &range) { return std::pair(range.start_ns, range.position); });
  return ranges;
}

} // namespace fade::host_trace
