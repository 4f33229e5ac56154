// Loads and stores of vector registers: flat, global, scratch and buffer instructions, which differ in how an address is
// formed and in nothing else.
#include "isa/vector_memory.h"

#include "isa/memory_access.h"

#include <vector>

namespace fade::sim {
namespace {

template <class I> FADE_GPU_ACCESS void load_lane(Row *to, unsigned lane, const std::byte *p, uint32_t stride) {
  for (unsigned k = 0; k < I::count; k++)
    to[k][lane] = I::to_register(load_unaligned<typename I::Value>(p + k * stride), to[k][lane]);
}
template <class I> FADE_GPU_ACCESS void store_lane(const Row *from, unsigned lane, std::byte *p, uint32_t stride) {
  for (unsigned k = 0; k < I::count; k++) store_unaligned(p + k * stride, I::from_register(from[k][lane]));
}

// Each lane's value lies right behind the one before: the loops below become wide moves.
template <class I> FADE_GPU_ACCESS void load_run(Row *to, const std::byte *p, unsigned lanes) {
  for (unsigned base = 0; base < lanes; base += 32)
    for (unsigned i = base; i < base + 32; i++) load_lane<I>(to, i, p + i * I::bytes, 4);
}
template <class I> FADE_GPU_ACCESS void store_run(const Row *from, std::byte *p, unsigned lanes) {
  for (unsigned base = 0; base < lanes; base += 32)
    for (unsigned i = base; i < base + 32; i++) store_lane<I>(from, i, p + i * I::bytes, 4);
}

// A lane outside of a buffer reads zero.
template <class I> void clear_lanes(Row *to, uint64_t lanes) {
  for_lanes(lanes, [&](unsigned i) {
    for (unsigned k = 0; k < I::count; k++) to[k][i] = I::to_register(0, to[k][i]);
  });
}

template <class I> void load_apart(Wave &w, const Instruction &in, const LaneAddresses &a) {
  Row *to = &w.vgpr[in.dst.index];
  for_lanes(a.lanes, [&](unsigned i) {
    std::byte room[I::bytes];
    read_lane(w, in, a, i, room, I::bytes);
    load_lane<I>(to, i, room, 4);
  });
  account_by_lane(w, in, a, I::bytes, AccessKind::load);
}

template <class I> void load(Wave &w, const Instruction &in) {
  LaneAddresses a;
  vector_addresses(w, in, I::bytes, a);
  Row *to = &w.vgpr[in.dst.index];
  if (a.lanes != w.active_exec) [[unlikely]]
    clear_lanes<I>(to, w.active_exec & ~a.lanes);
  if (!a.lanes) return;
  const HostRange r = locate(w, a, I::bytes, false);
  if (!r.host) [[unlikely]]
    return load_apart<I>(w, in, a);
  if (r.contiguous) load_run<I>(to, r.host, w.lanes);
  else for_lanes(a.lanes, [&](unsigned i) { load_lane<I>(to, i, r.at(a.va[i]), a.word_stride); });
  account(w, in, a, I::bytes, AccessKind::load, r.space);
}

template <class I> void store_apart(Wave &w, const Instruction &in, const LaneAddresses &a) {
  const Row *from = &w.vgpr[in.src[1].index];
  for_lanes(a.lanes, [&](unsigned i) {
    std::byte room[I::bytes];
    store_lane<I>(from, i, room, 4);
    write_lane(w, in, a, i, room, I::bytes);
  });
  account_by_lane(w, in, a, I::bytes, AccessKind::store);
}

template <class I> void store(Wave &w, const Instruction &in) {
  LaneAddresses a;
  vector_addresses(w, in, I::bytes, a);
  if (!a.lanes) return;
  release_fence();
  const Row *from = &w.vgpr[in.src[1].index];
  const HostRange r = locate(w, a, I::bytes, true);
  if (!r.host) [[unlikely]]
    return store_apart<I>(w, in, a);
  if (r.contiguous) store_run<I>(from, r.host, w.lanes);
  else for_lanes(a.lanes, [&](unsigned i) { store_lane<I>(from, i, r.at(a.va[i]), a.word_stride); });
  account(w, in, a, I::bytes, AccessKind::store, r.space);
}

// Cache invalidation and write-back: there are no caches here, but what they order stays ordered.
void cache_control(Wave &, const Instruction &) { full_fence(); }

constexpr auto loads = ExecClass::vmem_load;
constexpr auto stores = ExecClass::vmem_store;

constexpr Opcode table[] = {
    FADE_ALL_SPACES("load_dword", load<Item<u32, 1>>, loads),
    FADE_ALL_SPACES("load_dwordx2", load<Item<u32, 2>>, loads),
    FADE_ALL_SPACES("load_dwordx3", load<Item<u32, 3>>, loads),
    FADE_ALL_SPACES("load_dwordx4", load<Item<u32, 4>>, loads),
    FADE_ALL_SPACES("load_ubyte", load<Item<u8, 1>>, loads),
    FADE_ALL_SPACES("load_sbyte", load<Item<int8_t, 1>>, loads),
    FADE_ALL_SPACES("load_ushort", load<Item<u16, 1>>, loads),
    FADE_ALL_SPACES("load_sshort", load<Item<i16, 1>>, loads),
    FADE_ALL_SPACES("load_ubyte_d16", load<Item<u8, 1, Part::low>>, loads),
    FADE_ALL_SPACES("load_ubyte_d16_hi", load<Item<u8, 1, Part::high>>, loads),
    FADE_ALL_SPACES("load_sbyte_d16", load<Item<int8_t, 1, Part::low>>, loads),
    FADE_ALL_SPACES("load_sbyte_d16_hi", load<Item<int8_t, 1, Part::high>>, loads),
    FADE_ALL_SPACES("load_short_d16", load<Item<u16, 1, Part::low>>, loads),
    FADE_ALL_SPACES("load_short_d16_hi", load<Item<u16, 1, Part::high>>, loads),

    FADE_ALL_SPACES("store_dword", store<Item<u32, 1>>, stores),
    FADE_ALL_SPACES("store_dwordx2", store<Item<u32, 2>>, stores),
    FADE_ALL_SPACES("store_dwordx3", store<Item<u32, 3>>, stores),
    FADE_ALL_SPACES("store_dwordx4", store<Item<u32, 4>>, stores),
    FADE_ALL_SPACES("store_byte", store<Item<u8, 1>>, stores),
    FADE_ALL_SPACES("store_byte_d16_hi", store<Item<u8, 1, Part::high>>, stores),
    FADE_ALL_SPACES("store_short", store<Item<u16, 1>>, stores),
    FADE_ALL_SPACES("store_short_d16_hi", store<Item<u16, 1, Part::high>>, stores),

    {"buffer_wbinvl1", cache_control, ExecClass::other},
    {"buffer_wbinvl1_vol", cache_control, ExecClass::other},
    {"buffer_wbl2", cache_control, ExecClass::other},
    {"buffer_invl2", cache_control, ExecClass::other},
    {"buffer_inv", cache_control, ExecClass::other},
    {"buffer_gl0_inv", cache_control, ExecClass::other},
    {"buffer_gl1_inv", cache_control, ExecClass::other},
};

} // namespace

std::span<const Opcode> load_store_opcodes() { return table; }

std::span<const Opcode> vector_memory_opcodes() {
  static const std::vector<Opcode> all = [] {
    std::vector<Opcode> v;
    for (auto part : {load_store_opcodes(), memory_atomic_opcodes()}) v.insert(v.end(), part.begin(), part.end());
    return v;
  }();
  return all;
}

} // namespace fade::sim
