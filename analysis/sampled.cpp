#include "analysis/sampled.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace fade::report {
namespace {

void scale(uint64_t &count, double factor) {
  count = static_cast<uint64_t>(std::llround(static_cast<double>(count) * factor));
}
template <typename... Counts> void scaleAll(double factor, Counts &...counts) {
  (scale(counts, factor), ...);
}
void scale(std::optional<uint64_t> &count, double factor) {
  if (count) scale(*count, factor);
}

/// What becomes of counts, of lines from memory, and of lines to memory.
struct Factors {
  double all = 1, fetched = 1, written = 1;
};

Factors factorsOf(const Kernel &kernel, uint64_t dispatches) {
  Factors factors;
  factors.all = static_cast<double>(kernel.workgroups) /
                static_cast<double>(std::max<uint64_t>(kernel.workgroups_recorded, 1));
  factors.fetched = factors.written = factors.all;
  double linear_in = 0, linear_out = 0, in = 0, out = 0, held = 0;
  for (const Kernel::Footprint &one : kernel.footprints) {
    // What is not in an allocation that is known has no size. All workgroups together reach a
    // little further than those that were recorded.
    const auto some = static_cast<double>(std::max<uint64_t>(kernel.workgroups_recorded, 1));
    const double reached = static_cast<double>(one.extent) * (some + 1) / some;
    double size = one.size == 0 ? HUGE_VAL : static_cast<double>(one.size);
    if (one.extent != 0 && one.size != 0) size = std::min(size, reached);
    const auto times = static_cast<double>(std::max<uint64_t>(dispatches, 1));
    const double fetched = static_cast<double>(one.fetched) * factors.all;
    const double written = static_cast<double>(one.written) * factors.all;
    const double once_in = std::min(fetched, size * times);
    const double once_out = std::min(written, size * times);
    linear_in += fetched, linear_out += written;
    in += once_in, out += once_out;
    held += std::min(size, (once_in + once_out) / times);
  }
  if (held > static_cast<double>(kernel.l2_bytes)) return factors;
  if (linear_in > 0) factors.fetched *= in / linear_in;
  if (linear_out > 0) factors.written *= out / linear_out;
  return factors;
}

/// Bytes that nobody used, of lines that are moved: what recorded workgroups left of a line, others
/// may use, who find it in L2. All together use as many times more bytes as they are more.
void scaleMoved(uint64_t &moved, uint64_t &useless, double factor, double all) {
  uint64_t used = moved - std::min(moved, useless);
  scale(used, all);
  scaleAll(factor, moved, useless);
  useless = std::min(useless, moved - std::min(moved, used));
}

void scaleAccess(Access &access, const Factors &factors) {
  scaleAll(factors.all, access.executions, access.lanes, access.slots, access.total_bytes,
           access.hottest, access.needed, access.used, access.wasted, access.conflicts,
           access.same_address, access.other_strides, access.irregular);
  scale(access.same_turns, factors.all);
  for (auto &[stride, executions] : access.strides) scale(executions, factors.all);
  CacheTraffic &cache = access.cache;
  uint64_t misses = cache.requests - std::min(cache.requests, cache.l1_hits + cache.l2_hits);
  scaleAll(factors.all, cache.requests, cache.l1_hits);
  scaleAll(factors.fetched, misses);
  scaleMoved(cache.fetched, cache.unused, factors.fetched, factors.all);
  scaleMoved(cache.written, cache.unwanted, factors.written, factors.all);
  cache.l2_hits = cache.requests - std::min(cache.requests, cache.l1_hits + misses);
}

void scaleFlow(Flow &flow, double factor) {
  for (auto &[id, block] : flow.blocks) {
    scaleAll(factor, block.executions, block.lanes);
    for (auto *count : {&block.divergent, &block.splits, &block.clocks}) scale(*count, factor);
  }
  for (Edge &edge : flow.edges) scaleAll(factor, edge.executions, edge.lanes);
}

void scaleCounts(KernelCounts &counts, double factor) {
  scaleAll(factor, counts.executions, counts.valu, counts.valu_lanes, counts.scratch_bytes);
  for (auto &[address, one] : counts.instructions) {
    scaleAll(factor, one.executions, one.lanes, one.flops, one.bytes);
    scale(one.taken, factor);
    scale(one.splits, factor);
  }
  for (auto &[unit, sum] : counts.mix) scaleAll(factor, sum.first, sum.second);
  for (auto *sums : {&counts.flops, &counts.bytes})
    for (auto &[name, count] : *sums) scale(count, factor);
}

/// By the kernel that a line belongs to; most belong to one.
void scaleLines(RunLog &log, const std::vector<Factors> &factors) {
  std::map<SourceLine, uint32_t> kernels;
  for (const auto &[kernel, counts] : log.counts)
    for (const auto &[address, one] : counts.instructions)
      kernels.emplace(SourceLine(one.file, one.line), kernel);
  for (const auto &[kernel, flow] : log.flows)
    for (const auto &[id, block] : flow.blocks)
      for (const SourceLine &line : block.lines) kernels.emplace(line, kernel);
  for (auto *lines : {&log.lines, &log.counted_lines})
    for (auto &[line, count] : *lines)
      if (const auto at = kernels.find(line); at != kernels.end())
        scaleAll(factors[at->second].all, count.executions, count.lanes, count.slots,
                 count.instructions);
}

} // namespace

bool hasEstimates(const RunLog &log) {
  return std::ranges::any_of(log.kernels, [](const Kernel &one) { return one.sample_error > 0; });
}

void scaleSampled(RunLog &log) {
  std::vector<uint64_t> dispatches(log.kernels.size()), recorded(log.kernels.size());
  for (const Dispatch &d : log.dispatches) {
    Kernel &kernel = log.kernels[d.kernel];
    kernel.workgroups += d.workgroups;
    kernel.workgroups_recorded += d.workgroups_recorded;
    ++dispatches[d.kernel];
    recorded[d.kernel] += d.workgroups_recorded != 0;
  }
  std::vector<Factors> factors;
  for (uint32_t k = 0; k < log.kernels.size(); ++k) {
    Kernel &kernel = log.kernels[k];
    const bool is_scaled =
        kernel.workgroups_recorded != 0 && kernel.workgroups_recorded < kernel.workgroups;
    factors.push_back(is_scaled ? factorsOf(kernel, dispatches[k]) : Factors());
    if (!is_scaled) continue;
    const auto some = static_cast<double>(kernel.workgroups_recorded);
    kernel.sample_error =
        std::sqrt((1 - some / static_cast<double>(kernel.workgroups)) / std::max(some, 1.0));
    scaleAll(factors.back().all, kernel.waves, kernel.wave_executions);
    scale(kernel.longest_waves, static_cast<double>(dispatches[k]) /
                                    static_cast<double>(std::max<uint64_t>(recorded[k], 1)));
  }
  for (Access &access : log.accesses) scaleAccess(access, factors[access.kernel]);
  for (auto &[kernel, flow] : log.flows) scaleFlow(flow, factors[kernel].all);
  scaleLines(log, factors);
  for (auto &[kernel, counts] : log.counts)
    if (!counts.by_blocks) scaleCounts(counts, factors[kernel].all); // those follow from the flow
  double error = 0;
  for (const Kernel &kernel : log.kernels) error = std::max(error, kernel.sample_error);
  for (std::string &note : log.notes)
    if (note.starts_with("Sampled: "))
      note +=
          fmt::format("; numbers are scaled to all, sums to within {:.0f} % (one standard error, "
                      "if workgroups differ by as much as they do on average)",
                      std::ceil(100 * error));
}

} // namespace fade::report
