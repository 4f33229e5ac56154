#include "report/kernel_cost.h"

#include "report/alu_estimate.h"

#include <algorithm>

namespace fade::report {
namespace {

void addAlu(const RunLog &log, uint32_t kernel, KernelWork &work) {
  Alu alu = estimatedAlu(log, kernel);
  if (const auto counts = log.counts.find(kernel);
      counts != log.counts.end() && counts->second.valu != 0) {
    alu.executions = static_cast<double>(counts->second.valu);
    alu.lanes = static_cast<double>(counts->second.valu_lanes);
    alu.by_one_lane = 0;
    for (const auto &[address, one] : counts->second.instructions)
      if (one.text.starts_with("v_") && one.lanes == one.executions)
        alu.by_one_lane += static_cast<double>(one.executions);
    work.alu_is_counted = true;
  }
  if (work.alu_is_counted)
    work.scratch_bytes = static_cast<double>(log.counts.at(kernel).scratch_bytes);
  else
    work.scratch_bytes = alu.scratch_bytes;
  work.cost.knows_alu = alu.executions != 0;
  if (alu.executions != 0) work.by_one_lane = alu.by_one_lane / alu.executions;
  if (alu.executions != 0)
    work.idle_lanes = std::max(1 - alu.lanes / (alu.executions * work.wave_size), 0.0);
  work.cost.cycles[CostUnit::vector_alu] = work.perUnit(alu.executions / work.rates.valu_per_cycle);
}

void addDispatches(const RunLog &log, std::vector<KernelWork> &all) {
  std::vector<uint64_t> full(all.size()), present(all.size()); // waves if all were full; lanes
  for (const Dispatch &d : log.dispatches) {
    if (!d.has_memory && !log.counts.contains(d.kernel)) continue;
    KernelWork &work = all[d.kernel];
    uint64_t groups = 1, items = 1, lanes = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      const uint64_t size = std::max<uint64_t>(d.workgroup[i], 1);
      groups *= std::max<uint64_t>((d.grid[i] + size - 1) / size, 1);
      items *= size;
      lanes *= std::max<uint64_t>(d.grid[i], 1);
    }
    ++work.dispatches;
    full[d.kernel] += (lanes + work.wave_size - 1) / work.wave_size;
    present[d.kernel] += lanes;
    work.waves += groups * ((items + work.wave_size - 1) / work.wave_size);
    work.units += static_cast<double>(std::min<uint64_t>(groups, work.rates.units));
  }
  for (uint32_t k = 0; k < all.size(); ++k) {
    KernelWork &work = all[k];
    if (work.dispatches == 0) continue;
    work.units = std::max((work.units - 1) / static_cast<double>(work.dispatches), 1.0);
    if (full[k] == 0 || present[k] == 0 || work.waves == 0) continue;
    const auto waves = static_cast<double>(work.waves);
    work.filled = std::min(static_cast<double>(full[k]) / waves, 1.0);
    work.present = std::min(static_cast<double>(present[k]) / (waves * work.wave_size), 1.0);
  }
}

/// How many lanes its waves have: what was recorded knows, else it is the GPU's usual size.
void setWaveSizes(const RunLog &log, std::vector<KernelWork> &all) {
  for (uint32_t k = 0; k < all.size(); ++k)
    if (const GpuInfo *gpu = findGpu(log.kernels[k].target))
      all[k].wave_size = std::max<uint32_t>(gpu->unit.smallest_wave, 1);
  for (const Access &access : log.accesses)
    if (access.executions != 0 && access.slots != 0)
      all[access.kernel].wave_size =
          static_cast<uint32_t>(std::clamp<uint64_t>(access.slots / access.executions, 1, 64));
}

} // namespace

LinesOfL1 linesOfL1(const Access &access, const Kernel &kernel, const CostRates &rates) {
  const uint64_t parts = std::max<uint64_t>(kernel.line_size / rates.l1_line, 1);
  LinesOfL1 lines;
  lines.wanted = access.cache.is_known ? access.cache.requests : access.used * parts;
  lines.needed = std::min(lines.wanted, (access.total_bytes + rates.l1_line - 1) / rates.l1_line);
  return lines;
}

double missedShare(const Access &access) {
  if (access.cache.requests == 0) return 1;
  return 1 - static_cast<double>(access.cache.l1_hits) / static_cast<double>(access.cache.requests);
}

LinesOfL2 linesOfL2(const Access &access) {
  if (!access.cache.is_known || access.machine == "scalar") return {};
  const double missing = access.op == "load" ? missedShare(access) : 1;
  LinesOfL2 lines;
  lines.wanted = missing * static_cast<double>(access.used);
  lines.needed = std::min(lines.wanted,
                          static_cast<double>(access.used - std::min(access.wasted, access.used)));
  return lines;
}

std::vector<KernelWork> workOf(const RunLog &log) {
  std::vector<KernelWork> all(log.kernels.size());
  for (uint32_t k = 0; k < all.size(); ++k) all[k].rates = CostRates::of(log.kernels[k].target);
  setWaveSizes(log, all);
  addDispatches(log, all);
  for (const Access &access : log.accesses) {
    KernelWork &work = all[access.kernel];
    UnitCycles &cycles = work.cost.cycles;
    constexpr uint64_t kWidest = 16; // bytes of a lane that one instruction moves
    work.instructions += static_cast<double>(
        access.executions * std::max<uint64_t>((access.bytes + kWidest - 1) / kWidest, 1));
    if (access.is_lds) {
      // A turn delivers 128 bytes.
      const double turns = std::max(static_cast<double>(access.executions),
                                    static_cast<double>(access.total_bytes) / 128.0);
      cycles[CostUnit::lds] += work.perUnit(turns + static_cast<double>(access.conflicts));
      continue;
    }
    const LinesOfL1 lines = linesOfL1(access, log.kernels[access.kernel], work.rates);
    if (access.machine != "scalar")
      cycles[CostUnit::vector_memory] += work.perUnit(
          work.rates.vectorMemoryCycles(access.executions, work.wave_size, lines.wanted));
    if (access.op == "load" && access.machine != "scalar") {
      work.missed_loads +=
          static_cast<uint64_t>(missedShare(access) * static_cast<double>(access.executions));
    }
    cycles[CostUnit::l2] += linesOfL2(access).wanted / work.rates.l2_lines_per_cycle;
    if (access.cache.is_known) {
      work.cost.knows_caches = true;
      work.cost.bytes += access.cache.moved();
    }
    if (access.op == "atomic")
      cycles[CostUnit::atomics] =
          std::max(cycles[CostUnit::atomics], static_cast<double>(access.hottest));
  }
  for (uint32_t k = 0; k < all.size(); ++k) {
    all[k].cost.cycles[CostUnit::memory] = all[k].memoryCycles(all[k].cost.bytes);
    addAlu(log, k, all[k]);
  }
  return all;
}

} // namespace fade::report
