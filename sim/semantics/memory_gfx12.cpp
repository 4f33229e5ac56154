// Memory instructions that gfx12 adds: scalar loads of less than a dword and of three, prefetches,
// cache control by scope, transposed loads, loads and stores of blocks of registers.
#include "semantics/buffer_resource.h"
#include "semantics/cache_control.h"
#include "semantics/memory_access.h"
#include "semantics/opcodes.h"
#include "semantics/valu.h"

#include <algorithm>
#include <cstring>

namespace fade::sim {
namespace {

// Each part of an address is aligned by itself: to a dword, or to what less is loaded.
template <unsigned bytes> uint64_t aligned(uint64_t part) {
  constexpr uint64_t size = bytes < 4 ? bytes : 4;
  return part & ~(size - 1);
}

template <bool buffer, class T, unsigned count> void load_scalar(Wave &w, const Instruction &in) {
  constexpr unsigned bytes = sizeof(T) * count;
  const auto immediate = static_cast<uint64_t>(static_cast<int64_t>(in.offset));
  const uint64_t scalar = static_cast<uint32_t>(scalar_value(w, in.src[1], Type::u32));
  const uint64_t offset = aligned<sizeof(T)>(immediate) + aligned<sizeof(T)>(scalar);
  uint64_t base = w.sgpr64(in.src[0].index), room = bytes;
  if constexpr (buffer) {
    const BufferResource r = buffer_resource(*w.arch, &w.sgpr[in.src[0].index]);
    const uint64_t size = aligned<sizeof(T)>(uint64_t{r.records} * std::max(1u, r.stride));
    base = r.base;
    room = offset < size ? std::min<uint64_t>(bytes, size - offset) : 0;
  }
  const uint64_t va = aligned<sizeof(T)>(base) + offset;
  T values[count] = {};
  if (room) {
    observe_scalar(w, in, va, static_cast<uint32_t>(room), AccessKind::load);
    w.memory->read_scalar(va, values, room, in.glc);
  }
  if (in.dst.index == sreg::null) return;
  for (unsigned n = 0; n < count; n++)
    w.sgpr[in.dst.index + n] = static_cast<uint32_t>(static_cast<int32_t>(values[n]));
}

void prefetch(Wave &, const Instruction &) {}

// The compute unit's scope asks for nothing, the shader engine's and the device's for the caches
// before L2, the system's for L2, too. Stores go through to L2.
void invalidate_scope(Wave &w, const Instruction &in) {
  full_fence();
  if (in.glc) invalidate_vector(w, in);
  if (in.slc) invalidate_l2(w, in);
}
void write_back_scope(Wave &w, const Instruction &in) {
  full_fence();
  if (in.slc) write_back_l2(w, in);
}
void write_back_and_invalidate(Wave &w, const Instruction &in) {
  write_back_scope(w, in);
  invalidate_scope(w, in);
}

// A block: of 32 registers those whose bit in M0 is set, with room in memory for the others.
template <bool stores> void move_block(Wave &w, const Instruction &in) {
  const uint32_t chosen = w.sgpr[sreg::m0];
  LaneAddresses parts[32];
  for (unsigned k = 0; k < 32; k++) {
    Instruction one = in;
    one.offset = in.offset + static_cast<int32_t>(4 * k);
    if (chosen >> k & 1) vector_addresses(w, one, 4, parts[k]);
  }
  for (unsigned k = 0; k < 32; k++) {
    if (!(chosen >> k & 1)) continue;
    LaneAddresses &a = parts[k];
    Row *row = &w.vgpr[(stores ? in.src[1].index : in.dst.index) + k];
    if (stores)
      observe_store(w, in, a, 4, {row});
    else
      observe(w, in, a, 4, AccessKind::load);
    for_lanes(a.lanes, [&](unsigned lane) {
      if constexpr (stores)
        write_lane(w, in, a, lane, &(*row)[lane], 4);
      else
        read_lane(w, in, a, lane, &(*row)[lane], 4);
    });
    count_by_lane(w, in, a, 4, stores ? AccessKind::store : AccessKind::load);
  }
}

// Transposed loads: lanes 0 to 31 load eight elements each, of 16 or 8 bits, and lanes exchange
// them, so that a lane ends up with one element each of eight lanes. For 16 bits these are the
// eight lanes around it; for 8 bits, four of its own half of a row and four of the other half:
// source lane {h, v, q, j[1:0]}, element e, becomes lane {h, q, e[2:0]}, element {v, j[1:0]}. In a
// wave64 the upper half of the registers lies in the lanes from 32 on.
template <unsigned Width> void load_transposed(Wave &w, const Instruction &in) {
  constexpr unsigned bytes = Width, per_word = 32 / Width, words = 8 / per_word;
  LaneAddresses a;
  vector_addresses(w, in, bytes, a);
  a.lanes &= 0xffffffff;
  if (!a.lanes) return;
  observe(w, in, a, bytes, AccessKind::load);
  uint32_t loaded[32][words] = {}, turned[32][words] = {};
  for_lanes(a.lanes, [&](unsigned lane) { read_lane(w, in, a, lane, loaded[lane], bytes); });
  count_by_lane(w, in, a, bytes, AccessKind::load);
  for (unsigned from = 0; from < 32; from++)
    for (unsigned e = 0; e < 8; e++) {
      const uint32_t value =
          loaded[from][e / per_word] >> Width * (e % per_word) & ((1u << Width) - 1);
      const bool is_wide = Width == 16;
      const unsigned to = is_wide ? (from & 24) + e : (from & 16) + 2 * (from & 4) + e;
      const unsigned at = is_wide ? from % 8 : (from & 8) / 2 + from % 4;
      turned[to][at / per_word] |= value << Width * (at % per_word);
    }
  const unsigned registers = words * 32 / w.lanes;
  for (unsigned k = 0; k < registers; k++)
    for (unsigned lane = 0; lane < w.lanes; lane++)
      if (w.active()[lane])
        w.vgpr[in.dst.index + k][lane] = turned[lane % 32][k + lane / 32 * registers];
}

constexpr auto smem = ExecClass::smem;

#define SCALAR_LOADS(NAME, ...)                                                                    \
  Opcode{"s_load_" NAME, load_scalar<false, __VA_ARGS__>, smem}, Opcode {                          \
    "s_buffer_load_" NAME, load_scalar<true, __VA_ARGS__>, smem                                    \
  }

// clang-format off
constexpr Opcode table[] = {
    SCALAR_LOADS("b96", u32, 3),
    SCALAR_LOADS("u8", u8, 1),
    SCALAR_LOADS("i8", i8, 1),
    SCALAR_LOADS("u16", u16, 1),
    SCALAR_LOADS("i16", i16, 1),
    {"s_prefetch_inst", prefetch, smem},
    {"s_prefetch_inst_pc_rel", prefetch, smem},
    {"s_prefetch_data", prefetch, smem},
    {"s_prefetch_data_pc_rel", prefetch, smem},
    {"s_buffer_prefetch_data", prefetch, smem},
    with(Effect::invalidates, Opcode{"global_inv", invalidate_scope, ExecClass::other}),
    with(Effect::writes_back, Opcode{"global_wb", write_back_scope, ExecClass::other}),
    with(Effect::writes_back, with(Effect::invalidates,
         Opcode{"global_wbinv", write_back_and_invalidate, ExecClass::other})),
    {"global_load_tr_b128", load_transposed<16>, ExecClass::vmem_load},
    {"global_load_tr_b64", load_transposed<8>, ExecClass::vmem_load},
    {"global_load_block", move_block<false>, ExecClass::vmem_load},
    {"global_store_block", move_block<true>, ExecClass::vmem_store},
    {"scratch_load_block", move_block<false>, ExecClass::vmem_load},
    {"scratch_store_block", move_block<true>, ExecClass::vmem_store},
};
// clang-format on

} // namespace

std::span<const Opcode> memory_gfx12_opcodes() { return table; }

} // namespace fade::sim
