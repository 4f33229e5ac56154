#include "analysis/gpu_model.h"

#include "fade/cost.h"

#include <algorithm>

namespace fade::profile {
namespace {

using codeobj::NumberType;

constexpr std::size_t at(NumberType type) { return static_cast<std::size_t>(type); }

/// The card of a processor; where the table has none, the one of the nearest kin that has.
const GpuInfo *cardFor(const GpuInfo *gpu) {
  const auto has_card = [](const GpuInfo &g) {
    return g.card.engine_mhz != 0 && g.card.memory_gb_per_s != 0 && g.rates.vector_f32 != 0;
  };
  if (gpu && has_card(*gpu)) return gpu;
  if (gpu)
    for (const GpuInfo &kin : allGpus())
      if (has_card(kin) && kin.family == std::string_view(gpu->family)) return &kin;
  return findGpu("gfx90a");
}

} // namespace

GpuModel GpuModel::of(std::string_view target) {
  const GpuInfo *asked = findGpu(target.substr(0, target.find(':')));
  const GpuInfo &gpu = *cardFor(asked);
  const GpuUnit &unit = asked ? asked->unit : gpu.unit;
  const bool is_gcn = unit.smallest_wave == 64;
  GpuModel model;
  model.target = target;
  model.card = gpu.card.name;
  model.is_stand_in = asked != &gpu;
  model.clock_hz = 1e6 * gpu.card.engine_mhz;
  model.units = std::max(gpu.card.compute_units, 1u);
  model.simds = std::max<uint32_t>(unit.simds, 1);
  model.waves_per_simd = std::max<uint32_t>(unit.waves_per_simd, 1);
  model.smallest_wave = std::max<uint32_t>(unit.smallest_wave, 1);
  // GCN and CDNA: four SIMDs of 16 lanes, which take four cycles for a wave of 64. RDNA: two of 32.
  model.simd_lanes = is_gcn ? 16 : 32;
  // GCN begins one instruction of a wave every four cycles. On RDNA the result of one is there for
  // the next of the same wave after five.
  model.issue_cycles = is_gcn ? 4 : 5;
  // One scalar unit for all of a compute unit on GCN, one for each SIMD on RDNA.
  model.salu_per_cycle = is_gcn ? 1 : model.simds;
  // What SIMDs do with one f32 in each lane. The table's rate is that of packed or dual forms.
  const double plain = 2.0 * model.simds * model.simd_lanes;
  const GpuRates &rates = gpu.rates;
  model.vector_rate[at(NumberType::F32)] = std::max<double>(rates.vector_f32, plain);
  model.vector_rate[at(NumberType::F64)] = rates.vector_f64 != 0 ? rates.vector_f64 : plain / 16;
  model.vector_rate[at(NumberType::F16)] =
      rates.vector_f16 != 0 ? rates.vector_f16 : 2 * plain; // packed, two in a register
  model.vector_rate[at(NumberType::Bf16)] = model.vector_rate[at(NumberType::F16)];
  model.f64_factor = std::max(plain / model.vector_rate[at(NumberType::F64)], 1.0);
  model.matrix_rate[at(NumberType::F64)] = rates.matrix_f64;
  model.matrix_rate[at(NumberType::F32)] = rates.matrix_f32;
  model.matrix_rate[at(NumberType::F16)] = rates.matrix_f16;
  model.matrix_rate[at(NumberType::Bf16)] =
      rates.matrix_bf16 != 0 ? rates.matrix_bf16 : rates.matrix_f16;
  model.matrix_rate[at(NumberType::F8)] = rates.matrix_f8;
  model.matrix_rate[at(NumberType::Integer)] = rates.matrix_i8;
  model.memory_bytes_per_s = 1e9 * gpu.card.memory_gb_per_s;
  model.l1_line = gpu.card.l1.line != 0 ? gpu.card.l1.line : kUsualLine;
  model.l1_bytes_per_cycle = model.l1_line; // a line per cycle
  model.address_lanes = is_gcn ? 16 : 32;
  const CostRates shared = CostRates::of(gpu.name);
  model.l2_lines_per_cycle = shared.l2_lines_per_cycle;
  model.cache_bytes = shared.cache_bytes;
  return model;
}

void GpuModel::use(const MeasuredPeaks &peaks) {
  is_measured = true;
  if (!peaks.card.empty()) card = peaks.card;
  const double per_unit = units * clock_hz;
  const auto set = [&](double measured, double &rate) {
    if (measured > 0) rate = measured / per_unit;
  };
  if (peaks.memory > 0) memory_bytes_per_s = peaks.memory;
  set(peaks.l2, l2_bytes_per_cycle);
  set(peaks.l1, l1_bytes_per_cycle);
  set(peaks.lds, lds_bytes_per_cycle);
  set(peaks.f64, vector_rate[at(NumberType::F64)]);
  set(peaks.f32, vector_rate[at(NumberType::F32)]);
  set(peaks.f16, vector_rate[at(NumberType::F16)]);
  set(peaks.matrix_f16, matrix_rate[at(NumberType::F16)]);
  if (peaks.launch_ns > 0) launch_ns = peaks.launch_ns;
}

double GpuModel::vectorPeak(NumberType type) const {
  return vector_rate[at(type)] * units * clock_hz;
}

double GpuModel::plainPeak(NumberType type) const {
  return std::min(vectorPeak(type), 2.0 * simds * simd_lanes * units * clock_hz);
}

double GpuModel::matrixPeak(NumberType type) const {
  return matrix_rate[at(type)] * units * clock_hz;
}

} // namespace fade::profile
