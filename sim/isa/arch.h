// The architectures that the software GPU knows, and what differs between them in the instruction
// set.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fade {
struct GpuInfo; // fade/gpu.h
}

namespace fade::sim {

enum class Gfx : uint8_t {
  gfx90a,
  gfx942,
  gfx1030,
  gfx1100,
  gfx1151,
  gfx950,
  gfx1200,
  gfx1201,
  gfx908,
  gfx1150,
  gfx1152,
  gfx1153,
};

struct Arch {
  Gfx id;
  bool gfx9 = false;       // wave64 only, GCN encodings
  bool gfx94 = false;      // gfx942's and gfx950's scopes of memory accesses
  bool gfx10_up = false;   // wave32 and wave64, RDNA encodings
  bool gfx11 = false;      // gfx11's encodings and descriptors; gfx12 has most of them, too
  bool gfx115 = false;     // ... and what gfx11.5 adds to them: scalar floating point
  bool gfx12 = false;      // ... with memory instructions, waits, barriers and matrices of its own
  bool packed_ids = false; // work-item ids packed in v0
  bool architected_flat_scratch = false;
  bool ocp_fp8 = false;  // 8-bit floating point as OCP has it, not gfx942's own
  bool is_apu = false;   // has no memory of its own, uses the host's
  bool sram_ecc = false; // 16-bit loads write the whole register: what is not loaded is cleared

  // Its row in the table of GPUs, and what is often needed of it.
  const GpuInfo *gpu = nullptr;
  const char *name = nullptr; // as LLVM's -mcpu
  uint32_t lds_bytes = 0, engine_mhz = 0;
  bool has_agprs = false;
  bool unified_registers = false; // of which any instruction may take any; gfx908 has two files
};

// Null when the name is none that the software GPU knows.
const Arch *find_arch(std::string_view name);
const Arch &arch(Gfx id);
std::span<const Arch> archs();

} // namespace fade::sim
