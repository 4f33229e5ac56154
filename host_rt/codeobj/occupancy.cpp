#include "codeobj/occupancy.h"

#include <algorithm>
#include <array>

namespace fade::codeobj {
namespace {

/// One block of hardware that a workgroup cannot leave: a CU, or in WGP mode a pair of them.
struct Processor {
  unsigned max_waves; ///< per SIMD
  unsigned simds;
  unsigned vgprs;        ///< per lane of a SIMD
  unsigned vgpr_granule; ///< a wave gets a multiple of it
  unsigned sgprs;        ///< per SIMD; 0 where they are never short
  uint64_t lds;
  unsigned workgroup_slots; ///< for workgroups of more than one wave, which need a barrier
};

std::optional<Processor> processorOf(const Target &target, unsigned wavefront_size, bool wgp_mode) {
  if (!target.gpu) return std::nullopt;
  const GpuUnit &unit = target.gpu->unit;
  Processor p{unit.waves_per_simd, unit.simds,     unit.vgprs,     unit.vgpr_granule,
              unit.sgprs,          unit.lds_bytes, unit.workgroups};
  if (wavefront_size > unit.smallest_wave) {
    p.vgprs /= 2;
    p.vgpr_granule /= 2;
  }
  if (wgp_mode && target.version.major >= 10) {
    p.simds *= 2;
    p.lds *= 2;
    p.workgroup_slots *= 2;
  }
  return p;
}

unsigned clampWaves(uint64_t waves, const Processor &p) {
  return static_cast<unsigned>(std::clamp<uint64_t>(waves, 1, p.max_waves));
}

unsigned divideUp(uint64_t a, unsigned b) { return static_cast<unsigned>((a + b - 1) / b); }

} // namespace

std::string_view to_string(OccupancyLimit limit) {
  static constexpr std::array<std::string_view, 5> kNames = {"waves", "vgprs", "sgprs", "lds",
                                                             "workgroup"};
  return kNames[static_cast<std::size_t>(limit)];
}

std::optional<Occupancy> occupancy(const Target &target, const OccupancyInput &input) {
  auto processor = processorOf(target, input.wavefront_size, input.wgp_mode);
  if (!processor || input.wavefront_size == 0) return std::nullopt;
  const Processor &p = *processor;
  Occupancy result;
  result.max_waves = p.max_waves;
  result.waves_per_workgroup = std::max(1u, divideUp(input.workgroup_size, input.wavefront_size));

  unsigned registers = std::max(1u, divideUp(input.vgprs, p.vgpr_granule)) * p.vgpr_granule;
  result.by_vgprs = clampWaves(p.vgprs / registers, p);
  result.by_sgprs =
      p.sgprs == 0 || input.sgprs == 0 ? p.max_waves : clampWaves(p.sgprs / input.sgprs, p);

  // Whole workgroups: first as many as the hardware can hold at all, then as many as have LDS.
  uint64_t slots = uint64_t(p.max_waves) * p.simds / result.waves_per_workgroup;
  if (result.waves_per_workgroup > 1) slots = std::min<uint64_t>(slots, p.workgroup_slots);
  slots = std::max<uint64_t>(slots, 1);
  uint64_t with_lds = std::max<uint64_t>(input.lds == 0 ? slots : p.lds / input.lds, 1);
  auto waves = [&](uint64_t groups) {
    return clampWaves(divideUp(groups * result.waves_per_workgroup, p.simds), p);
  };
  result.by_workgroup = waves(slots);
  result.by_lds = waves(std::min(slots, with_lds));

  unsigned by_registers = std::min(result.by_vgprs, result.by_sgprs);
  uint64_t with_registers =
      std::max<uint64_t>(uint64_t(by_registers) * p.simds / result.waves_per_workgroup, 1);
  const uint64_t waves_with_vgprs = uint64_t(p.vgprs / registers) * p.simds;
  result.fits = waves_with_vgprs >= result.waves_per_workgroup;
  result.workgroups = static_cast<unsigned>(std::min({slots, with_lds, with_registers}));
  result.waves_per_simd = std::min(waves(result.workgroups), std::max(by_registers, 1u));

  unsigned least = std::min({result.by_vgprs, result.by_sgprs, result.by_lds, result.by_workgroup});
  if (least == p.max_waves)
    result.limit =
        result.waves_per_simd < least ? OccupancyLimit::WorkgroupSize : OccupancyLimit::Waves;
  else if (result.by_vgprs == least)
    result.limit = OccupancyLimit::Vgprs;
  else if (result.by_sgprs == least)
    result.limit = OccupancyLimit::Sgprs;
  else
    result.limit =
        result.by_workgroup == least ? OccupancyLimit::WorkgroupSize : OccupancyLimit::Lds;
  return result;
}

OccupancyInput occupancyInput(const Kernel &kernel) {
  OccupancyInput input;
  const KernelMetadata &m = kernel.metadata;
  input.vgprs = kernel.has_metadata ? m.vgpr_count : kernel.descriptor.vgprs;
  input.sgprs = kernel.has_metadata ? m.sgpr_count : kernel.descriptor.sgprs;
  input.lds = kernel.descriptor.group_segment_fixed_size;
  input.wavefront_size = kernel.descriptor.wavefront_size;
  input.wgp_mode = kernel.descriptor.wgp_mode;
  input.workgroup_size = m.max_flat_workgroup_size != 0 ? m.max_flat_workgroup_size : 1024;
  if (m.reqd_workgroup_size) {
    const auto &size = *m.reqd_workgroup_size;
    uint64_t required = uint64_t(size[0]) * size[1] * size[2];
    if (required != 0 && required <= input.workgroup_size)
      input.workgroup_size = static_cast<unsigned>(required);
  }
  return input;
}

std::optional<Occupancy> occupancy(const Target &target, const Kernel &kernel,
                                   uint64_t dynamic_lds) {
  OccupancyInput input = occupancyInput(kernel);
  input.lds += dynamic_lds;
  return occupancy(target, input);
}

std::optional<Occupancy> occupancy(const Target &target, const Kernel &kernel,
                                   const Launch &launch) {
  OccupancyInput input = occupancyInput(kernel);
  input.lds = std::max(input.lds, launch.lds);
  if (launch.workgroup_size != 0)
    input.workgroup_size =
        static_cast<unsigned>(std::min<uint64_t>(launch.workgroup_size, input.workgroup_size));
  return occupancy(target, input);
}

} // namespace fade::codeobj
