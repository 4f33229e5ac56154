#include "analysis/changes.h"

#include "fade/gpu.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fade::profile {
namespace {

uint64_t scaled(uint64_t value, double factor) {
  return static_cast<uint64_t>(std::llround(static_cast<double>(value) * factor));
}

/// Accesses that a wave keeps at least when its work is shared out.
constexpr double kLeastAccesses = 4;

/// How many times as many workgroups there could be.
double spreadOf(const KernelProfile &kernel, const GpuModel &gpu) {
  const double groups = std::max(kernel.perDispatch(kernel.workgroups), 1.0);
  const double waves = std::max<double>(static_cast<double>(kernel.waves), 1);
  double accesses = 0;
  for (const report::Access &access : kernel.accesses)
    if (access.machine != "scalar") accesses += static_cast<double>(access.executions);
  // Workgroups can always be cut into waves; of what a wave does in a loop over memory, others can
  // do a part; what it computes step by step is its own.
  const double possible =
      std::max(waves / static_cast<double>(std::max<uint64_t>(kernel.workgroups, 1)),
               accesses / waves / kLeastAccesses);
  return std::max(std::min(gpu.units / groups, possible), 1.0);
}

} // namespace

void coalesce(report::Access &access, const KernelProfile &kernel, bool lines) {
  report::CacheTraffic &t = access.cache;
  if (lines) {
    const GpuInfo *gpu = findGpu(kernel.target);
    const uint32_t line = gpu && gpu->card.l1.line != 0 ? gpu->card.l1.line : kUsualLine;
    const uint64_t needed = linesOfL1(access, kernel.line_size, line).needed;
    if (t.is_known) {
      // Lines that are used again later are asked for once all the same.
      const uint64_t missed = std::min(t.requests - std::min(t.l1_hits, t.requests), needed);
      const uint64_t from_memory =
          std::min(t.requests - std::min(t.l1_hits + t.l2_hits, t.requests), missed);
      t.requests = std::min(t.requests, needed);
      t.l1_hits = t.requests - std::min(missed, t.requests);
      t.l2_hits = missed - from_memory;
    }
    access.used -= std::min(access.wasted, access.used);
    access.wasted = 0;
  }
  t.fetched -= std::min(t.fetched, t.unused);
  t.written -= std::min(t.written, t.unwanted);
  t.unused = t.unwanted = 0;
}

void fillLanes(KernelProfile &kernel) {
  const double present = kernel.presentShare();
  for (ProfiledInstruction &one : kernel.instructions) {
    if (one.executions == 0 || one.lanes == 0) continue;
    const double share = static_cast<double>(one.lanes) /
                         (static_cast<double>(one.executions) * kernel.wave_size * present);
    if (share < 1) one.executions = std::max<uint64_t>(scaled(one.executions, share), 1);
  }
}

void fillWaves(KernelProfile &kernel) {
  const double filled = kernel.presentShare();
  kernel.waves = std::max<uint64_t>(scaled(kernel.waves, filled), 1);
  for (ProfiledInstruction &one : kernel.instructions)
    if (one.executions != 0) one.executions = std::max<uint64_t>(scaled(one.executions, filled), 1);
}

void spreadWorkgroups(KernelProfile &kernel, const GpuModel &gpu) {
  const double times = spreadOf(kernel, gpu);
  const double of_group = static_cast<double>(kernel.waves) /
                          static_cast<double>(std::max<uint64_t>(kernel.workgroups, 1));
  const double cut = std::min(times, of_group), shared = times / cut;
  kernel.workgroups = scaled(kernel.workgroups, times);
  kernel.workgroup_items =
      std::max(static_cast<uint32_t>(scaled(kernel.workgroup_items, 1 / cut)), 1u);
  kernel.waves = scaled(kernel.waves, shared);
  kernel.items = scaled(kernel.items, shared);
}

bool leavesUnitsIdle(const ModeledKernel &kernel) {
  constexpr double kFew = 0.5; // of the compute units, as for the class
  return kernel.time.occupancy.units < kFew * kernel.gpu.units &&
         spreadOf(kernel.counts, kernel.gpu) > 1;
}

void keepInRegisters(KernelProfile &kernel) {
  for (ProfiledInstruction &one : kernel.instructions)
    if (one.info.space == codeobj::MemorySpace::Scratch) one.executions = one.lanes = 0;
  kernel.scratch_bytes = kernel.lane_scratch = 0;
}

void give(const Room &room, KernelProfile &kernel) {
  if (kernel.registers && room.vgprs != 0) {
    kernel.registers->vgprs = room.vgprs;
    kernel.registers->agprs = 0;
  }
  if (room.lds != 0) kernel.lds_bytes = room.lds;
}

std::optional<Room> moreRoom(const ModeledKernel &kernel) {
  const ModelOccupancy &now = kernel.time.occupancy;
  const KernelProfile &counts = kernel.counts;
  const bool by_registers = now.limit == "vgprs" && counts.registers;
  if (!by_registers && now.limit != "lds") return std::nullopt;
  std::vector<std::pair<double, Room>> tried; // times, from little changed to much
  if (by_registers) {
    const uint32_t taken = counts.registers->vgprs + counts.registers->agprs;
    for (const uint32_t vgprs : {256u, 168u, 128u, 96u, 84u, 80u, 72u, 64u, 48u, 40u, 32u, 24u})
      if (vgprs < taken) tried.push_back({0, {vgprs, 0, 0}});
  } else {
    for (const uint64_t part : {2u, 3u, 4u, 6u, 8u, 16u, 32u})
      tried.push_back({0, {0, std::max<uint64_t>(counts.lds_bytes / part, 1), 0}});
  }
  double best = kernel.time.busy();
  for (auto &[ns, room] : tried) {
    KernelProfile changed = counts;
    give(room, changed);
    const ModelTime time = modelTime(changed, kernel.gpu);
    ns = time.busy();
    room.waves = time.occupancy.possible;
    best = std::min(best, ns);
  }
  constexpr double kNearly = 1.05;
  for (const auto &[ns, room] : tried)
    if (best < kernel.time.busy() && ns <= kNearly * best) return room;
  return std::nullopt;
}

} // namespace fade::profile
