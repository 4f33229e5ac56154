// WMMA of gfx12 under the names that gfx11 has, too: the same products, in other lanes.
#pragma once

#include "isa/instruction.h"
#include "wave/wave.h"

namespace fade::sim {

void run_wmma12_f32_f16(Wave &w, const Instruction &in);
void run_wmma12_f32_bf16(Wave &w, const Instruction &in);
void run_wmma12_f16_f16(Wave &w, const Instruction &in);
void run_wmma12_bf16_bf16(Wave &w, const Instruction &in);
void run_wmma12_i32_iu8(Wave &w, const Instruction &in);
void run_wmma12_i32_iu4(Wave &w, const Instruction &in);

} // namespace fade::sim
