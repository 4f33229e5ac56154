// The architectures that the software GPU knows, and what differs between them in the instruction
// set.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fade::sim {

enum class Gfx : uint8_t { gfx90a, gfx942, gfx1030, gfx1100 };

struct Arch {
  Gfx id;
  const char *name;        // as LLVM's -mcpu
  uint32_t target_version; // as in the KFD's gfx_target_version
  uint32_t lds_bytes;      // per workgroup
  uint32_t engine_mhz;     // clock of the card's compute units
  bool gfx9;               // wave64 only, GCN encodings
  bool gfx10_up;           // wave32 and wave64, RDNA encodings
  bool packed_ids;         // work-item ids packed in v0
  bool architected_flat_scratch;
  bool has_agprs;
  bool sram_ecc; // 16-bit loads write the whole register: what is not loaded is cleared
};

// Null when the name is none that the software GPU knows.
const Arch *find_arch(std::string_view name);
const Arch &arch(Gfx id);
std::span<const Arch> archs();

} // namespace fade::sim
