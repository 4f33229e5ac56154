#include "stream/run_notes.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>

namespace fade {
namespace {

constexpr std::size_t kMostNames = 3;

/// Workgroups of one dimension that may be recorded.
struct Range {
  uint64_t first = 0, last = 0;
  uint64_t width() const { return last - first + 1; }
};

/// How many pairs of numbers 0 <= i < a and 0 <= j < b, both at most n, have (i + j) % n == t.
uint64_t countPairs(uint64_t a, uint64_t b, uint64_t n, uint64_t t) {
  uint64_t count = 0;
  for (const uint64_t sum : {t, t + n}) { // more they cannot be together
    const uint64_t from = sum - std::min(sum, b - 1), to = std::min(a - 1, sum);
    if (a != 0 && b != 0 && from <= to) count += to - from + 1;
  }
  return count;
}

/// How many workgroups have (x + y + z) % n == 0, as the device has it. Whole periods of the two
/// longer dimensions have one in n; what is left of them is counted for each of the shortest.
uint64_t countSampled(std::array<Range, 3> ranges, uint64_t n) {
  std::ranges::sort(ranges, std::greater(), &Range::width);
  const auto &[a, b, c] = ranges;
  constexpr uint64_t kMost = 1 << 20; // nothing ever had so many in each dimension
  if (c.width() > kMost) return a.width() / n * b.width() * c.width();
  const uint64_t rest_a = a.width() % n, rest_b = b.width() % n;
  const uint64_t whole = a.width() / n * b.width() + b.width() / n * rest_a;
  uint64_t count = 0;
  for (uint64_t at = c.first; at <= c.last; ++at) {
    const uint64_t first_sum = (a.first % n + b.first % n + at % n) % n;
    count += whole + countPairs(rest_a, rest_b, n, (n - first_sum) % n);
  }
  return count;
}

std::string nameList(const std::vector<std::string> &names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMostNames; ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMostNames) text += fmt::format(" and {} more", names.size() - kMostNames);
  return text;
}

} // namespace

WorkgroupCounts countWorkgroups(const fade_dispatch &dispatch, const WorkgroupFilter &filter) {
  WorkgroupCounts counts{1, 0};
  std::array<Range, 3> ranges;
  bool is_empty = false;
  for (std::size_t i = 0; i < 3; ++i) {
    const uint64_t size = std::max<uint64_t>(dispatch.workgroup[i], 1);
    const uint64_t groups = (std::max<uint64_t>(dispatch.grid[i], 1) + size - 1) / size;
    counts.all *= groups;
    ranges[i] = {filter.first[i], std::min<uint64_t>(filter.last[i], groups - 1)};
    is_empty = is_empty || ranges[i].first > ranges[i].last;
  }
  if (is_empty) return counts;
  counts.recorded = filter.sample > 1 ? countSampled(ranges, filter.sample)
                                      : ranges[0].width() * ranges[1].width() * ranges[2].width();
  return counts;
}

std::vector<std::string> samplingNotes(const WorkgroupFilter &filter,
                                       const WorkgroupCounts &workgroups) {
  std::vector<std::string> notes;
  if (!filter.wantsAllWorkgroups()) {
    WorkgroupFilter range = filter;
    range.sample = 1;
    const bool is_ranged = !range.wantsAllWorkgroups();
    const std::string sample = filter.sample > 1 ? fmt::format("one in {}", filter.sample) : "";
    notes.push_back(fmt::format("Accesses and blocks cover {} of {} workgroups ({}{}{}); "
                                "their counts are not scaled",
                                workgroups.recorded, workgroups.all,
                                is_ranged ? "--workgroups" : "",
                                is_ranged && !sample.empty() ? ", " : "", sample));
  }
  if (filter.sample_executions > 1)
    notes.push_back(fmt::format("Accesses cover one execution in {} of each site; their "
                                "counts are not scaled",
                                filter.sample_executions));
  return notes;
}

std::vector<std::string> automaticNotes(const WorkgroupCounts &dispatches,
                                        const WorkgroupCounts &workgroups) {
  if (workgroups.recorded >= workgroups.all) return {};
  return {fmt::format("Sampled: {} of {} workgroups were recorded, in {} of {} dispatches; "
                      "--exact records all",
                      workgroups.recorded, workgroups.all, dispatches.recorded, dispatches.all)};
}

std::optional<std::string> hintFor(const Wishes &wishes, const Outcome &outcome) {
  if (outcome.kernels.empty() && wishes.lacks_queues && wishes.lacks_queues())
    return "FADE saw no queue, although kernels were loaded: the application launched none of "
           "them, or its ROCr creates queues in a way unknown to this FADE (fadeprobe -v shows "
           "what is unknown; fadeprobe doctor, the versions)";
  if (outcome.kernels.empty())
    return wishes.instrumented
               ? std::optional("the application ran no kernels: there is nothing to analyze")
               : std::nullopt;
  if (!wishes.kernels.empty() && wishes.wants_kernel &&
      std::ranges::none_of(outcome.kernels, wishes.wants_kernel))
    return fmt::format("--kernels '{}' matches none of the kernels that ran: {}", wishes.kernels,
                       nameList(outcome.kernels));
  if (wishes.instrumented && outcome.instrumented == 0 && !outcome.lacks_twins &&
      !wishes.library_filter.empty())
    return fmt::format("--library-filter '{}' chooses none of the kernels that ran: {}",
                       wishes.library_filter, nameList(outcome.kernels));
  if (wishes.instrumented && outcome.instrumented == 0 && outcome.lacks_twins)
    return "no kernel was instrumented: none of the selected kernels has an instrumented twin; "
           "compile "
           "the application with 'fadeprobe cc'";
  return std::nullopt;
}

} // namespace fade
