// Scalar instructions that gfx12 adds: barriers in two steps, waits for each counter by itself,
// minima and maxima of IEEE 754-2019, 64-bit multiplication.
#include "semantics/minimum.h"
#include "semantics/opcodes.h"
#include "semantics/rounding.h"
#include "semantics/salu.h"
#include "wave/faults.h"
#include "wave/split_barrier.h"

namespace fade::sim {
namespace {

// The barrier that an instruction names: -1 the workgroup's, -2 the trap handler's, 0 none.
bool is_groups_own(Scalar &s, i32 number) {
  if (number > 0) throw IllegalInstruction{s.in.pc, "named barriers, which gfx12 does not have"};
  return number == -1;
}
bool names_group_barrier(Scalar &s, i32 number) {
  return is_groups_own(s, number) && has_barrier(s.w);
}
i32 barrier_number(Scalar &s) {
  const Operand &o = s.in.src[0];
  const auto number = static_cast<u32>(scalar_value(s.w, o, Type::i32));
  const bool is_m0 = o.kind == Operand::Kind::sgpr && o.index == sreg::m0;
  return static_cast<i32>(is_m0 ? number & 31 : number);
}

void signal_barrier(Scalar &s) {
  if (!is_groups_own(s, barrier_number(s)) || !s.w.group) return;
  s.w.barrier_signaled = has_barrier(s.w);
  if (s.w.barrier_signaled && !complete_barrier(*s.w.group)) return;
  if (s.w.stats) s.w.stats->barriers++;
  if (s.w.observer) s.w.observer->barrierPassed(s.w.group->info);
}
bool signal_first(Scalar &s) {
  const bool first = names_group_barrier(s, barrier_number(s)) && !barrier_signals(*s.w.group);
  signal_barrier(s);
  return first;
}
void wait_barrier(Scalar &s) {
  if (!names_group_barrier(s, s.in.imm)) return;
  if (!s.w.barrier_complete) {
    s.w.state = WaveState::at_barrier;
    return;
  }
  s.w.barrier_complete = false;
  if (s.w.observer) s.w.observer->barrierLeft(s.w.info);
}
u32 barrier_state(Scalar &s) {
  if (!names_group_barrier(s, barrier_number(s))) return 0;
  const auto members = static_cast<u32>(s.w.group->waves.size());
  return barrier_signals(*s.w.group) << 16 | members << 4 | 1;
}

void sleep_for(Scalar &s, u32 time) {
  if (time & 0x7f) s.w.state = WaveState::sleeping;
}
void refuse_allocation(Scalar &s) {
  throw IllegalInstruction{s.in.pc, "s_alloc_vgpr: dynamic VGPRs are not supported"};
}
void no_effect() {}

// Operands and result with denormals as MODE wants them.
template <class T, T (*Op)(T, T)> void select_float(Wave &w, const Instruction &in) {
  const auto operand = [&](const Operand &o) {
    const T x = std::bit_cast<T>(
        static_cast<typename Format<T>::Bits>(scalar_value(w, o, TypeOf<T>::type)));
    return flushes(w, TypeOf<T>::type, true) ? flushed(x) : x;
  };
  const T r = Op(operand(in.src[0]), operand(in.src[1]));
  write_scalar(w, in.dst, static_cast<u32>(bits(r)));
}
template <class T, T (*Op)(T, T)> constexpr Opcode selection(const char *name) {
  return {name, select_float<T, Op>, ExecClass::salu};
}

} // namespace

std::span<const Opcode> salu_gfx12_opcodes() {
  static constexpr Opcode table[] = {
      with(Effect::barrier, SALU_DO(s_barrier_signal, other, (), signal_barrier(s))),
      with(Effect::barrier, SALU_DO(s_barrier_signal_isfirst, other, (), s.scc = signal_first(s))),
      with(Effect::outside, SALU_DO(s_barrier_wait, other, (), wait_barrier(s))),
      with(Effect::sends, SALU(s_get_barrier_state, (), barrier_state(s))),
      with(Effect::outside, SALU_DO(s_sleep_var, other, (u32 a), sleep_for(s, a))),
      SALU_DO(s_alloc_vgpr, other, (), refuse_allocation(s)),

      with(Waits::vector, SALU_DO(s_wait_loadcnt, other, (), no_effect())),
      with(Waits::stores, SALU_DO(s_wait_storecnt, other, (), no_effect())),
      with(Waits::samples, SALU_DO(s_wait_samplecnt, other, (), no_effect())),
      with(Waits::samples, SALU_DO(s_wait_bvhcnt, other, (), no_effect())),
      with(Waits::exports, SALU_DO(s_wait_expcnt, other, (), no_effect())),
      with(Waits::lds, SALU_DO(s_wait_dscnt, other, (), no_effect())),
      with(Waits::scalar, SALU_DO(s_wait_kmcnt, other, (), no_effect())),
      with(Waits::vector_and_lds, SALU_DO(s_wait_loadcnt_dscnt, other, (), no_effect())),
      with(Waits::stores_and_lds, SALU_DO(s_wait_storecnt_dscnt, other, (), no_effect())),

      SALU(s_mul_u64, (u64 a, u64 b), a * b),
      selection<f32, minimum_number>("s_min_num_f32"),
      selection<f32, maximum_number>("s_max_num_f32"),
      selection<f16, minimum_number>("s_min_num_f16"),
      selection<f16, maximum_number>("s_max_num_f16"),
      selection<f32, minimum>("s_minimum_f32"),
      selection<f32, maximum>("s_maximum_f32"),
      selection<f16, minimum>("s_minimum_f16"),
      selection<f16, maximum>("s_maximum_f16"),
  };
  return table;
}

} // namespace fade::sim
