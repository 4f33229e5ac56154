// The cards that the software GPU describes itself as, one per architecture.
#pragma once

#include "fade/gpu.h"
#include "isa/arch.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fade::sim::kfd {

struct Card {
  Gfx gfx;                      // what is not said here is in the table of fade/gpu.h
  uint32_t device_id, revision; // PCI; revision chooses the name in amdgpu.ids
  uint32_t drm_family;
  bool host_visible_vram; // the whole of it through the PCI aperture
  uint32_t shader_arrays, arrays_per_engine, cus_per_array;
  uint32_t sdma_engines, xgmi_sdma_engines;
  uint32_t memory_mhz, memory_bits;
  uint32_t
      tiling; // GB_ADDR_CONFIG: channels and interleaving, from which the runtime lays out images
  uint32_t firmware, sdma_firmware;

  const GpuInfo &gpu() const { return *arch(gfx).gpu; }
  uint64_t vram_bytes() const { return uint64_t{gpu().card.memory_gib} << 30; }
};

const Card &card(Gfx gfx);

// "gfx90a,gfx1030": one card per name. Empty, with a message in `error`, when a name is not known.
std::vector<Card> cards_from(const std::string &list, std::string &error);

} // namespace fade::sim::kfd
