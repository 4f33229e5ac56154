// Scalar memory: loads, stores and atomics of scalar registers, through an address or a buffer
// resource, and the counters that are read the same way. These accesses are not counted as bytes:
// they are the wave's, not a lane's.
#include "base/clock.h"
#include "semantics/atomic_ops.h"
#include "semantics/buffer_resource.h"
#include "semantics/cache_control.h"
#include "semantics/constants.h"
#include "semantics/host_atomic.h"
#include "semantics/memory_access.h"
#include "semantics/opcodes.h"
#include "semantics/valu.h"

namespace fade::sim {
namespace {

using namespace atomic_op;

int64_t scalar_offset(const Wave &w, const Instruction &in) {
  return in.offset + static_cast<int64_t>(scalar_value(w, in.src[1], Type::u32) & 0xffffffff);
}

// Where an access goes, and how many of its bytes are inside. The two lowest bits of an address are
// ignored.
struct Target {
  uint64_t va;
  uint64_t room = ~0ull;
};
enum class Base { address, buffer, scratch };

template <Base base> Target target(const Wave &w, const Instruction &in) {
  const uint64_t sbase = w.sgpr64(in.src[0].index);
  if constexpr (base == Base::address)
    return {(sbase + static_cast<uint64_t>(scalar_offset(w, in))) & ~3ull};
  // Scalar scratch offsets count dwords of the interleaved memory.
  if constexpr (base == Base::scratch)
    return {(sbase + static_cast<uint64_t>(scalar_offset(w, in)) * 64) & ~3ull};
  const BufferResource r = buffer_resource(*w.arch, &w.sgpr[in.src[0].index]);
  const uint64_t offset = static_cast<uint64_t>(scalar_offset(w, in)) & ~3ull;
  const uint64_t size = uint64_t{r.records} * (r.stride && w.arch->gfx10_up ? r.stride : 1);
  return {r.base + offset, offset < size ? size - offset : 0};
}

// The wave's own scratch has addresses too, see constants.h.
bool in_scratch(const Wave &w, uint64_t va, uint64_t bytes) {
  const uint64_t at = va - scratch_window_base, size = uint64_t{w.scratch_bytes} * w.lanes;
  return at < size && bytes <= size - at;
}

// Host memory of an access that has all its bytes in one place; null otherwise.
std::byte *whole(Wave &w, const Target &t, unsigned bytes, bool write) {
  if (t.room < bytes) return nullptr;
  if (const Region *r = w.memory->region(t.va, bytes, write)) return r->at(t.va);
  return in_scratch(w, t.va, bytes) ? w.scratch + (t.va - scratch_window_base) : nullptr;
}

template <unsigned words>
FADE_GPU_ACCESS void read(Wave &w, const Target &t, uint32_t *values, bool past_cache) {
  if (const std::byte *p = whole(w, t, words * 4, false)) {
    for (unsigned k = 0; k < words; k++) values[k] = load_unaligned<uint32_t>(p + 4 * k);
    return;
  }
  const uint64_t bytes = std::min<uint64_t>(words * 4, t.room & ~3ull);
  std::memset(values, 0, words * 4);
  if (bytes) w.memory->read_scalar(t.va, values, bytes, past_cache);
}

template <unsigned words>
FADE_GPU_ACCESS void write(Wave &w, const Target &t, const uint32_t *values) {
  release_fence();
  if (std::byte *p = whole(w, t, words * 4, true)) {
    for (unsigned k = 0; k < words; k++) store_unaligned(p + 4 * k, values[k]);
    return;
  }
  const uint64_t bytes = std::min<uint64_t>(words * 4, t.room & ~3ull);
  if (bytes) w.memory->write_scalar(t.va, values, bytes);
}

void write_scalars(Wave &w, const Operand &to, const uint32_t *values, unsigned words) {
  if (to.index != sreg::null) std::memcpy(&w.sgpr[to.index], values, words * 4);
}

// The part that is inside.
void observe_scalar(Wave &w, const Instruction &in, const Target &t, uint32_t bytes,
                    AccessKind kind) {
  if (const uint64_t inside = std::min<uint64_t>(bytes, t.room & ~3ull))
    fade::sim::observe_scalar(w, in, t.va, static_cast<uint32_t>(inside), kind);
}

template <Base base, unsigned words> void load(Wave &w, const Instruction &in) {
  uint32_t values[words];
  const Target t = target<base>(w, in);
  observe_scalar(w, in, t, words * 4, AccessKind::load);
  read<words>(w, t, values, in.glc);
  write_scalars(w, in.dst, values, words);
}

// The data of stores and atomics is named where loads have their destination.
template <Base base, unsigned words> void store(Wave &w, const Instruction &in) {
  const Target t = target<base>(w, in);
  observe_scalar(w, in, t, words * 4, AccessKind::store);
  write<words>(w, t, &w.sgpr[in.dst.index]);
}

template <Base base, class Op> void atomic(Wave &w, const Instruction &in) {
  using T = typename Op::Value;
  constexpr unsigned words = sizeof(T) / 4;
  const Target t = target<base>(w, in);
  AtomicInput<T> input{};
  std::memcpy(&input.data, &w.sgpr[in.dst.index], sizeof(T));
  std::memcpy(&input.data2, &w.sgpr[in.dst.index + words], sizeof(T));
  T old{};
  if (t.room >= sizeof(T)) {
    const AtomicInProgress progress(w);
    observe_scalar(w, in, t, sizeof(T), AccessKind::atomic);
    if (t.va % sizeof(T)) throw MisalignedAtomic{t.va};
    old = w.memory->atomic<T>(t.va, Reach::device, [&](T *p) { return fetch_apply<Op>(p, input); });
  }
  uint32_t values[words];
  std::memcpy(values, &old, sizeof values);
  if (in.glc) write_scalars(w, in.dst, values, words);
}

void write_counter(Wave &w, const Instruction &in, uint64_t now) {
  const uint32_t values[2] = {static_cast<u32>(now), static_cast<u32>(now >> 32)};
  write_scalars(w, in.dst, values, 2);
}
void memtime(Wave &w, const Instruction &in) {
  write_counter(w, in, shader_clock(w.arch->engine_mhz));
}
void memrealtime(Wave &w, const Instruction &in) { write_counter(w, in, gpu_clock()); }

// Stores go through, so there is nothing to write back.
void write_back(Wave &, const Instruction &) { full_fence(); }
void hint(Wave &, const Instruction &) {}

constexpr auto smem = ExecClass::smem;

#define ATOMIC(NAME, ...)                                                                          \
  Opcode{"s_atomic_" NAME, atomic<Base::address, __VA_ARGS__>, smem}, Opcode {                     \
    "s_buffer_atomic_" NAME, atomic<Base::buffer, __VA_ARGS__>, smem                               \
  }
#define INTEGER_ATOMIC(NAME, OP, T32, T64) ATOMIC(NAME, OP<T32>), ATOMIC(NAME "_x2", OP<T64>)

// clang-format off
constexpr Opcode table[] = {
    {"s_load_dword", load<Base::address, 1>, smem},
    {"s_load_dwordx2", load<Base::address, 2>, smem},
    {"s_load_dwordx4", load<Base::address, 4>, smem},
    {"s_load_dwordx8", load<Base::address, 8>, smem},
    {"s_load_dwordx16", load<Base::address, 16>, smem},
    {"s_buffer_load_dword", load<Base::buffer, 1>, smem},
    {"s_buffer_load_dwordx2", load<Base::buffer, 2>, smem},
    {"s_buffer_load_dwordx4", load<Base::buffer, 4>, smem},
    {"s_buffer_load_dwordx8", load<Base::buffer, 8>, smem},
    {"s_buffer_load_dwordx16", load<Base::buffer, 16>, smem},
    {"s_scratch_load_dword", load<Base::scratch, 1>, smem},
    {"s_scratch_load_dwordx2", load<Base::scratch, 2>, smem},
    {"s_scratch_load_dwordx4", load<Base::scratch, 4>, smem},
    {"s_store_dword", store<Base::address, 1>, smem},
    {"s_store_dwordx2", store<Base::address, 2>, smem},
    {"s_store_dwordx4", store<Base::address, 4>, smem},
    {"s_buffer_store_dword", store<Base::buffer, 1>, smem},
    {"s_buffer_store_dwordx2", store<Base::buffer, 2>, smem},
    {"s_buffer_store_dwordx4", store<Base::buffer, 4>, smem},
    {"s_scratch_store_dword", store<Base::scratch, 1>, smem},
    {"s_scratch_store_dwordx2", store<Base::scratch, 2>, smem},
    {"s_scratch_store_dwordx4", store<Base::scratch, 4>, smem},
    FADE_INTEGER_ATOMICS(INTEGER_ATOMIC),
    {"s_memtime", memtime, smem},
    {"s_memrealtime", memrealtime, smem},
    with(Effect::invalidates, Opcode{"s_dcache_inv", invalidate_scalar, smem}),
    with(Effect::invalidates, Opcode{"s_dcache_inv_vol", invalidate_scalar, smem}),
    with(Effect::writes_back, Opcode{"s_dcache_wb", write_back, smem}),
    with(Effect::writes_back, Opcode{"s_dcache_wb_vol", write_back, smem}),
    with(Effect::invalidates, Opcode{"s_gl1_inv", invalidate_vector, smem}),
    {"s_dcache_discard", hint, smem},
    {"s_dcache_discard_x2", hint, smem},
    {"s_atc_probe", hint, smem},
    {"s_atc_probe_buffer", hint, smem},
};
// clang-format on

} // namespace

std::span<const Opcode> scalar_memory_opcodes() { return table; }

} // namespace fade::sim
