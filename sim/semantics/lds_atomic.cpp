// Atomics on LDS. One worker runs the whole workgroup, so a plain read and write is atomic.
#include "semantics/atomic_ops.h"
#include "semantics/lds.h"

namespace fade::sim {
namespace {

using namespace atomic_op;

// LDS obeys MODE: f32 has its own field, f16 and f64 share one.
Denormals denormals_of(const Wave &w, bool is_f32) {
  return (w.mode >> (is_f32 ? 4 : 6) & 3) == 3 ? Denormals::keep : Denormals::flush;
}

template <class Op, bool returns, bool is_f32 = false> void atomic(Wave &w, const Instruction &in) {
  using T = typename Op::Value;
  const LdsAddresses a = lds_addresses(w, in, static_cast<uint32_t>(in.offset), sizeof(T));
  const Denormals denormals = denormals_of(w, is_f32);
  const Row *data = &w.vgpr[in.src[1].index], *data2 = &w.vgpr[in.src[2].index];
  observe_lds(w, in, a.at, w.active_exec, sizeof(T), AccessKind::atomic, returns);
  for_lanes(w.active_exec, [&](unsigned i) {
    const T old = lds_read<T>(w, a.at[i]);
    lds_write(w, a.at[i],
              Op::apply(old, {lane_value<T>(data, i), lane_value<T>(data2, i), denormals}));
    if constexpr (returns) set_lane_value(&w.vgpr[in.dst.index], i, old);
  });
  count_bytes(w, w.active_exec, sizeof(T), AccessKind::atomic, Space::lds);
}

// Exchanges at two addresses; offsets count elements, or 64 elements.
template <class T, unsigned scale> void exchange2(Wave &w, const Instruction &in) {
  constexpr unsigned words = sizeof(T) / 4;
  const uint32_t step = sizeof(T) * scale;
  const LdsAddresses first =
      lds_addresses(w, in, static_cast<uint32_t>(in.offset) * step, sizeof(T));
  const LdsAddresses second = lds_addresses(w, in, in.offset1 * step, sizeof(T));
  for (const LdsAddresses *a : {&first, &second})
    observe_lds(w, in, a->at, w.active_exec, sizeof(T), AccessKind::atomic, true);
  for_lanes(w.active_exec, [&](unsigned i) {
    const T data = lane_value<T>(&w.vgpr[in.src[1].index], i),
            data2 = lane_value<T>(&w.vgpr[in.src[2].index], i);
    const T old = lds_read<T>(w, first.at[i]), old2 = lds_read<T>(w, second.at[i]);
    lds_write(w, first.at[i], data);
    lds_write(w, second.at[i], data2);
    set_lane_value(&w.vgpr[in.dst.index], i, old);
    set_lane_value(&w.vgpr[in.dst.index + words], i, old2);
  });
  count_bytes(w, w.active_exec, 2 * sizeof(T), AccessKind::atomic, Space::lds);
}

// Two dwords, each exchanged only if bit 31 of its data is set; that bit is not stored.
void conditional_exchange(Wave &w, const Instruction &in) {
  LdsAddresses a = lds_addresses(w, in, static_cast<uint32_t>(in.offset), 8);
  for_lanes(w.active_exec, [&](unsigned i) { a.at[i] &= 0xfff8; });
  observe_lds(w, in, a.at, w.active_exec, 8, AccessKind::atomic, true);
  for_lanes(w.active_exec, [&](unsigned i) {
    const u32 data[2] = {w.vgpr[in.src[1].index][i], w.vgpr[in.src[1].index + 1][i]};
    for (unsigned k = 0; k < 2; k++) {
      w.vgpr[in.dst.index + k][i] = lds_read<u32>(w, a.at[i] + 4 * k);
      if (data[k] >> 31) lds_write(w, a.at[i] + 4 * k, data[k] & 0x7fffffff);
    }
  });
  count_bytes(w, w.active_exec, 8, AccessKind::atomic, Space::lds);
}

// A counter in LDS grows or shrinks by the number of active lanes; all of them get its old value.
template <bool grows> void count_lanes(Wave &w, const Instruction &in) {
  if (in.gds) throw IllegalInstruction{in.pc, "global data share"};
  if (!w.active_exec) return;
  uint32_t at[64];
  for (uint32_t &x : at) x = (w.sgpr[sreg::m0] & 0xffff) + static_cast<uint32_t>(in.offset);
  const uint64_t once = w.active_exec & (0 - w.active_exec); // the wave does it, not its lanes
  observe_lds(w, in, at, once, 4, AccessKind::atomic, true);
  const u32 old = lds_read<u32>(w, at[0]);
  const u32 n = static_cast<u32>(std::popcount(w.active_exec));
  lds_write(w, at[0], grows ? old + n : old - n);
  for_lanes(w.active_exec, [&](unsigned i) { w.vgpr[in.dst.index][i] = old; });
  count_bytes(w, once, 4, AccessKind::atomic, Space::lds);
}

#define BOTH(NAME, TYPE, ...)                                                                      \
  lds_writing("ds_" NAME "_" TYPE, atomic<__VA_ARGS__, false>),                                    \
      lds_writing("ds_" NAME "_rtn_" TYPE, atomic<__VA_ARGS__, true>)
#define BOTH_F32(NAME, TYPE, ...)                                                                  \
  lds_writing("ds_" NAME "_" TYPE, atomic<__VA_ARGS__, false, true>),                              \
      lds_writing("ds_" NAME "_rtn_" TYPE, atomic<__VA_ARGS__, true, true>)

// clang-format off
constexpr Opcode table[] = {
    BOTH("add", "u32", Add<u32>), BOTH("add", "u64", Add<u64>),
    BOTH("sub", "u32", Sub<u32>), BOTH("sub", "u64", Sub<u64>),
    BOTH("rsub", "u32", RSub<u32>), BOTH("rsub", "u64", RSub<u64>),
    BOTH("inc", "u32", Inc<u32>), BOTH("inc", "u64", Inc<u64>),
    BOTH("dec", "u32", Dec<u32>), BOTH("dec", "u64", Dec<u64>),
    BOTH("min", "i32", Min<i32>), BOTH("min", "i64", Min<i64>),
    BOTH("max", "i32", Max<i32>), BOTH("max", "i64", Max<i64>),
    BOTH("min", "u32", Min<u32>), BOTH("min", "u64", Min<u64>),
    BOTH("max", "u32", Max<u32>), BOTH("max", "u64", Max<u64>),
    BOTH("and", "b32", And<u32>), BOTH("and", "b64", And<u64>),
    BOTH("or", "b32", Or<u32>), BOTH("or", "b64", Or<u64>),
    BOTH("xor", "b32", Xor<u32>), BOTH("xor", "b64", Xor<u64>),
    BOTH("mskor", "b32", MaskOr<u32>), BOTH("mskor", "b64", MaskOr<u64>),
    BOTH("cmpst", "b32", CompareStore<u32>), BOTH("cmpst", "b64", CompareStore<u64>),
    BOTH_F32("cmpst", "f32", FCompareStore<f32>), BOTH("cmpst", "f64", FCompareStore<f64>),
    BOTH("cmpstore", "b32", CompareSwap<u32>), BOTH("cmpstore", "b64", CompareSwap<u64>),
    BOTH_F32("cmpstore", "f32", FCompareSwap<f32>), BOTH("cmpstore", "f64", FCompareSwap<f64>),
    BOTH_F32("min", "f32", FMin<f32>), BOTH("min", "f64", FMin<f64>),
    BOTH_F32("max", "f32", FMax<f32>), BOTH("max", "f64", FMax<f64>),
    BOTH_F32("add", "f32", FAdd<f32>), BOTH("add", "f64", FAdd<f64>),
    BOTH("pk_add", "f16", PkAddF16), BOTH("pk_add", "bf16", PkAddBf16),
    BOTH("cond_sub", "u32", CondSub<u32>), BOTH("sub_clamp", "u32", SubClamp<u32>),
    BOTH_F32("min_num", "f32", FMinNum<f32>), BOTH("min_num", "f64", FMinNum<f64>),
    BOTH_F32("max_num", "f32", FMaxNum<f32>), BOTH("max_num", "f64", FMaxNum<f64>),
    lds_writing("ds_wrap_rtn_b32", atomic<Wrap<u32>, true>),
    lds_writing("ds_wrxchg_rtn_b32", atomic<Swap<u32>, true>),
    lds_writing("ds_wrxchg_rtn_b64", atomic<Swap<u64>, true>),
    with(Form::two_addresses, lds_writing("ds_wrxchg2_rtn_b32", exchange2<u32, 1>)),
    with(Form::two_addresses, lds_writing("ds_wrxchg2_rtn_b64", exchange2<u64, 1>)),
    with(Form::two_addresses, lds_writing("ds_wrxchg2st64_rtn_b32", exchange2<u32, 64>)),
    with(Form::two_addresses, lds_writing("ds_wrxchg2st64_rtn_b64", exchange2<u64, 64>)),
    lds_writing("ds_condxchg32_rtn_b64", conditional_exchange),
    lds_writing("ds_append", count_lanes<true>),
    lds_writing("ds_consume", count_lanes<false>),
};
// clang-format on

} // namespace

std::span<const Opcode> lds_atomic_opcodes() { return table; }

} // namespace fade::sim
