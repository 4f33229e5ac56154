#include "kfd/cards.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace fade::sim::kfd {
namespace {

// One shader engine; the memory is the host's, of 128 bits.
Card small_apu(Gfx gfx, uint32_t device_id, uint32_t revision, uint32_t cus, uint32_t memory_mhz) {
  return {.gfx = gfx,
          .device_id = device_id,
          .revision = revision,
          .drm_family = 150,
          .host_visible_vram = true,
          .shader_arrays = 2,
          .arrays_per_engine = 2,
          .cus_per_array = cus,
          .sdma_engines = 1,
          .xgmi_sdma_engines = 0,
          .memory_mhz = memory_mhz,
          .memory_bits = 128,
          .tiling = 0x00000545,
          .firmware = 32,
          .sdma_firmware = 14};
}

// PCI ids are those of libdrm's amdgpu.ids, under the name that the row in fade/gpu.h has.
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
      {.gfx = Gfx::gfx1151,
       .device_id = 0x1586,
       .revision = 0xc1,
       .drm_family = 150,
       .host_visible_vram = true,
       .shader_arrays = 4,
       .arrays_per_engine = 2,
       .cus_per_array = 10,
       .sdma_engines = 1,
       .xgmi_sdma_engines = 0,
       .memory_mhz = 1000,
       .memory_bits = 256,
       .tiling = 0x00000545,
       .firmware = 32,
       .sdma_firmware = 14},
      {.gfx = Gfx::gfx950,
       .device_id = 0x75a3,
       .revision = 0x00,
       .drm_family = 141,
       .host_visible_vram = true,
       .shader_arrays = 32,
       .arrays_per_engine = 1,
       .cus_per_array = 9,
       .sdma_engines = 2,
       .xgmi_sdma_engines = 14,
       .memory_mhz = 2000,
       .memory_bits = 8192,
       .tiling = 0x2a114042,
       .firmware = 177,
       .sdma_firmware = 19},
      // Radeon RX 9060 XT and RX 9070 XT. Family: the kernel's amdgpu_drm.h (GC 12.0.0); engines
      // and arrays: AMD's figures of Navi 44 and Navi 48. Tiling and firmware are gfx1100's, for
      // want of a card to ask.
      {.gfx = Gfx::gfx1200,
       .device_id = 0x7590,
       .revision = 0xc0,
       .drm_family = 152,
       .host_visible_vram = false,
       .shader_arrays = 4,
       .arrays_per_engine = 2,
       .cus_per_array = 8,
       .sdma_engines = 2,
       .xgmi_sdma_engines = 0,
       .memory_mhz = 1250,
       .memory_bits = 128,
       .tiling = 0x00000545,
       .firmware = 550,
       .sdma_firmware = 21},
      {.gfx = Gfx::gfx1201,
       .device_id = 0x7550,
       .revision = 0xc0,
       .drm_family = 152,
       .host_visible_vram = false,
       .shader_arrays = 8,
       .arrays_per_engine = 2,
       .cus_per_array = 8,
       .sdma_engines = 2,
       .xgmi_sdma_engines = 0,
       .memory_mhz = 1250,
       .memory_bits = 256,
       .tiling = 0x00000545,
       .firmware = 550,
       .sdma_firmware = 21},
      {.gfx = Gfx::gfx908,
       .device_id = 0x738c,
       .revision = 0x01,
       .drm_family = 141,
       .host_visible_vram = true,
       .shader_arrays = 8,
       .arrays_per_engine = 1,
       .cus_per_array = 16,
       .sdma_engines = 2,
       .xgmi_sdma_engines = 6,
       .memory_mhz = 1200,
       .memory_bits = 4096,
       .tiling = 0x22014042,
       .firmware = 67,
       .sdma_firmware = 18},
      small_apu(Gfx::gfx1150, 0x150e, 0xc1, 8, 938),
      small_apu(Gfx::gfx1152, 0x1114, 0xc2, 4, 1000),
      small_apu(Gfx::gfx1153, 0x1902, 0xc0, 2, 1000),
  };
  return cards;
}

} // namespace

std::span<const Card> all_cards() { return table(); }

std::vector<Card> cards_from(const std::string &list, std::string &error) {
  std::vector<Card> cards;
  size_t at = 0;
  do {
    size_t comma = std::min(list.find(',', at), list.size());
    std::string name = list.substr(at, comma - at);
    at = comma + 1;
    const auto known =
        std::ranges::find(table(), name, [](const Card &c) { return arch(c.gfx).name; });
    if (known == table().end()) {
      error = "FADE_GPU: '" + name + "' is not a GPU that can be emulated (" + emulatedGpuNames() +
              ", or a list such as gfx90a,gfx90a); this process sees no GPU";
      return {};
    }
    cards.push_back(*known);
  } while (at <= list.size());
  return cards;
}

MachineForm machine_from(const char *list, std::string &error) {
  MachineForm form;
  const std::pair<std::string_view, bool *> words[] = {{"small-bar", &form.small_bar},
                                                       {"no-atomics", &form.no_atomics},
                                                       {"two-sockets", &form.two_sockets},
                                                       {"cpx", &form.cpx},
                                                       {"apu", &form.apu}};
  std::string_view rest = list ? list : "";
  while (!rest.empty()) {
    const auto comma = std::min(rest.find(','), rest.size());
    const std::string_view word = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const auto *at = std::ranges::find(words, word, &std::pair<std::string_view, bool *>::first);
    if (at != std::end(words))
      *at->second = true;
    else if (!word.empty())
      error = "FADE_GPU_MACHINE: '" + std::string(word) +
              "' is not known (small-bar, no-atomics, two-sockets, cpx, apu)";
  }
  return form;
}

std::vector<Card> in_machine(const std::vector<Card> &cards, const MachineForm &form,
                             uint64_t host_bytes) {
  constexpr uint32_t parts = 8;
  std::vector<Card> result;
  for (uint32_t i = 0; i < cards.size(); ++i) {
    Card c = cards[i];
    c.physical = i;
    c.has_pcie_atomics = !form.no_atomics;
    if (form.small_bar) c.host_visible_vram = false;
    if (form.apu || arch(c.gfx).is_apu) {
      c.is_apu = true;
      c.apu_memory = host_bytes;
      c.apu_compute_units = c.gpu().card.compute_units;
      c.host_visible_vram = true; // there is no aperture between them
      if (c.gfx == Gfx::gfx942) c.device_id = 0x74a0, c.apu_compute_units = 228; // MI300A
    }
    const bool is_instinct = c.xgmi_sdma_engines != 0;
    if (form.cpx && is_instinct) {
      c.partitions = parts;
      c.shader_arrays = std::max(1u, c.shader_arrays / parts);
      c.xgmi_sdma_engines = std::max(1u, c.xgmi_sdma_engines / parts);
    }
    for (c.partition = 0; c.partition < c.partitions; ++c.partition) result.push_back(c);
  }
  return result;
}

} // namespace fade::sim::kfd
