// The cards that the software GPU describes itself as, one per architecture.
#pragma once

#include "fade/gpu.h"
#include "isa/arch.h"

#include <algorithm>
#include <cstdint>
#include <span>
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

  // What the machine makes of it, see MachineForm.
  uint32_t physical = 0;                  // which card of the machine it is, or is a part of
  uint32_t partition = 0, partitions = 1; // parts that are GPUs of their own
  bool has_pcie_atomics = true;           // between it and the host's memory
  bool is_apu = false;                    // on one die with the host, whose memory it uses
  uint32_t apu_compute_units = 0;
  uint64_t apu_memory = 0;

  const GpuInfo &gpu() const { return *arch(gfx).gpu; }
  uint32_t compute_units() const {
    return (is_apu ? apu_compute_units : gpu().card.compute_units) / partitions;
  }
  uint32_t dies() const { return std::max(1u, gpu().card.dies / partitions); }
  uint64_t vram_bytes() const {
    return is_apu ? apu_memory : (uint64_t{gpu().card.memory_gib} << 30) / partitions;
  }
};

std::span<const Card> all_cards();

// "gfx90a,gfx1030": one card per name. Empty, with a message in `error`, when a name is not known.
std::vector<Card> cards_from(const std::string &list, std::string &error);

// FADE_GPU_MACHINE: what a machine may have that others have not.
struct MachineForm {
  bool small_bar = false;   // the host reaches no VRAM
  bool no_atomics = false;  // PCIe has no atomics
  bool two_sockets = false; // two CPU nodes; the first half of the cards is at the second one
  bool cpx = false;         // each card is eight GPUs, functions of one PCI device
  bool apu = false;         // GPUs have no memory of their own
};
// "two-sockets,small-bar". Words that are not known are named in `error`.
MachineForm machine_from(const char *list, std::string &error);
// The GPUs of such a machine.
std::vector<Card> in_machine(const std::vector<Card> &cards, const MachineForm &form,
                             uint64_t host_bytes);

} // namespace fade::sim::kfd
