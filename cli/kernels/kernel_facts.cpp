#include "kernels/kernel_facts.h"

#include "fade/gpu.h"

namespace fade::report {
namespace {

Json occupancyOf(const codeobj::CodeObject &object, const codeobj::Kernel &kernel,
                 const codeobj::Launch &launch) {
  const auto o = codeobj::occupancy(object.target(), kernel, launch);
  if (!o) return {};
  return {{"waves", o->waves_per_simd},
          {"most", o->max_waves},
          {"limit", codeobj::to_string(o->limit)},
          {"by_vgprs", o->by_vgprs},
          {"by_sgprs", o->by_sgprs},
          {"by_lds", o->by_lds},
          {"by_workgroup", o->by_workgroup},
          {"workgroups", o->workgroups},
          {"waves_per_workgroup", o->waves_per_workgroup}};
}

Json mixOf(const codeobj::InstructionMix &mix) {
  Json units = Json::array();
  for (std::size_t i = 0; i < codeobj::kUnitCount; ++i) {
    const auto unit = static_cast<codeobj::Unit>(i);
    if (mix.count(unit) != 0) units.push_back({codeobj::to_string(unit), mix.count(unit)});
  }
  return units;
}

} // namespace

Json kernelFacts(const codeobj::CodeObject &object, const codeobj::Kernel &kernel,
                 const codeobj::KernelCode &code, const codeobj::Launch &launch) {
  const codeobj::KernelMetadata &m = kernel.metadata;
  const codeobj::KernelDescriptor &d = kernel.descriptor;
  Json facts = {{"compiler", object.compiler()},
                {"vgprs", d.vgprs},
                {"sgprs", d.sgprs},
                {"wave_size", d.wavefront_size},
                {"lds", d.group_segment_fixed_size},
                {"scratch", d.private_segment_fixed_size},
                {"arguments", d.kernarg_size},
                {"blocks", code.blocks.size()},
                {"mix", mixOf(code.mix)},
                {"occupancy", occupancyOf(object, kernel, launch)}};
  if (kernel.has_metadata) {
    facts["vgprs_used"] = m.vgpr_count;
    facts["agprs"] = m.agpr_count;
    facts["sgprs_used"] = m.sgpr_count;
    facts["vgpr_spills"] = m.vgpr_spill_count;
    facts["sgpr_spills"] = m.sgpr_spill_count;
    facts["largest_workgroup"] = m.max_flat_workgroup_size;
  }
  return facts;
}

Json peaksOf(std::string_view target) {
  const GpuInfo *gpu = findGpu(target);
  if (!gpu || gpu->card.memory_gb_per_s == 0 || gpu->rates.vector_f32 == 0) return {};
  const double per_rate = 1e6 * gpu->card.engine_mhz * gpu->card.compute_units;
  const GpuRates &rates = gpu->rates;
  const double bf16 = rates.matrix_bf16 != 0 ? rates.matrix_bf16 : rates.matrix_f16;
  return {{"card", gpu->card.name},
          {"bytes_per_s", 1e9 * gpu->card.memory_gb_per_s},
          {"vector",
           {{"f64", per_rate * rates.vector_f64},
            {"f32", per_rate * rates.vector_f32},
            {"f16", per_rate * rates.vector_f16}}},
          {"matrix",
           {{"f64", per_rate * rates.matrix_f64},
            {"f32", per_rate * rates.matrix_f32},
            {"f16", per_rate * rates.matrix_f16},
            {"bf16", per_rate * bf16},
            {"f8", per_rate * rates.matrix_f8}}}};
}

} // namespace fade::report
