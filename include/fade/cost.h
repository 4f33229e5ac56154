// What work costs, as a model: cycles of the units of a GPU, from counts and the table of GPUs.
//
// Each unit is taken for busy without a break, and all units for working at the same time: a kernel
// then takes as long as its busiest unit. That is a bound from below, not a prediction; what it is
// good for is to tell what matters from what does not. Rates that the table of GPUs does not have
// stand here, each with its reason.
#pragma once

#include "gpu.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace fade {

enum class CostUnit : uint8_t {
  vector_memory, ///< of each compute unit: addresses and lines of L1
  lds,           ///< of each compute unit: turns
  vector_alu,    ///< of each compute unit
  memory,        ///< bytes between L2 and what is behind it
  atomics,       ///< operations on one address, one after the other in L2
  latency,       ///< waiting for loads that too few waves are there to hide
  l2,            ///< lines that all compute units ask L2 for
};
inline constexpr std::array<const char *, 7> kCostUnitNames = {
    "vector memory", "LDS", "vector ALU", "memory", "atomics", "waiting", "L2"};

struct CostRates {
  uint32_t units = 1;            ///< compute units
  uint32_t l1_line = 64;         ///< bytes; L1 delivers one line per cycle
  uint32_t lanes_per_cycle = 16; ///< whose addresses are looked at: a quarter of a wave of 64 (GCN,
                                 ///< CDNA), a whole one of 32 (RDNA)
  double valu_per_cycle = 1; ///< instructions of a compute unit: four SIMDs take four cycles for a
                             ///< wave of 64; two take one for a wave of 32
  double memory_bytes_per_cycle = 1; ///< of the whole GPU
  double cache_bytes = 0;            ///< of L2 and what is behind it, of the whole GPU
  double l2_lines_per_cycle = 1;     ///< of the whole GPU: one for each channel
  uint32_t waves_per_unit = 32;      ///< at most
  uint32_t simds = 4;
  uint32_t latency = 500; ///< cycles of a load that L1 does not have; between what is measured for
                          ///< L2 (200 to 300) and for memory (600 to 900) on these GPUs
  uint32_t loads_under_way = 4; ///< of a wave at a time, where nothing says how many there are

  /// Of a processor; of an MI210 where the table has no card of it.
  static CostRates of(std::string_view target) {
    const GpuInfo *gpu = findGpu(target);
    if (!gpu || gpu->card.engine_mhz == 0 || gpu->card.memory_gb_per_s == 0)
      gpu = findGpu("gfx90a");
    CostRates rates;
    rates.units = std::max(gpu->card.compute_units, 1u);
    rates.l1_line = gpu->card.l1.line != 0 ? gpu->card.l1.line : kUsualLine;
    rates.lanes_per_cycle = gpu->unit.smallest_wave == 64 ? 16 : 32;
    rates.valu_per_cycle = gpu->unit.smallest_wave == 64 ? 1 : 2;
    rates.memory_bytes_per_cycle = 1000.0 * gpu->card.memory_gb_per_s / gpu->card.engine_mhz;
    rates.cache_bytes =
        1024.0 *
        (static_cast<double>(gpu->card.l2.kib) * std::max(gpu->card.dies, 1u) + gpu->card.l3.kib);
    // 32 channels in the 8 MiB of CDNA 2, 16 in the 4 MiB of each die of CDNA 3 and of RDNA 2.
    constexpr uint32_t kChannelKib = 256;
    rates.l2_lines_per_cycle =
        std::max(gpu->card.l2.kib * std::max(gpu->card.dies, 1u) / kChannelKib, 1u);
    rates.simds = std::max<uint32_t>(gpu->unit.simds, 1);
    rates.waves_per_unit = rates.simds * gpu->unit.waves_per_simd;
    return rates;
  }

  /// That loads of one wave take, one behind the other.
  double waitingCycles(double loads) const { return loads * latency / loads_under_way; }

  /// Of the vector memory of the compute units together, for executions of an access.
  double vectorMemoryCycles(uint64_t executions, uint32_t wave_size, uint64_t l1_lines) const {
    const double addresses =
        static_cast<double>(executions) * wave_size / static_cast<double>(lanes_per_cycle);
    return std::max(addresses, static_cast<double>(l1_lines));
  }
};

/// Cycles that each unit of the whole GPU is busy.
struct UnitCycles {
  std::array<double, kCostUnitNames.size()> cycles{};

  double &operator[](CostUnit unit) { return cycles[static_cast<std::size_t>(unit)]; }
  double operator[](CostUnit unit) const { return cycles[static_cast<std::size_t>(unit)]; }
  CostUnit busiest() const {
    return static_cast<CostUnit>(std::max_element(cycles.begin(), cycles.end()) - cycles.begin());
  }
  double most() const { return *std::max_element(cycles.begin(), cycles.end()); }
};

} // namespace fade
