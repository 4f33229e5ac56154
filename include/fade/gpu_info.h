// What is known of a GPU: the columns of the table in gpu_table.h. See gpu.h, which has all of it.
#pragma once

#include <cstdint>
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

  /// Of the clock that kernels read: it starts again at 0 behind them. Of a difference of two
  /// readings only these bits count; longer times cannot be told.
  constexpr uint32_t clockBits() const { return major == 11 ? 20 : 64; }
  constexpr bool isGeneric() const { return std::string_view(name).ends_with("-generic"); }
  /// As the driver writes it: 90010 for gfx90a.
  constexpr uint32_t targetVersion() const { return major * 10000u + minor * 100u + stepping; }
};

} // namespace fade
