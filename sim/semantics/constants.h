// Inline constants, literals and the special scalar sources.
#pragma once

#include "isa/opcode.h"
#include "wave/wave.h"

namespace fade::sim {

// Apertures of LDS and private memory in flat addresses: the upper 32 bits.
constexpr uint32_t shared_aperture_hi = 0x00010000;
constexpr uint32_t private_aperture_hi = 0x00020000;

// Addresses under which a wave sees the backing of its own private memory, linearly: a V# for
// scratch points here. A V# has room for 48 bits of address and GPU memory ends at 2^47, so the
// window lies between.
constexpr uint64_t scratch_window_base = 0x0000f00000000000;
constexpr uint64_t scratch_window_size = 1ull << 40;

// Sources 235-253: apertures, vccz, execz, scc.
uint64_t special_value(const Wave &w, unsigned encoding, bool wide);

} // namespace fade::sim
