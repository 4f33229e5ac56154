#include "isa/arch.h"

#include "fade/gpu.h"

#include <algorithm>

namespace fade::sim {
namespace {

constexpr Arch with_row(std::string_view name, Arch a) {
  a.gpu = findGpu(name);
  a.name = a.gpu->name;
  a.lds_bytes = a.gpu->unit.lds_bytes;
  a.engine_mhz = a.gpu->card.engine_mhz;
  a.has_agprs = a.gpu->unit.has_agprs;
  a.unified_registers = a.gpu->unit.unified_registers;
  return a;
}

// APUs, which differ in their numbers of compute units and registers.
constexpr Arch rdna35(Gfx id) {
  return {.id = id,
          .gfx10_up = true,
          .gfx11 = true,
          .gfx115 = true,
          .packed_ids = true,
          .architected_flat_scratch = true,
          .is_apu = true};
}

// gfx1200 and gfx1201 differ in what a card has of them, not in their instructions.
constexpr Arch rdna4(Gfx id) {
  return {.id = id,
          .gfx10_up = true,
          .gfx11 = true,
          .gfx115 = true,
          .gfx12 = true,
          .packed_ids = true,
          .architected_flat_scratch = true,
          .ocp_fp8 = true};
}

constexpr Arch all_archs[] = {
    with_row("gfx90a", {.id = Gfx::gfx90a, .gfx9 = true, .packed_ids = true, .sram_ecc = true}),
    with_row("gfx942", {.id = Gfx::gfx942,
                        .gfx9 = true,
                        .gfx94 = true,
                        .packed_ids = true,
                        .architected_flat_scratch = true,
                        .sram_ecc = true}),
    with_row("gfx1030", {.id = Gfx::gfx1030, .gfx10_up = true}),
    with_row("gfx1100", {.id = Gfx::gfx1100,
                         .gfx10_up = true,
                         .gfx11 = true,
                         .packed_ids = true,
                         .architected_flat_scratch = true}),
    with_row("gfx1151", rdna35(Gfx::gfx1151)),
    with_row("gfx950", {.id = Gfx::gfx950,
                        .gfx9 = true,
                        .gfx94 = true,
                        .packed_ids = true,
                        .architected_flat_scratch = true,
                        .ocp_fp8 = true,
                        .sram_ecc = true}),
    with_row("gfx1200", rdna4(Gfx::gfx1200)),
    with_row("gfx1201", rdna4(Gfx::gfx1201)),
    with_row("gfx908", {.id = Gfx::gfx908, .gfx9 = true, .sram_ecc = true}),
    with_row("gfx1150", rdna35(Gfx::gfx1150)),
    with_row("gfx1152", rdna35(Gfx::gfx1152)),
    with_row("gfx1153", rdna35(Gfx::gfx1153)),
};

} // namespace

const Arch *find_arch(std::string_view name) {
  for (const Arch &a : all_archs)
    if (name == a.name) return &a;
  return nullptr;
}

const Arch &arch(Gfx id) { return *std::ranges::find(all_archs, id, &Arch::id); }

std::span<const Arch> archs() { return all_archs; }

} // namespace fade::sim
