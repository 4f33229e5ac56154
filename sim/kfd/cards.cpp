#include "kfd/cards.h"

#include <algorithm>

namespace fade::sim::kfd {
namespace {

constexpr uint64_t gib = uint64_t{1} << 30;

const std::vector<Card> &table() {
  static const std::vector<Card> cards = {
      {.gfx = Gfx::gfx90a,
       .marketing_name = "AMD Instinct MI210",
       .device_id = 0x740f,
       .revision = 0x02,
       .drm_family = 141,
       .vram_bytes = 64 * gib,
       .host_visible_vram = true,
       .compute_units = 104,
       .simds_per_cu = 4,
       .waves_per_simd = 8,
       .wave_size = 64,
       .shader_arrays = 8,
       .arrays_per_engine = 1,
       .cus_per_array = 14,
       .partitions = 1,
       .sdma_engines = 2,
       .xgmi_sdma_engines = 3,
       .memory_mhz = 1600,
       .memory_bits = 4096,
       .tiling = 0x22014042,
       .firmware = 78,
       .sdma_firmware = 8,
       .caches = {{1, 16, 64}, {2, 8192, 128}}},
      {.gfx = Gfx::gfx942,
       .marketing_name = "AMD Instinct MI300X",
       .device_id = 0x74a1,
       .revision = 0x00,
       .drm_family = 141,
       .vram_bytes = 192 * gib,
       .host_visible_vram = true,
       .compute_units = 304,
       .simds_per_cu = 4,
       .waves_per_simd = 8,
       .wave_size = 64,
       .shader_arrays = 32,
       .arrays_per_engine = 1,
       .cus_per_array = 10,
       .partitions = 8,
       .sdma_engines = 2,
       .xgmi_sdma_engines = 14,
       .memory_mhz = 1300,
       .memory_bits = 8192,
       .tiling = 0x2a114042,
       .firmware = 177,
       .sdma_firmware = 19,
       .caches = {{1, 32, 128}, {2, 4096, 128}, {3, 262144, 64}}},
      {.gfx = Gfx::gfx1030,
       .marketing_name = "AMD Radeon RX 6800 XT",
       .device_id = 0x73bf,
       .revision = 0xc1,
       .drm_family = 143,
       .vram_bytes = 16 * gib,
       .host_visible_vram = false,
       .compute_units = 72,
       .simds_per_cu = 2,
       .waves_per_simd = 16,
       .wave_size = 32,
       .shader_arrays = 8,
       .arrays_per_engine = 2,
       .cus_per_array = 10,
       .partitions = 1,
       .sdma_engines = 2,
       .xgmi_sdma_engines = 0,
       .memory_mhz = 1000,
       .memory_bits = 256,
       .tiling = 0x00000444,
       .firmware = 115,
       .sdma_firmware = 83,
       .caches = {{1, 16, 128}, {2, 4096, 128}, {3, 131072, 64}}},
      {.gfx = Gfx::gfx1100,
       .marketing_name = "AMD Radeon RX 7900 XTX",
       .device_id = 0x744c,
       .revision = 0xc8,
       .drm_family = 145,
       .vram_bytes = 24 * gib,
       .host_visible_vram = false,
       .compute_units = 96,
       .simds_per_cu = 2,
       .waves_per_simd = 16,
       .wave_size = 32,
       .shader_arrays = 12,
       .arrays_per_engine = 2,
       .cus_per_array = 8,
       .partitions = 1,
       .sdma_engines = 2,
       .xgmi_sdma_engines = 0,
       .memory_mhz = 1249,
       .memory_bits = 384,
       .tiling = 0x00000545,
       .firmware = 550,
       .sdma_firmware = 21,
       .caches = {{1, 32, 128}, {2, 6144, 128}, {3, 98304, 64}}},
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
