// Atomics on memory: flat, global and buffer. Each lane's operation is a single atomic operation of
// the host.
#include "semantics/cache_control.h"
#include "semantics/host_atomic.h"
#include "semantics/memory_access.h"
#include "semantics/vector_memory.h"

namespace fade::sim {
namespace {

using namespace atomic_op;

// LDS and private memory belong to the worker that runs the wave: no other thread can come in
// between.
template <class Op, class T>
T apply_apart(Wave &w, const Instruction &in, const LaneAddresses &a, unsigned lane,
              const AtomicInput<T> &input) {
  if (lane_space(in, a.va[lane]) == Space::global)
    return w.memory->atomic<T>(a.va[lane], atomic_reach(w, in),
                               [&](T *p) { return fetch_apply<Op>(p, input); });
  T old;
  read_lane(w, in, a, lane, &old, sizeof old);
  const T updated = Op::apply(old, input);
  write_lane(w, in, a, lane, &updated, sizeof updated);
  return old;
}

// f32 additions in memory flush denormals whatever MODE says, except on gfx942 and gfx12; all else
// keeps them.
Denormals denormals_of(const Arch &arch, bool is_f32) {
  return is_f32 && !arch.gfx94 && !arch.gfx12 ? Denormals::flush : Denormals::keep;
}

// On a card such an atomic is lost, or the link reports an error; here it stops the kernel.
void refuse_host_atomics(Wave &w, const Instruction &in, const LaneAddresses &a) {
  for_lanes(a.lanes, [&](unsigned i) {
    if (lane_space(in, a.va[i]) == Space::global && !w.memory->allows_atomic(a.va[i]))
      throw HostAtomic{a.va[i]};
  });
}

template <class Op, bool is_f32 = false> void atomic(Wave &w, const Instruction &in) {
  using T = typename Op::Value;
  constexpr unsigned words = sizeof(T) / 4;
  LaneAddresses a;
  vector_addresses(w, in, sizeof(T), a);
  Row *to = &w.vgpr[in.dst.index];
  const Row *data = &w.vgpr[in.src[1].index];
  const Denormals denormals = denormals_of(*w.arch, is_f32);
  if (in.glc) for_lanes(w.active_exec & ~a.lanes, [&](unsigned i) { set_lane_value<T>(to, i, 0); });
  if (!a.lanes) return;
  if (!w.memory->allows_atomics()) [[unlikely]]
    refuse_host_atomics(w, in, a);
  const AtomicInProgress progress(w);
  observe(w, in, a, sizeof(T), AccessKind::atomic);
  HostRange r = locate(w, a, LaneMask(w, a.lanes), sizeof(T), true);
  const bool in_pieces = sizeof(T) > 4 && a.word_stride != 4; // private memory: dwords apart
  if (in_pieces) r.host = nullptr;
  const uint64_t alignment = in_pieces ? 4 : sizeof(T);
  for_lanes(a.lanes, [&](unsigned i) {
    if (a.va[i] % alignment) throw MisalignedAtomic{a.va[i]};
    const AtomicInput<T> input{lane_value<T>(data, i), lane_value<T>(data + words, i), denormals};
    const T old = r.host ? fetch_apply<Op>(reinterpret_cast<T *>(r.at(a.va[i])), input)
                         : apply_apart<Op>(w, in, a, i, input);
    if (in.glc) set_lane_value(to, i, old);
  });
  if (r.host)
    count_bytes(w, a.lanes, sizeof(T), AccessKind::atomic, r.space);
  else
    count_by_lane(w, in, a, sizeof(T), AccessKind::atomic);
}

constexpr auto atomics = ExecClass::vmem_atomic;

#define ATOMIC(NAME, ...)                                                                          \
  Opcode{"flat_atomic_" NAME, __VA_ARGS__, atomics},                                               \
      Opcode{"global_atomic_" NAME, __VA_ARGS__, atomics}, Opcode {                                \
    "buffer_atomic_" NAME, __VA_ARGS__, atomics                                                    \
  }
#define INTEGER_ATOMIC(NAME, OP, T32, T64)                                                         \
  ATOMIC(NAME, atomic<OP<T32>>), ATOMIC(NAME "_x2", atomic<OP<T64>>)

// clang-format off
constexpr Opcode table[] = {
    FADE_INTEGER_ATOMICS(INTEGER_ATOMIC),
    ATOMIC("csub", atomic<SubClamp<u32>>),
    ATOMIC("cond_sub_u32", atomic<CondSub<u32>>),
    ATOMIC("min_num_f32", atomic<FMinNum<f32>>),
    ATOMIC("max_num_f32", atomic<FMaxNum<f32>>),

    ATOMIC("add_f32", atomic<FAdd<f32>, true>),
    ATOMIC("add_f64", atomic<FAdd<f64>>),
    ATOMIC("min_f64", atomic<FMin<f64>>),
    ATOMIC("max_f64", atomic<FMax<f64>>),
    ATOMIC("pk_add_f16", atomic<PkAddF16>),
    ATOMIC("pk_add_bf16", atomic<PkAddBf16>),
    ATOMIC("fcmpswap", atomic<FCompareSwap<f32>>),
    ATOMIC("fmin", atomic<FMin<f32>>),
    ATOMIC("fmax", atomic<FMax<f32>>),
    ATOMIC("fcmpswap_x2", atomic<FCompareSwap<f64>>),
    ATOMIC("fmin_x2", atomic<FMin<f64>>),
    ATOMIC("fmax_x2", atomic<FMax<f64>>),
};
// clang-format on

} // namespace

std::span<const Opcode> memory_atomic_opcodes() { return table; }

} // namespace fade::sim
