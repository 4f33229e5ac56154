// What a GPU is: one table for everything that counts, models or describes.
//
// A row is a processor, as LLVM names it (gfx90a), with what its compute units have. Processors
// that were looked up also have a card: one product, the one that the software GPU says it is where
// there is one. Other products with the same processor differ in what GpuCard says, so on a real
// machine the runtime is to be asked for that.
//
// 0 stands for what is not known or not there. Add only what you can cite: gpu_table.h names the
// sources, and the few values that have none.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fade {

// What differs between generations in a compute unit.
struct GpuUnit {
  uint8_t smallest_wave = 0; ///< lanes; what HIP compiles for
  uint8_t largest_wave = 0;
  uint8_t simds = 0;
  uint8_t waves_per_simd = 0;
  uint16_t vgprs =
      0; ///< per lane of a SIMD, in waves of the smallest size; half as many in larger ones
  uint8_t vgpr_granule = 0;       ///< a wave gets a multiple of it; half of it in larger waves
  bool has_agprs = false;         ///< accumulation registers
  bool unified_registers = false; ///< which come out of the same file as the others
  uint16_t sgprs = 0;             ///< per SIMD; 0 where a wave always has all that it can name
  uint32_t lds_bytes = 0; ///< that a workgroup can have; from gfx10 on two compute units can be
                          ///< joined and have twice that
  uint16_t lds_banks = 0; ///< of 4 bytes each
  uint8_t workgroups = 0; ///< of more than one wave, at a time
  uint16_t line = 0;      ///< bytes of a cache line, as L2 and what is behind it move them
  bool writes_back_l2 =
      false; ///< before copies: the runtime makes what kernels wrote visible to copy engines
};

// Operations of a compute unit per clock; a multiply-add counts as two.
struct GpuRates {
  uint16_t vector_f64 = 0, vector_f32 = 0,
           vector_f16 = 0; ///< packed or dual where there is such a form
  uint16_t matrix_f64 = 0, matrix_f32 = 0, matrix_f16 = 0, matrix_bf16 = 0, matrix_f8 = 0,
           matrix_i8 = 0;
};

struct GpuCache {
  uint32_t kib = 0;
  uint32_t line = 0; ///< bytes
};

struct GpuCard {
  const char *name = ""; ///< as it is sold
  uint32_t compute_units = 0;
  uint32_t dies = 0;       ///< that have an L2 of their own
  uint32_t engine_mhz = 0; ///< highest clock of the compute units
  uint32_t memory_gib = 0;
  uint32_t memory_gb_per_s = 0; ///< 10^9 bytes
  GpuCache l1 = {};             ///< for vectors, of each compute unit; RDNA calls it L0
  GpuCache l2 = {};             ///< of each die
  GpuCache l3 = {};             ///< of all: Infinity Cache
};

struct GpuInfo {
  const char *name;    ///< gfx90a
  uint8_t elf_machine; ///< EF_AMDGPU_MACH, the low byte of e_flags
  uint8_t major, minor, stepping;
  bool has_sramecc, has_xnack; ///< settings that code can be compiled for
  const char *family;          ///< CDNA 2
  GpuUnit unit;
  GpuRates rates = {};
  GpuCard card = {};
  bool is_emulated = false; ///< there is a software GPU of that name

  constexpr bool isGeneric() const { return std::string_view(name).ends_with("-generic"); }
  /// As the driver writes it: 90010 for gfx90a.
  constexpr uint32_t targetVersion() const { return major * 10000u + minor * 100u + stepping; }
};

/// Where a processor is not in the table, or the table does not know.
inline constexpr uint32_t kUsualLine = 128, kUsualBanks = 32;

constexpr std::span<const GpuInfo> allGpus();

/// By name, without settings such as ":xnack-"; null if it is not in the table.
constexpr const GpuInfo *findGpu(std::string_view name) {
  for (const GpuInfo &gpu : allGpus())
    if (name == gpu.name) return &gpu;
  return nullptr;
}

} // namespace fade

#include "fade/gpu_table.h"
