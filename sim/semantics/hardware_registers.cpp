#include "semantics/hardware_registers.h"

#include "base/clock.h"
#include "semantics/constants.h"
#include "wave/workgroup.h"

namespace fade::sim {
namespace {

enum HardwareRegister : unsigned {
  reg_mode = 1,
  reg_status = 2,
  reg_trapsts = 3,
  reg_hw_id = 4,
  reg_gpr_alloc = 5,
  reg_lds_alloc = 6,
  reg_ib_sts = 7,
  reg_sh_mem_bases = 15,
  reg_flat_scr_lo = 20,
  reg_flat_scr_hi = 21,
  reg_xnack_mask = 22,
  reg_hw_id1 = 23,
  reg_hw_id2 = 24,
  reg_shader_cycles = 29,
};

// gfx12: other numbers, and a clock of 64 bits in two registers.
uint32_t gfx12_register(const Wave &w, unsigned number) {
  constexpr unsigned state_priv = 4, cycles_high = 30;
  switch (number) {
  case reg_mode: return w.mode;
  case reg_status:
    return static_cast<uint32_t>(w.exec() == 0) << 9 | static_cast<uint32_t>(w.vcc() == 0) << 10 |
           static_cast<uint32_t>(w.group && w.group->waves.size() > 1) << 11 | 1u << 16 |
           static_cast<uint32_t>(w.lanes == 64) << 29;
  case state_priv:
    return static_cast<uint32_t>(w.barrier_complete) << 2 | static_cast<uint32_t>(w.scc) << 9;
  case reg_flat_scr_lo: return static_cast<uint32_t>(w.flat_scratch);
  case reg_flat_scr_hi: return static_cast<uint32_t>(w.flat_scratch >> 32);
  case reg_hw_id1: return hardware_id(w);
  case reg_shader_cycles: return static_cast<uint32_t>(shader_clock(w.arch->engine_mhz));
  case cycles_high: return static_cast<uint32_t>(shader_clock(w.arch->engine_mhz) >> 32);
  default: return 0;
  }
}

uint32_t whole_register(const Wave &w, unsigned number) {
  if (w.arch->gfx12) return gfx12_register(w, number);
  switch (number) {
  case reg_mode: return w.mode;
  case reg_status:
    return w.status | static_cast<uint32_t>(w.scc) | static_cast<uint32_t>(w.exec() == 0) << 9 |
           static_cast<uint32_t>(w.vcc() == 0) << 10;
  case reg_hw_id: return w.arch->gfx9 ? hardware_id(w) : 0;
  case reg_lds_alloc: return (w.group ? w.group->lds_bytes / 512 : 0) << 12;
  case reg_sh_mem_bases: return (shared_aperture_hi & 0xffff0000) | private_aperture_hi >> 16;
  case reg_flat_scr_lo:
    return w.arch->gfx10_up ? static_cast<uint32_t>(w.flat_scratch)
           : w.group        ? w.group->die // XCC_ID
                            : 0;
  case reg_flat_scr_hi: return static_cast<uint32_t>(w.flat_scratch >> 32);
  case reg_hw_id1: return hardware_id(w);
  case reg_shader_cycles: return static_cast<uint32_t>(shader_clock(w.arch->engine_mhz) & 0xfffff);
  default: return 0;
  }
}

struct Field {
  unsigned number, offset, size;
  explicit Field(int32_t imm)
      : number(imm & 63), offset(imm >> 6 & 31), size((imm >> 11 & 31) + 1) {}
  uint32_t mask() const { return size >= 32 ? ~0u : (1u << size) - 1; }
};

} // namespace

// Where the wave runs: workgroups are spread over compute units, waves over their SIMDs.
uint32_t hardware_id(const Wave &w) {
  const uint32_t *id = w.group->info.id;
  const uint32_t group = id[0] + id[1] * 7 + id[2] * 31;
  const uint32_t wave = w.info.number / 4 % 10, simd = w.info.number % 4;
  const uint32_t cu = group % 16, engine = group / 16 % 4;
  if (w.arch->gfx9) return wave | simd << 4 | cu << 8 | engine << 13;
  return wave | simd << 8 | cu << 10 | engine << 18; // HW_ID1
}

uint32_t read_hardware_register(const Wave &w, int32_t immediate) {
  const Field f(immediate);
  return whole_register(w, f.number) >> f.offset & f.mask();
}

void write_hardware_register(Wave &w, int32_t immediate, uint32_t value) {
  const Field f(immediate);
  const uint32_t mask = f.mask() << f.offset;
  const uint32_t merged = (whole_register(w, f.number) & ~mask) | (value << f.offset & mask);
  if (f.number == reg_mode)
    w.set_mode(merged);
  else if (f.number == reg_flat_scr_lo && w.arch->gfx10_up)
    w.flat_scratch = (w.flat_scratch & ~0xffffffffull) | merged;
  else if (f.number == reg_flat_scr_hi)
    w.flat_scratch = (w.flat_scratch & 0xffffffffull) | static_cast<uint64_t>(merged) << 32;
}

uint32_t sendmsg_number(const Instruction &in) {
  const Operand &o = in.src[0];
  if (o.kind == Operand::Kind::constant &&
      !o.inline_float) { // small numbers read as inline constants
    const auto v = static_cast<int64_t>(o.value);
    return static_cast<uint32_t>(v >= 0 ? 128 + v : 192 - v);
  }
  return o.index;
}

} // namespace fade::sim
