#include "analysis/measured_kernels.h"

#include "analysis/alu_estimate.h"
#include "fade/gpu.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace fade::profile {
namespace {

using codeobj::MemoryOperation;
using codeobj::Unit;
using report::Access;
using report::RunLog;

/// Of an access in the source, what the caches and LDS have of it.
struct Hits {
  uint64_t executions = 0, requests = 0, l2 = 0, memory = 0, extra_turns = 0;

  void add(const Access &access) {
    const report::CacheTraffic &t = access.cache;
    executions += access.executions;
    requests += t.requests;
    l2 += t.l2_hits;
    memory += t.requests - std::min(t.requests, t.l1_hits + t.l2_hits);
  }
  /// It is there when the last of its lines is: one from memory is enough to wait for memory.
  void give(ProfiledInstruction &one) const {
    const auto times = static_cast<double>(std::max<uint64_t>(executions, 1));
    one.extra_turns = static_cast<double>(extra_turns) / times;
    if (requests == 0) return;
    const double from_memory = std::min(static_cast<double>(memory) / times, 1.0);
    one.l2_hits = std::min(static_cast<double>(l2) / times, 1 - from_memory);
    one.l1_hits = 1 - from_memory - one.l2_hits;
  }
};
using Place = std::tuple<bool, std::string, uint32_t, uint32_t, std::string>; ///< first: of LDS

constexpr uint64_t kWidest = 16; ///< bytes of a lane that one instruction moves

uint64_t partsOf(const Access &access) {
  return std::max<uint64_t>((access.bytes + kWidest - 1) / kWidest, 1);
}

uint32_t l1LineOf(const KernelProfile &kernel) {
  const GpuInfo *gpu = findGpu(kernel.target);
  return gpu && gpu->card.l1.line != 0 ? gpu->card.l1.line : kUsualLine;
}

void addDispatches(const RunLog &log, std::vector<KernelProfile> &all) {
  for (const report::Dispatch &d : log.dispatches) {
    KernelProfile &kernel = all[d.kernel];
    if (d.ranAsCompiled() && !d.in_software && d.hasTimes()) {
      kernel.measured_ns =
          kernel.measured_ns.value_or(0) + static_cast<double>(*d.end_ns - *d.start_ns);
      ++kernel.measured_dispatches;
    }
    // Only those that were looked at: what was counted is a sum over them. Numbers of a sample
    // stand for all of its dispatches.
    const bool is_looked_at = kernel.is_counted ? d.is_observed || d.instrumented
                                                : kernel.accesses.empty() || d.has_memory;
    const bool is_sampled =
        kernel.is_counted ? log.is_sampled : log.kernels[d.kernel].workgroups_recorded != 0;
    if (!is_looked_at && !is_sampled) continue;
    uint64_t groups = 1, items = 1, lanes = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      const uint64_t size = std::max<uint64_t>(d.workgroup[i], 1);
      groups *= std::max<uint64_t>((d.grid[i] + size - 1) / size, 1);
      items *= size;
      lanes *= std::max<uint64_t>(d.grid[i], 1);
    }
    ++kernel.dispatches;
    kernel.workgroups += groups;
    kernel.items += lanes;
    kernel.waves += groups * ((items + kernel.wave_size - 1) / kernel.wave_size);
    kernel.workgroup_items =
        std::max(kernel.workgroup_items, static_cast<uint32_t>(std::min<uint64_t>(items, 1 << 16)));
    kernel.lds_bytes = std::max(kernel.lds_bytes, d.lds);
  }
  for (KernelProfile &kernel : all)
    if (kernel.measured_ns) *kernel.measured_ns /= static_cast<double>(kernel.measured_dispatches);
}

void addCounts(const report::KernelCounts &counts, KernelProfile &kernel) {
  kernel.is_counted = !counts.instructions.empty();
  kernel.by_blocks = counts.by_blocks;
  kernel.doubt = counts.doubt;
  kernel.wave_size = static_cast<uint32_t>(counts.wave_size);
  const auto flops = [&](const char *type) {
    const auto at = counts.flops.find(type);
    return at == counts.flops.end() ? 0 : at->second;
  };
  const auto bytes = [&](const char *way) {
    const auto at = counts.bytes.find(way);
    return at == counts.bytes.end() ? 0 : at->second;
  };
  kernel.flops = {flops("f64"), flops("f32"),    flops("f16"),    flops("bf16"),
                  flops("f8"),  flops("packed"), flops("matrix"), flops("matrix_integer")};
  kernel.bytes.accessed = bytes("loaded") + bytes("stored") + bytes("atomic");
  kernel.bytes.scalar = bytes("scalar_loaded");
  kernel.bytes.lds = bytes("lds_loaded") + bytes("lds_stored") + bytes("lds_atomic");
  kernel.scratch_bytes = counts.scratch_bytes;
  // Before gfx11 it may be reached through a descriptor, which code that clang makes has there.
  const auto isScratch = [&](const ProfiledInstruction &one) {
    return counts.scratch_bytes != 0 && one.info.space == codeobj::MemorySpace::Buffer &&
           one.text.find(" s[0:3],") != one.text.npos;
  };
  uint64_t alone = 0;
  for (const auto &[address, count] : counts.instructions) {
    ProfiledInstruction one;
    one.address = address;
    one.text = count.text;
    one.info = codeobj::classify(count.text);
    one.file = count.file;
    one.line = count.line;
    one.column = count.column;
    one.executions = count.executions;
    one.lanes = count.lanes;
    one.flops = count.flops;
    one.bytes = count.bytes;
    if (isScratch(one)) one.info.space = codeobj::MemorySpace::Scratch;
    if (one.info.unit == Unit::Valu && one.lanes == one.executions) alone += one.executions;
    kernel.instructions.push_back(std::move(one));
  }
  if (counts.valu != 0)
    kernel.by_one_lane = static_cast<double>(alone) / static_cast<double>(counts.valu);
}

/// What the code object says that it takes.
void addCode(const report::KernelCode &code, KernelProfile &kernel) {
  const GpuInfo *gpu = findGpu(kernel.target);
  const bool has_both = gpu && gpu->unit.unified_registers;
  KernelRegisters registers;
  registers.agprs = static_cast<uint32_t>(code.agprs);
  registers.vgprs = static_cast<uint32_t>(code.vgprs - (has_both ? code.agprs : 0));
  registers.sgprs = static_cast<uint32_t>(code.sgprs);
  registers.spilled_vgprs = static_cast<uint32_t>(code.spilled);
  kernel.registers = registers;
  kernel.lane_scratch = code.scratch;
}

/// Instructions of a kernel that nobody has counted: its accesses, four loads of a wave under way
/// at a time, and what the vector ALU does.
class Estimate {
public:
  explicit Estimate(KernelProfile &kernel) : kernel_(kernel) {}

  void add(const Access &access) {
    if (access.executions == 0) return;
    ProfiledInstruction one;
    one.text = access.is_lds ? "(LDS " + access.op + ")" : "(" + access.op + ")";
    one.info.unit = access.is_lds                ? Unit::Lds
                    : access.machine == "scalar" ? Unit::Smem
                                                 : Unit::Vmem;
    one.info.space = access.is_lds ? codeobj::MemorySpace::Lds : codeobj::MemorySpace::Global;
    one.info.memory = access.op == "load"    ? MemoryOperation::Load
                      : access.op == "store" ? MemoryOperation::Store
                                             : MemoryOperation::Atomic;
    one.info.width = static_cast<uint32_t>(std::min(access.bytes, kWidest));
    one.file = access.file;
    one.line = access.line;
    one.column = access.column;
    one.executions = access.executions * partsOf(access);
    one.lanes = access.lanes * partsOf(access);
    one.bytes = access.total_bytes;
    const bool is_awaited = access.op == "load";
    push(std::move(one));
    if (is_awaited) wait(access);
  }

  void addAlu(double executions, double lanes) {
    if (executions <= 0) return;
    ProfiledInstruction one;
    one.text = "(vector ALU)";
    one.info.unit = Unit::Valu;
    one.executions = static_cast<uint64_t>(executions);
    one.lanes = static_cast<uint64_t>(lanes);
    push(std::move(one));
  }

private:
  void wait(const Access &access) {
    constexpr uint64_t kUnderWay = 4;
    ProfiledInstruction one;
    one.text =
        access.is_lds || access.machine == "scalar" ? "s_waitcnt lgkmcnt(0)" : "s_waitcnt vmcnt(0)";
    one.info.unit = Unit::Wait;
    one.executions = (access.executions * partsOf(access) + kUnderWay - 1) / kUnderWay;
    push(std::move(one));
  }
  void push(ProfiledInstruction one) {
    one.address = 4 * kernel_.instructions.size();
    kernel_.instructions.push_back(std::move(one));
  }

  KernelProfile &kernel_;
};

/// Where there are no counts of instructions.
void estimate(const RunLog &log, uint32_t index, KernelProfile &kernel) {
  const auto counts = log.counts.find(index);
  report::Alu alu = report::estimatedAlu(log, index);
  if (counts != log.counts.end() && counts->second.valu != 0) {
    alu.executions = static_cast<double>(counts->second.valu);
    alu.lanes = static_cast<double>(counts->second.valu_lanes);
  } else if (alu.executions != 0) {
    kernel.by_one_lane = alu.by_one_lane / alu.executions;
  }
  if (kernel.accesses.empty() && alu.executions == 0) return;
  kernel.is_estimated = true;
  kernel.doubt = "its instructions were not counted; they are estimated from its accesses";
  Estimate instructions(kernel);
  for (const Access &access : kernel.accesses) instructions.add(access);
  instructions.addAlu(alu.executions, alu.lanes);
  // Scratch memory that nobody has counted: each lane stores and loads it once.
  if (kernel.lane_scratch != 0)
    kernel.scratch_bytes = static_cast<uint64_t>(alu.scratch_bytes.value_or(
        2.0 * static_cast<double>(kernel.waves * kernel.wave_size * kernel.lane_scratch)));
  for (const Access &access : kernel.accesses)
    (access.is_lds ? kernel.bytes.lds : kernel.bytes.accessed) += access.total_bytes;
}

void addLds(const Access &access, KernelProfile &kernel, Hits &hits) {
  const uint64_t turns = std::max(access.executions, (access.total_bytes + 127) / 128);
  // Atomic operations on one address take turns, too; where nobody has counted them, as many as
  // lanes share one on average.
  const uint64_t addresses = access.lanes - std::min(access.lanes, access.same_address);
  const uint64_t on_average = access.op == "atomic" && addresses != 0
                                  ? access.executions * access.same_address / addresses
                                  : 0;
  const uint64_t met = access.same_turns.value_or(on_average);
  kernel.lds_turns += turns + access.conflicts + met;
  kernel.lds_conflicts += access.conflicts + met;
  kernel.lds_same_address += met;
  hits.executions += access.executions;
  hits.extra_turns += access.conflicts + met;
}

void clearLevels(KernelProfile &kernel) {
  kernel.lds_turns = kernel.lds_conflicts = kernel.lds_same_address = 0;
  kernel.hottest = kernel.lines_used = kernel.lines_needed = kernel.l1_requests = 0;
  kernel.unused_bytes = 0;
  kernel.l2_lines = 0;
  kernel.bytes.l1 = kernel.bytes.l2 = kernel.bytes.dram = 0;
  kernel.has_levels = false;
}

/// What the busiest wave does, in average ones, if it is much more.
double longestWave(const report::Kernel &kernel, uint64_t dispatches) {
  if (kernel.waves == 0 || kernel.wave_executions == 0 || dispatches == 0) return 1;
  const double average =
      static_cast<double>(kernel.wave_executions) / static_cast<double>(kernel.waves);
  const double longest =
      static_cast<double>(kernel.longest_waves) / static_cast<double>(dispatches);
  // A few accesses more, as of the wave that stores a sum, say nothing about the rest of it.
  constexpr double kMany = 16;
  return longest < kMany || longest < 2 * average ? 1 : longest / average;
}

} // namespace

LinesOfL1 linesOfL1(const Access &access, uint32_t line_size, uint32_t l1_line) {
  const uint64_t parts = std::max<uint64_t>(line_size / std::max(l1_line, 1u), 1);
  LinesOfL1 lines;
  lines.wanted = access.cache.is_known ? access.cache.requests : access.used * parts;
  lines.needed = std::min(lines.wanted, (access.total_bytes + l1_line - 1) / l1_line);
  return lines;
}

double missedShare(const Access &access) {
  if (access.cache.requests == 0) return 1;
  return 1 - static_cast<double>(access.cache.l1_hits) / static_cast<double>(access.cache.requests);
}

void useAccesses(KernelProfile &kernel) {
  clearLevels(kernel);
  std::map<Place, Hits> places;
  Hits of_all;
  const uint32_t line = l1LineOf(kernel);
  for (const Access &access : kernel.accesses) {
    Hits &hits = places[{access.is_lds, access.file, access.line, access.column, access.op}];
    if (access.is_lds) {
      addLds(access, kernel, hits);
      continue;
    }
    if (access.op == "atomic") kernel.hottest = std::max(kernel.hottest, access.hottest);
    kernel.lines_used += access.used;
    kernel.lines_needed += access.needed;
    const bool is_scalar = access.machine == "scalar"; // they have a cache of their own
    if (!is_scalar) kernel.bytes.l1 += linesOfL1(access, kernel.line_size, line).wanted * line;
    if (!access.cache.is_known) continue;
    const report::CacheTraffic &t = access.cache;
    kernel.has_levels = true;
    kernel.bytes.l2 += (t.requests - std::min(t.requests, t.l1_hits)) * line;
    kernel.bytes.dram += t.moved();
    kernel.unused_bytes += t.useless();
    if (is_scalar) continue;
    kernel.l1_requests += t.requests;
    kernel.l2_lines +=
        (access.op == "load" ? missedShare(access) : 1) * static_cast<double>(access.used);
    of_all.add(access);
    hits.add(access);
  }
  // Twins that only count have no addresses: then everything comes from memory.
  if (!kernel.has_levels && kernel.is_counted) {
    kernel.bytes.l1 = std::max(kernel.bytes.l1, kernel.bytes.accessed);
    kernel.bytes.l2 = kernel.bytes.dram = kernel.bytes.accessed;
  }
  for (ProfiledInstruction &one : kernel.instructions) {
    const bool is_lds = one.info.unit == Unit::Lds;
    if (one.info.unit != Unit::Vmem && !is_lds) continue;
    one.l1_hits = one.l2_hits = one.extra_turns = 0;
    const auto at = places.find(
        {is_lds, one.file, one.line, one.column, std::string(codeobj::to_string(one.info.memory))});
    if (at != places.end() && at->second.executions != 0)
      at->second.give(one);
    else if (!is_lds)
      of_all.give(one);
  }
}

std::vector<KernelProfile> kernelsOf(const RunLog &log) {
  std::vector<KernelProfile> all(log.kernels.size());
  for (const Access &access : log.accesses) all[access.kernel].accesses.push_back(access);
  for (uint32_t k = 0; k < all.size(); ++k) {
    KernelProfile &kernel = all[k];
    kernel.name = log.kernels[k].name;
    kernel.symbol = log.kernels[k].symbol;
    kernel.target = log.kernels[k].target;
    kernel.module = log.kernels[k].module;
    kernel.line_size = log.kernels[k].line_size;
    if (kernel.target.empty() && !log.runs.empty() && !log.runs[0].gpus.empty())
      kernel.target = log.runs[0].gpus[0].target;
    if (const GpuInfo *gpu = findGpu(kernel.target)) kernel.wave_size = gpu->unit.smallest_wave;
    for (const Access &access : kernel.accesses)
      if (access.executions != 0 && access.slots != 0)
        kernel.wave_size =
            static_cast<uint32_t>(std::clamp<uint64_t>(access.slots / access.executions, 1, 64));
    if (const auto code = log.code.find(k); code != log.code.end()) addCode(code->second, kernel);
    if (const auto counts = log.counts.find(k); counts != log.counts.end())
      addCounts(counts->second, kernel);
  }
  addDispatches(log, all);
  for (KernelProfile &kernel : all) // each lane stores and loads it once, at least
    if (kernel.lane_scratch == 0 && kernel.scratch_bytes != 0)
      kernel.lane_scratch = kernel.scratch_bytes / 2 / std::max<uint64_t>(kernel.items, 1);
  for (uint32_t k = 0; k < all.size(); ++k) {
    if (!all[k].is_counted) estimate(log, k, all[k]);
    all[k].longest_wave = longestWave(log.kernels[k], all[k].dispatches);
    useAccesses(all[k]);
  }
  return all;
}

std::vector<ModeledKernel> modelOf(std::vector<KernelProfile> kernels,
                                   const std::vector<MeasuredPeaks> &peaks) {
  std::vector<ModeledKernel> all;
  for (KernelProfile &kernel : kernels) {
    ModeledKernel &one = all.emplace_back();
    one.counts = std::move(kernel);
    one.gpu = GpuModel::of(one.counts.target);
    const auto measured = std::ranges::find(peaks, one.counts.target, &MeasuredPeaks::target);
    if (measured != peaks.end()) one.gpu.use(*measured);
    if (one.isKnown()) one.time = modelTime(one.counts, one.gpu);
  }
  return all;
}

} // namespace fade::profile
