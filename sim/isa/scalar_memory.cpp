// Scalar memory: loads, stores and atomics of scalar registers, through an address or a buffer resource, and the
// counters that are read the same way.
#include "device/clock.h"
#include "isa/buffer_resource.h"
#include "isa/constants.h"
#include "isa/memory_access.h"
#include "isa/valu.h"

namespace fade::sim {
namespace {

int64_t scalar_offset(const Wave &w, const Instruction &in) {
  return in.offset + static_cast<int64_t>(scalar_value(w, in.src[1], Type::u32) & 0xffffffff);
}

// Scalar accesses ignore the two lowest bits of the address.
uint64_t global_address(const Wave &w, const Instruction &in) {
  return (w.sgpr64(in.src[0].index) + static_cast<uint64_t>(scalar_offset(w, in))) & ~3ull;
}

template <unsigned words> void write_scalars(Wave &w, const Operand &to, const uint32_t *values) {
  if (to.index == sreg::null) return;
  std::memcpy(&w.sgpr[to.index], values, words * 4);
}

template <unsigned words> void load(Wave &w, const Instruction &in) {
  uint32_t values[words];
  w.memory->read(global_address(w, in), values, sizeof values);
  write_scalars<words>(w, in.dst, values);
}

// Cycles, as the program sees them: nanoseconds, so a clock of 1 GHz.
void memtime(Wave &w, const Instruction &in) {
  const uint64_t now = nanoseconds(CLOCK_MONOTONIC_RAW);
  uint32_t values[2] = {static_cast<u32>(now), static_cast<u32>(now >> 32)};
  write_scalars<2>(w, in.dst, values);
}
void memrealtime(Wave &w, const Instruction &in) {
  const uint64_t now = gpu_clock();
  uint32_t values[2] = {static_cast<u32>(now), static_cast<u32>(now >> 32)};
  write_scalars<2>(w, in.dst, values);
}

void cache_control(Wave &, const Instruction &) { full_fence(); }

constexpr auto smem = ExecClass::smem;

constexpr Opcode table[] = {
    {"s_load_dword", load<1>, smem},
    {"s_load_dwordx2", load<2>, smem},
    {"s_load_dwordx4", load<4>, smem},
    {"s_load_dwordx8", load<8>, smem},
    {"s_load_dwordx16", load<16>, smem},
    {"s_memtime", memtime, smem},
    {"s_memrealtime", memrealtime, smem},
    {"s_dcache_inv", cache_control, smem},
    {"s_dcache_inv_vol", cache_control, smem},
    {"s_dcache_wb", cache_control, smem},
    {"s_dcache_wb_vol", cache_control, smem},
    {"s_gl1_inv", cache_control, smem},
};

} // namespace

std::span<const Opcode> scalar_memory_opcodes() { return table; }

} // namespace fade::sim
