#include "exec/residency.h"

#include "fade/gpu.h"

#include <algorithm>

namespace fade::sim {
namespace {

constexpr uint32_t lds_granule = 512; // bytes; of all GPUs that are emulated

uint32_t up_to(uint32_t n, uint32_t granule) { return (n + granule - 1) / granule * granule; }

} // namespace

Residency residency(const Arch &arch, const KernelLaunch &launch, uint32_t compute_units) {
  const GpuUnit &unit = arch.gpu->unit;
  const bool large_wave = launch.lanes() > unit.smallest_wave;
  // In WGP mode a workgroup has two compute units, with all that they have.
  const uint32_t joined = launch.joins_compute_units() ? 2 : 1;
  const uint32_t simds = unit.simds * joined;

  const uint32_t granule = large_wave ? unit.vgpr_granule / 2 : unit.vgpr_granule;
  const uint32_t vgprs = large_wave ? unit.vgprs / 2 : unit.vgprs;
  const uint32_t by_vgprs = vgprs / up_to(launch.allocated_vgprs(), granule);
  const uint32_t by_sgprs = unit.sgprs ? unit.sgprs / launch.allocated_sgprs() : UINT32_MAX;

  Residency r{UINT64_MAX, "", 0};
  auto limit = [&](uint64_t groups, const char *by) {
    if (groups < r.groups) r.groups = groups, r.limit = by;
  };
  r.waves_per_simd = std::min({uint32_t{unit.waves_per_simd}, by_vgprs, by_sgprs});
  const uint32_t waves = launch.waves_per_group();
  limit(uint64_t{unit.waves_per_simd} * simds / waves, "wave slots");
  limit(uint64_t{by_vgprs} * simds / waves, "vector registers");
  if (unit.sgprs) limit(uint64_t{by_sgprs} * simds / waves, "scalar registers");
  if (launch.lds_bytes())
    limit(unit.lds_bytes * joined / up_to(launch.lds_bytes(), lds_granule), "LDS");
  if (waves > 1) limit(unit.workgroups * joined, "workgroup slots");
  r.groups = std::max<uint64_t>(1, r.groups * std::max(1u, compute_units / joined));
  return r;
}

} // namespace fade::sim
