#include "analysis/time_model.h"

#include "codeobj/occupancy.h"

#include <algorithm>
#include <cmath>

namespace fade::profile {
namespace {

using codeobj::Unit;

/// With the registers and LDS that it takes; as many as the GPU holds where they are not known.
ModelOccupancy occupancyOf(const KernelProfile &kernel, const GpuModel &gpu) {
  ModelOccupancy result;
  result.most = result.possible = gpu.waves_per_simd;
  result.limit = "waves";
  codeobj::OccupancyInput input;
  const GpuInfo *info = findGpu(kernel.target);
  if (kernel.registers) {
    const KernelRegisters &r = *kernel.registers;
    input.vgprs = info && info->unit.unified_registers ? (r.vgprs + 3) / 4 * 4 + r.agprs
                                                       : std::max(r.vgprs, r.agprs);
    input.sgprs = r.sgprs;
  }
  input.lds = kernel.lds_bytes;
  input.workgroup_size = std::max(kernel.workgroup_items, 1u);
  input.wavefront_size = kernel.wave_size;
  if (const auto target = codeobj::parseTarget(kernel.target))
    if (const auto o = codeobj::occupancy(*target, input)) {
      // Whole workgroups, which may be less than a wave for each SIMD.
      result.possible =
          static_cast<double>(std::max(o->workgroups * o->waves_per_workgroup, 1u)) / gpu.simds;
      result.most = o->max_waves;
      result.limit = codeobj::to_string(o->limit);
    }
  const double dispatches = std::max<double>(static_cast<double>(kernel.dispatches), 1);
  const double groups = std::max(static_cast<double>(kernel.workgroups) / dispatches, 1.0);
  const double waves = std::max(static_cast<double>(kernel.waves) / dispatches, 1.0);
  result.units = std::min<double>(groups, gpu.units);
  const double simds = result.units * gpu.simds;
  // A wave is on one SIMD: less than one of them on each means that some have none.
  result.resident = std::min<double>(result.possible, waves / simds);
  if (result.resident < result.possible) result.limit = "grid";
  result.rounds = std::max(std::ceil(waves / (simds * result.possible) - 1e-9), 1.0);
  return result;
}

/// Share of what scratch memory moves that caches cannot hold for all waves that run at a time.
double scratchBeyondCaches(const KernelProfile &kernel, const GpuModel &gpu,
                           const ModelTime &time) {
  const double waves = time.occupancy.units * gpu.simds * time.occupancy.resident;
  const double bytes = waves * kernel.wave_size * static_cast<double>(kernel.lane_scratch);
  return bytes <= 0 ? 0 : std::max(1 - gpu.cache_bytes / bytes, 0.0);
}

} // namespace

const char *nameOf(Limit limit) {
  static constexpr std::array<const char *, kLimits> kNames = {
      "vector ALU", "matrix", "scalar", "LDS", "L1", "L2", "memory", "atomics", "latency"};
  return kNames[static_cast<std::size_t>(limit)];
}

Limit ModelTime::longest() const {
  return static_cast<Limit>(std::max_element(ns.begin(), ns.end()) - ns.begin());
}

Limit ModelTime::longestUnit() const {
  static_assert(static_cast<std::size_t>(Limit::latency) + 1 == kLimits);
  return static_cast<Limit>(std::max_element(ns.begin(), ns.end() - 1) - ns.begin());
}

std::vector<WavesAt> wavesOverTime(const KernelProfile &kernel, const GpuModel &gpu,
                                   const ModelTime &time) {
  const double dispatches = std::max<double>(static_cast<double>(kernel.dispatches), 1);
  const double waves = static_cast<double>(kernel.waves) / dispatches;
  const ModelOccupancy &o = time.occupancy;
  const double room = o.units * gpu.simds * o.possible;
  std::vector<WavesAt> all;
  all.push_back({0, static_cast<int64_t>(std::min(waves, room))});
  // The last round has what is left.
  if (o.rounds > 1)
    all.push_back({time.busy() * (o.rounds - 1) / o.rounds,
                   static_cast<int64_t>(waves - room * (o.rounds - 1))});
  all.push_back({time.busy(), 0});
  return all;
}

ModelTime modelTime(const KernelProfile &kernel, const GpuModel &gpu) {
  ModelTime time;
  time.launch_ns = gpu.launch_ns;
  time.occupancy = occupancyOf(kernel, gpu);
  time.instructions = timelineOf(kernel, gpu);
  const double dispatches = std::max<double>(static_cast<double>(kernel.dispatches), 1);
  const double ns_per_cycle = 1e9 / gpu.clock_hz;
  const double units = time.occupancy.units;
  double valu = 0, matrix = 0, scalar = 0, branches = 0, addresses = 0, alone = 0, waiting = 0;
  for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
    const ProfiledInstruction &one = kernel.instructions[i];
    const InstructionTime &t = time.instructions[i];
    const auto executions = static_cast<double>(one.executions);
    switch (one.info.unit) {
    case Unit::Valu: valu += executions * t.busy; break;
    case Unit::Matrix: matrix += executions * t.busy; break;
    case Unit::Salu:
    case Unit::Smem: scalar += executions * t.busy; break;
    case Unit::Branch: branches += executions * t.busy; break;
    case Unit::Vmem: addresses += executions * t.busy; break;
    default: break;
    }
    alone += executions * (t.issue + t.waits);
    waiting += executions * t.waits;
  }
  const auto set = [&](Limit limit, double cycles) {
    time.ns[static_cast<std::size_t>(limit)] = cycles / dispatches * ns_per_cycle;
  };
  // A SIMD each for VALU and matrix instructions; the rest is of the whole compute unit.
  set(Limit::valu, valu / gpu.simds / units);
  set(Limit::matrix, matrix / gpu.simds / units);
  set(Limit::scalar, std::max(scalar, branches) / units); // branches have a unit beside it
  set(Limit::lds, std::max(static_cast<double>(kernel.lds_turns),
                           static_cast<double>(kernel.bytes.lds) / gpu.lds_bytes_per_cycle) /
                      units);
  const auto scratch = static_cast<double>(kernel.scratch_bytes);
  set(Limit::l1, std::max(addresses, (static_cast<double>(kernel.bytes.l1) + scratch) /
                                         gpu.l1_bytes_per_cycle) /
                     units);
  // What compute units can take, and what the channels of L2 can look up.
  set(Limit::l2, std::max(static_cast<double>(kernel.bytes.l2) / gpu.l2_bytes_per_cycle / units,
                          kernel.l2_lines / gpu.l2_lines_per_cycle));
  time.ns[static_cast<std::size_t>(Limit::memory)] =
      (static_cast<double>(kernel.bytes.dram) + scratch * scratchBeyondCaches(kernel, gpu, time)) /
      dispatches / gpu.memory_bytes_per_s * 1e9;
  set(Limit::atomics, static_cast<double>(kernel.hottest));
  const double waves = std::max<double>(static_cast<double>(kernel.waves), 1);
  time.wave_ns = alone / waves * ns_per_cycle;
  time.waiting_ns = waiting / waves * ns_per_cycle;
  // The last round takes as long as the busiest wave.
  time.ns[static_cast<std::size_t>(Limit::latency)] =
      (time.occupancy.rounds - 1 + std::max(kernel.longest_wave, 1.0)) * time.wave_ns;
  return time;
}

} // namespace fade::profile
