#include "profile/counted_run.h"

#include "codeobj/demangle.h"
#include "fade/gpu.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace fade::profile {
namespace {

using codeobj::MemoryOperation;
using report::RunLog;

/// Of an access in the source, what the caches have of it.
struct Hits {
  uint64_t executions = 0, requests = 0, l2 = 0, memory = 0;

  void add(const report::Access &access) {
    const report::CacheTraffic &t = access.cache;
    executions += access.executions;
    requests += t.requests;
    l2 += t.l2_hits;
    memory += t.requests - std::min(t.requests, t.l1_hits + t.l2_hits);
  }
  /// It is there when the last of its lines is: one from memory is enough to wait for memory.
  void give(ProfiledInstruction &one) const {
    if (requests == 0) return;
    const auto times = static_cast<double>(std::max<uint64_t>(executions, 1));
    const double from_memory = std::min(static_cast<double>(memory) / times, 1.0);
    one.l2_hits = std::min(static_cast<double>(l2) / times, 1 - from_memory);
    one.l1_hits = 1 - from_memory - one.l2_hits;
  }
};
using Place =
    std::tuple<uint32_t, std::string, uint32_t, uint32_t, std::string>; ///< with the kernel

void addDispatches(const RunLog &log, std::vector<KernelProfile> &all) {
  for (const report::Dispatch &d : log.dispatches) {
    KernelProfile &kernel = all[d.kernel];
    if (d.ranAsCompiled() && !d.in_software && d.hasTimes()) {
      kernel.measured_ns =
          kernel.measured_ns.value_or(0) + static_cast<double>(*d.end_ns - *d.start_ns);
      ++kernel.measured_dispatches;
    }
    if (kernel.is_counted && d.variant != "observed" && !d.instrumented) continue;
    uint64_t groups = 1, items = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      const uint64_t size = std::max<uint64_t>(d.workgroup[i], 1);
      groups *= std::max<uint64_t>((d.grid[i] + size - 1) / size, 1);
      items *= size;
    }
    ++kernel.dispatches;
    kernel.workgroups += groups;
    kernel.waves += groups * ((items + kernel.wave_size - 1) / kernel.wave_size);
    kernel.workgroup_items =
        std::max(kernel.workgroup_items, static_cast<uint32_t>(std::min<uint64_t>(items, 1 << 16)));
    kernel.lds_bytes = std::max(kernel.lds_bytes, d.lds);
  }
  for (KernelProfile &kernel : all)
    if (kernel.measured_ns) *kernel.measured_ns /= static_cast<double>(kernel.measured_dispatches);
}

void addCounts(const report::KernelCounts &counts, KernelProfile &kernel) {
  kernel.is_counted = true;
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
    kernel.instructions.push_back(std::move(one));
  }
}

void addMemory(const RunLog &log, std::vector<KernelProfile> &all) {
  std::map<Place, Hits> places;
  std::map<uint32_t, Hits> kernels;
  for (const report::Access &access : log.accesses) {
    KernelProfile &kernel = all[access.kernel];
    if (access.is_lds) {
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
      continue;
    }
    if (access.op == "atomic") kernel.hottest = std::max(kernel.hottest, access.hottest);
    kernel.lines_used += access.used;
    kernel.lines_needed += access.needed;
    if (!access.cache.is_known) continue;
    const GpuInfo *gpu = findGpu(kernel.target);
    const uint64_t line = gpu && gpu->card.l1.line != 0 ? gpu->card.l1.line : kUsualLine;
    const report::CacheTraffic &t = access.cache;
    kernel.has_levels = true;
    kernel.bytes.l2 += (t.requests - std::min(t.requests, t.l1_hits)) * line;
    kernel.bytes.dram += t.moved();
    kernel.unused_bytes += t.useless();
    if (access.machine == "scalar") continue; // they have a cache of their own
    kernel.l1_requests += t.requests;
    kernel.bytes.l1 += t.requests * line;
    kernels[access.kernel].add(access);
    places[{access.kernel, access.file, access.line, access.column, access.op}].add(access);
  }
  // Twins that only count have no addresses: then everything comes from memory.
  for (KernelProfile &kernel : all)
    if (kernel.is_counted && !kernel.has_levels)
      kernel.bytes.l1 = kernel.bytes.l2 = kernel.bytes.dram = kernel.bytes.accessed;
  for (uint32_t k = 0; k < all.size(); ++k)
    for (ProfiledInstruction &one : all[k].instructions) {
      if (one.info.unit != codeobj::Unit::Vmem) continue;
      const auto at = places.find(
          {k, one.file, one.line, one.column, std::string(codeobj::to_string(one.info.memory))});
      if (at != places.end())
        at->second.give(one);
      else if (const auto of_kernel = kernels.find(k); of_kernel != kernels.end())
        of_kernel->second.give(one);
    }
}

/// How long kernels took that ran as they were compiled.
void addMeasured(const host_trace::HostEvents &events, std::vector<KernelProfile> &all) {
  std::map<std::string, std::pair<double, uint64_t>, std::less<>> by_name;
  for (const host_trace::Operation &one : events.operations) {
    if (!one.isKernel() || !one.has_times || one.end_ns < one.start_ns) continue;
    auto &[ns, count] =
        by_name[codeobj::demangle(std::string(events.textOf(one.pid, one.event.name)))];
    ns += static_cast<double>(one.end_ns - one.start_ns);
    ++count;
  }
  for (KernelProfile &kernel : all)
    if (const auto at = by_name.find(kernel.name); at != by_name.end()) {
      kernel.measured_ns = at->second.first / static_cast<double>(at->second.second);
      kernel.measured_dispatches = at->second.second;
    }
}

void addRegisters(const host_trace::HostEvents &events, std::vector<KernelProfile> &all) {
  std::map<std::string, KernelRegisters, std::less<>> by_name;
  for (const auto &[pid, process] : events.processes)
    for (const auto &[id, k] : process.kernels)
      by_name[codeobj::demangle(std::string(events.textOf(pid, id)))] = {
          k.vgprs, k.agprs, k.sgprs, k.spilled_vgprs, k.spilled_sgprs};
  for (KernelProfile &kernel : all) {
    auto at = by_name.find(kernel.name);
    if (at == by_name.end()) at = by_name.find(codeobj::demangle(kernel.symbol));
    if (at != by_name.end()) kernel.registers = at->second;
  }
}

} // namespace

std::vector<KernelProfile> kernelsOf(const RunLog &log, const host_trace::HostEvents *events,
                                     bool measures) {
  std::vector<KernelProfile> all(log.kernels.size());
  for (uint32_t k = 0; k < all.size(); ++k) {
    all[k].name = log.kernels[k].name;
    all[k].symbol = log.kernels[k].symbol;
    all[k].target = log.kernels[k].target;
    if (all[k].target.empty() && !log.runs.empty() && !log.runs[0].gpus.empty())
      all[k].target = log.runs[0].gpus[0].target;
    if (const GpuInfo *gpu = findGpu(all[k].target)) all[k].wave_size = gpu->unit.smallest_wave;
    if (const auto counts = log.counts.find(k); counts != log.counts.end())
      addCounts(counts->second, all[k]);
  }
  addDispatches(log, all);
  addMemory(log, all);
  if (events) addRegisters(*events, all);
  if (events && measures) addMeasured(*events, all);
  return all;
}

} // namespace fade::profile
