#include "kfd/cards.h"

#include <algorithm>

namespace fade::sim::kfd {
namespace {

const std::vector<Card> &table() {
  static const std::vector<Card> cards = {
      {.gfx = Gfx::gfx90a,
       .device_id = 0x740f,
       .revision = 0x02,
       .drm_family = 141,
       .host_visible_vram = true,
       .shader_arrays = 8,
       .arrays_per_engine = 1,
       .cus_per_array = 14,
       .sdma_engines = 2,
       .xgmi_sdma_engines = 3,
       .memory_mhz = 1600,
       .memory_bits = 4096,
       .tiling = 0x22014042,
       .firmware = 78,
       .sdma_firmware = 8},
      {.gfx = Gfx::gfx942,
       .device_id = 0x74a1,
       .revision = 0x00,
       .drm_family = 141,
       .host_visible_vram = true,
       .shader_arrays = 32,
       .arrays_per_engine = 1,
       .cus_per_array = 10,
       .sdma_engines = 2,
       .xgmi_sdma_engines = 14,
       .memory_mhz = 1300,
       .memory_bits = 8192,
       .tiling = 0x2a114042,
       .firmware = 177,
       .sdma_firmware = 19},
      {.gfx = Gfx::gfx1030,
       .device_id = 0x73bf,
       .revision = 0xc1,
       .drm_family = 143,
       .host_visible_vram = false,
       .shader_arrays = 8,
       .arrays_per_engine = 2,
       .cus_per_array = 10,
       .sdma_engines = 2,
       .xgmi_sdma_engines = 0,
       .memory_mhz = 1000,
       .memory_bits = 256,
       .tiling = 0x00000444,
       .firmware = 115,
       .sdma_firmware = 83},
      {.gfx = Gfx::gfx1100,
       .device_id = 0x744c,
       .revision = 0xc8,
       .drm_family = 145,
       .host_visible_vram = false,
       .shader_arrays = 12,
       .arrays_per_engine = 2,
       .cus_per_array = 8,
       .sdma_engines = 2,
       .xgmi_sdma_engines = 0,
       .memory_mhz = 1249,
       .memory_bits = 384,
       .tiling = 0x00000545,
       .firmware = 550,
       .sdma_firmware = 21},
  };
  return cards;
}

} // namespace

const Card &card(Gfx gfx) {
  return *std::find_if(table().begin(), table().end(),
                       [gfx](const Card &c) { return c.gfx == gfx; });
}

std::vector<Card> cards_from(const std::string &list, std::string &error) {
  std::vector<Card> cards;
  size_t at = 0;
  do {
    size_t comma = std::min(list.find(',', at), list.size());
    std::string name = list.substr(at, comma - at);
    at = comma + 1;
    const Arch *known = find_arch(name);
    if (!known) {
      error = "FADE_GPU: '" + name + "' is not a GPU that can be emulated (";
      for (const Card &c : table()) error += std::string(arch(c.gfx).name) + ", ";
      error += "or a list such as gfx90a,gfx90a); this process sees no GPU";
      return {};
    }
    cards.push_back(card(known->id));
  } while (at <= list.size());
  return cards;
}

} // namespace fade::sim::kfd
