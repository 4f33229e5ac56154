// A GPU as the roofline and the time model take it: rates and latencies of one card.
//
// Rates come from the table of GPUs (fade/gpu.h), or from `fadeprobe peaks`, which measured them.
// What the table does not have stands in gpu_model.cpp, each with its reason.
#pragma once

#include "codeobj/instruction.h"
#include "fade/gpu.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace fade::profile {

/// What `fadeprobe peaks` measured: per second, of the whole card. 0: not measured.
struct MeasuredPeaks {
  std::string target, card, date;
  double memory = 0, l2 = 0, l1 = 0, lds = 0; ///< bytes
  double f64 = 0, f32 = 0, f16 = 0;           ///< operations of vectors
  double matrix_f16 = 0;
  double launch_ns = 0; ///< of an empty kernel
};

struct GpuModel {
  std::string target;       ///< of the kernels
  std::string card;         ///< whose rates these are
  bool is_stand_in = false; ///< the table has no card of that processor: these are another one's
  bool is_measured = false; ///< by peaks, as far as it measures
  double clock_hz = 0;
  uint32_t units = 1, simds = 4, waves_per_simd = 8, smallest_wave = 64;
  uint32_t simd_lanes = 16; ///< that a SIMD works on in a cycle

  // Cycles of the unit that does it, for one instruction of a wave.
  double issue_cycles = 4;   ///< between two instructions of a wave
  double f64_factor = 1;     ///< instructions on f64 take so many times those on f32
  double slow_factor = 4;    ///< and so do those that have a quarter of the rate
  double salu_per_cycle = 1; ///< of a compute unit
  // Operations of a compute unit per cycle, by NumberType.
  std::array<double, 7> vector_rate{}, matrix_rate{};
  double lds_bytes_per_cycle = 128; ///< of a compute unit
  double l1_bytes_per_cycle = 64;
  double l2_bytes_per_cycle = 64; ///< to a compute unit
  double l2_lines_per_cycle = 1;  ///< of the whole GPU: one for each channel
  double cache_bytes = 0;         ///< of L2 and what is behind it, of the whole GPU
  double memory_bytes_per_s = 0;
  uint32_t l1_line = 64, address_lanes = 16; ///< addresses that are looked at in a cycle
  // Cycles until what was asked for is there.
  double lds_latency = 64, scalar_latency = 200, l1_latency = 120, l2_latency = 260,
         memory_latency = 700;
  double launch_ns = 2000; ///< beginning and end of a dispatch

  /// Per second, of the whole card.
  double vectorPeak(codeobj::NumberType type) const; ///< with packed or dual instructions
  double plainPeak(codeobj::NumberType type) const;  ///< with one value in each lane
  double matrixPeak(codeobj::NumberType type) const;
  double bytesPeak(double per_unit_cycle) const { return per_unit_cycle * units * clock_hz; }

  static GpuModel of(std::string_view target);
  void use(const MeasuredPeaks &peaks);
};

} // namespace fade::profile
