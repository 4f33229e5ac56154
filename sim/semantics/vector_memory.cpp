// Loads and stores of vector registers: flat, global, scratch and buffer instructions, which differ
// in how an address is formed and in nothing else.
#include "semantics/vector_memory.h"

#include "semantics/cache_control.h"
#include "semantics/lds.h"
#include "semantics/opcodes.h"

#include <vector>

namespace fade::sim {
namespace {

// Two registers that lie side by side in memory move as one: 64-bit atomic loads and stores of a
// program are plain instructions, so they must not be torn. Volatile, lest the compiler split or
// join them.
template <class I> constexpr bool is_pair = I::count == 2 && sizeof(typename I::Value) == 4;
using UnalignedPair __attribute__((aligned(1), may_alias)) = u64;
FADE_GPU_ACCESS inline u64 load_pair(const std::byte *p) {
  return *reinterpret_cast<const volatile UnalignedPair *>(p);
}
FADE_GPU_ACCESS inline void store_pair(std::byte *p, uint32_t low, uint32_t high) {
  *reinterpret_cast<volatile UnalignedPair *>(p) = u64{high} << 32 | low;
}

// Four registers move as one too, and four lanes at a time: as a square of words, which is turned.
template <class I> constexpr bool is_quad = I::count == 4 && sizeof(typename I::Value) == 4;
template <bool full, class At>
FADE_GPU_ACCESS void load_quads(Row *__restrict to, const uint32_t *__restrict mask, unsigned lanes,
                                At &&at) {
  const bool whole = host_moves_quads;
  for (unsigned i = 0; i < lanes; i += 4) {
    Quad square[4];
    for (unsigned k = 0; k < 4; k++) square[k] = load_quad(at(i + k), whole);
    transpose(square);
    for (unsigned k = 0; k < 4; k++) {
      LooseQuad &r = *reinterpret_cast<LooseQuad *>(&to[k][i]);
      if constexpr (full) {
        r = square[k];
      } else {
        const Quad m = *reinterpret_cast<const LooseQuad *>(&mask[i]);
        r = (square[k] & m) | (r & ~m);
      }
    }
  }
}
FADE_GPU_ACCESS void store_quads(const Row *__restrict from, std::byte *__restrict p,
                                 unsigned lanes) {
  const bool whole = host_moves_quads;
  for (unsigned i = 0; i < lanes; i += 4) {
    Quad square[4];
    for (unsigned k = 0; k < 4; k++) square[k] = *reinterpret_cast<const LooseQuad *>(&from[k][i]);
    transpose(square);
    for (unsigned k = 0; k < 4; k++) store_quad(p + (i + k) * sizeof(Quad), square[k], whole);
  }
}

template <class I>
FADE_GPU_ACCESS void load_lane(Row *to, unsigned lane, const std::byte *p, uint32_t stride) {
  for (unsigned k = 0; k < I::count; k++)
    to[k][lane] = I::to_register(load_unaligned<typename I::Value>(p + k * stride), to[k][lane]);
}
template <class I>
FADE_GPU_ACCESS void store_lane(const Row *from, unsigned lane, std::byte *p, uint32_t stride) {
  if constexpr (is_pair<I>)
    if (stride == 4) return store_pair(p, from[0][lane], from[1][lane]);
  if constexpr (is_quad<I>)
    if (stride == 4)
      return store_quad(p, Quad{from[0][lane], from[1][lane], from[2][lane], from[3][lane]},
                        host_moves_quads);
  for (unsigned k = 0; k < I::count; k++)
    store_unaligned(p + k * stride, I::from_register(from[k][lane]));
}

// All lanes of a run, 32 at a time, so that the loops become wide moves. Registers never overlap
// GPU memory.
template <class I, bool full>
FADE_GPU_ACCESS void load_run(Row *__restrict to, const std::byte *__restrict p,
                              uint32_t word_stride, const uint32_t *__restrict mask,
                              unsigned lanes) {
  using Value = typename I::Value;
  if constexpr (is_quad<I>)
    if (word_stride == 4)
      return load_quads<full>(to, mask, lanes, [&](unsigned i) { return p + i * I::bytes; });
  auto put = [&](unsigned k, unsigned i, Value loaded) {
    uint32_t &r = to[k][i];
    const uint32_t v = I::to_register(loaded, r);
    r = full ? v : (v & mask[i]) | (r & ~mask[i]);
  };
  for (unsigned base = 0; base < lanes; base += 32) {
    if (word_stride == 4) {
      for (unsigned i = base; i < base + 32; i++)
        if constexpr (is_pair<I>) {
          const u64 both = load_pair(p + i * I::bytes);
          put(0, i, static_cast<Value>(both)), put(1, i, static_cast<Value>(both >> 32));
        } else {
          for (unsigned k = 0; k < I::count; k++)
            put(k, i, load_unaligned<Value>(p + i * I::bytes + k * 4));
        }
    } else {
      for (unsigned k = 0; k < I::count; k++)
        for (unsigned i = base; i < base + 32; i++)
          put(k, i, load_unaligned<Value>(p + k * word_stride + i * 4));
    }
  }
}
template <class I>
void load_run(Wave &w, Row *to, const std::byte *p, uint32_t word_stride, const LaneMask &mask) {
  if (mask.full())
    load_run<I, true>(to, p, word_stride, nullptr, w.lanes);
  else
    load_run<I, false>(to, p, word_stride, mask.words(), w.lanes);
}
template <class I>
FADE_GPU_ACCESS void store_run(const Row *__restrict from, std::byte *__restrict p,
                               uint32_t word_stride, unsigned lanes) {
  if constexpr (is_quad<I>)
    if (word_stride == 4) return store_quads(from, p, lanes);
  for (unsigned base = 0; base < lanes; base += 32) {
    if (word_stride == 4) {
      for (unsigned i = base; i < base + 32; i++)
        if constexpr (is_pair<I>)
          store_pair(p + i * I::bytes, from[0][i], from[1][i]);
        else
          for (unsigned k = 0; k < I::count; k++)
            store_unaligned(p + i * I::bytes + k * 4, I::from_register(from[k][i]));
    } else {
      for (unsigned k = 0; k < I::count; k++)
        for (unsigned i = base; i < base + 32; i++)
          store_unaligned(p + k * word_stride + i * 4, I::from_register(from[k][i]));
    }
  }
}

// Lanes anywhere in one range. All of them load, so that the loop has no branches: an inactive one
// reads where the range begins, and drops it.
template <class I, bool full>
FADE_GPU_ACCESS void load_scattered(Row *__restrict to, const HostRange &r, const LaneAddresses &a,
                                    const uint32_t *__restrict mask, unsigned lanes) {
  if constexpr (is_quad<I>)
    if (a.word_stride == 4)
      return load_quads<full>(to, mask, lanes, [&](unsigned i) {
        const uint32_t m = full ? ~0u : mask[i];
        return r.host +
               ((a.va[i] - r.base) & static_cast<uint64_t>(int64_t{static_cast<int32_t>(m)}));
      });
  for (unsigned i = 0; i < lanes; i++) {
    const uint32_t m = full ? ~0u : mask[i];
    const std::byte *p =
        r.host + ((a.va[i] - r.base) & static_cast<uint64_t>(int64_t{static_cast<int32_t>(m)}));
    auto put = [&](unsigned k, typename I::Value loaded) {
      uint32_t &reg = to[k][i];
      const uint32_t v = I::to_register(loaded, reg);
      reg = full ? v : (v & m) | (reg & ~m);
    };
    if constexpr (is_pair<I>)
      if (a.word_stride == 4) {
        const u64 both = load_pair(p);
        put(0, static_cast<u32>(both)), put(1, static_cast<u32>(both >> 32));
        continue;
      }
    for (unsigned k = 0; k < I::count; k++)
      put(k, load_unaligned<typename I::Value>(p + k * a.word_stride));
  }
}
template <class I>
void load_scattered(Wave &w, Row *to, const HostRange &r, const LaneAddresses &a,
                    const LaneMask &mask) {
  if (mask.full())
    load_scattered<I, true>(to, r, a, nullptr, w.lanes);
  else
    load_scattered<I, false>(to, r, a, mask.words(), w.lanes);
}
template <class I>
FADE_GPU_ACCESS void store_scattered(const Row *from, const HostRange &r, const LaneAddresses &a) {
  for (uint64_t lanes = a.lanes; lanes; lanes &= lanes - 1) {
    const auto i = static_cast<unsigned>(std::countr_zero(lanes));
    store_lane<I>(from, i, r.at(a.va[i]), a.word_stride);
  }
}

// A lane outside of a buffer reads zero.
template <class I> void clear_lanes(Row *to, uint64_t lanes) {
  for_lanes(lanes, [&](unsigned i) {
    for (unsigned k = 0; k < I::count; k++) to[k][i] = I::to_register(0, to[k][i]);
  });
}

template <class I>
void load_apart(Wave &w, const Instruction &in, const LaneAddresses &a, Row *to) {
  for_lanes(a.lanes, [&](unsigned i) {
    std::byte room[I::bytes];
    read_lane(w, in, a, i, room, I::bytes);
    load_lane<I>(to, i, room, 4);
  });
  count_by_lane(w, in, a, I::bytes, AccessKind::load);
}

// Loads what `a` points to; lanes cut off by a buffer's bounds get zero.
template <class I> void load_to(Wave &w, const Instruction &in, const LaneAddresses &a, Row *to) {
  if (a.lanes != w.active_exec) [[unlikely]]
    clear_lanes<I>(to, w.active_exec & ~a.lanes);
  if (!a.lanes) return;
  observe(w, in, a, I::bytes, AccessKind::load);
  const LaneMask mask(w, a.lanes);
  const HostRange r = locate(w, a, mask, I::bytes, false);
  if (!r.host) [[unlikely]]
    return load_apart<I>(w, in, a, to);
  if (r.run)
    load_run<I>(w, to, r.run, a.word_stride, mask);
  else
    load_scattered<I>(w, to, r, a, mask);
  count_bytes(w, a.lanes, I::bytes, AccessKind::load, r.space);
}

// Calls move(addresses, first register) for each dword of an access that must be made dword by
// dword. All addresses are formed before the first move, which may overwrite the registers that
// they come from.
template <unsigned words, class F> void word_by_word(Wave &w, const Instruction &in, F &&move) {
  LaneAddresses parts[words];
  for (unsigned k = 0; k < words; k++) vector_addresses(w, in, 4, parts[k], 4 * k);
  for (unsigned k = 0; k < words; k++) move(parts[k], k);
}

// Where loads to LDS put what each lane has. Of M0, gfx950 takes bits 17 to 2; three dwords take
// the room of four.
LdsAddresses places_in_lds(const Wave &w, const Instruction &in, uint32_t bytes) {
  const auto offset = static_cast<uint32_t>(in.offset);
  if (w.arch->id != Gfx::gfx950) return lds_addresses_by_lane(w, offset);
  LdsAddresses a;
  for (unsigned i = 0; i < 64; i++)
    a.at[i] = (w.sgpr[sreg::m0] & 0x3fffc) + offset + i * (bytes == 12 ? 16 : bytes);
  a.inside = false; // not checked
  return a;
}

// To LDS instead of registers: each lane has a dword behind M0's address, whatever size it loads,
// or four for three and four.
template <class I> void load_to_lds(Wave &w, const Instruction &in) {
  LaneAddresses a;
  vector_addresses(w, in, I::bytes, a);
  Row values[I::count] = {};
  load_to<I>(w, in, a, values);
  constexpr uint32_t bytes = 4 * I::count;
  const LdsAddresses to = places_in_lds(w, in, bytes);
  observe_lds_store(w, in, to.at, w.active_exec, bytes, {values, true});
  for_lanes(w.active_exec, [&](unsigned i) {
    for (unsigned k = 0; k < I::count; k++) lds_write(w, to.at[i] + 4 * k, values[k][i]);
  });
  count_bytes(w, w.active_exec, bytes, AccessKind::store, Space::lds);
}

template <class I> void load(Wave &w, const Instruction &in) {
  if constexpr (I::is_half)
    if (w.arch->sram_ecc) return load<typename I::Alone>(w, in);
  if constexpr (I::count == 1)
    if (in.lds) [[unlikely]]
      return load_to_lds<I>(w, in);
  if constexpr (I::count >= 3)
    if (in.lds && w.arch->id == Gfx::gfx950) [[unlikely]]
      return load_to_lds<I>(w, in);
  if (w.active_exec)
    if (const Run run = find_run(w, in, I::bytes, false);
        run.host && observe_run(w, in, run, I::bytes, AccessKind::load, {})) {
      load_run<I>(w, &w.vgpr[in.dst.index], run.host, run.word_stride, LaneMask(w, w.active_exec));
      return count_bytes(w, w.active_exec, I::bytes, AccessKind::load, run.space);
    }
  LaneAddresses a;
  vector_addresses(w, in, I::bytes, a);
  Row *to = &w.vgpr[in.dst.index];
  if constexpr (I::count > 1)
    if (a.word_by_word) [[unlikely]]
      return word_by_word<I::count>(w, in, [&](const LaneAddresses &part, unsigned k) {
        load_to<Item<u32, 1>>(w, in, part, to + k);
      });
  load_to<I>(w, in, a, to);
}

template <class I>
void store_apart(Wave &w, const Instruction &in, const LaneAddresses &a, const Row *from) {
  for_lanes(a.lanes, [&](unsigned i) {
    std::byte room[I::bytes];
    store_lane<I>(from, i, room, 4);
    write_lane(w, in, a, i, room, I::bytes);
  });
  count_by_lane(w, in, a, I::bytes, AccessKind::store);
}

template <class I>
void store_from(Wave &w, const Instruction &in, const LaneAddresses &a, const Row *from) {
  if (!a.lanes) return;
  observe_store(w, in, a, I::bytes, {from});
  release_fence();
  const LaneMask mask(w, a.lanes);
  const HostRange r = locate(w, a, mask, I::bytes, true);
  if (!r.host) [[unlikely]]
    return store_apart<I>(w, in, a, from);
  if (r.run && mask.full())
    store_run<I>(from, r.run, a.word_stride, w.lanes);
  else
    store_scattered<I>(from, r, a);
  count_bytes(w, a.lanes, I::bytes, AccessKind::store, r.space);
}

template <class I> void store(Wave &w, const Instruction &in) {
  if (w.all_active)
    if (const Run run = find_run(w, in, I::bytes, true);
        run.host &&
        observe_run(w, in, run, I::bytes, AccessKind::store, {&w.vgpr[in.src[1].index]})) {
      release_fence();
      store_run<I>(&w.vgpr[in.src[1].index], run.host, run.word_stride, w.lanes);
      return count_bytes(w, w.active_exec, I::bytes, AccessKind::store, run.space);
    }
  LaneAddresses a;
  vector_addresses(w, in, I::bytes, a);
  const Row *from = &w.vgpr[in.src[1].index];
  if constexpr (I::count > 1)
    if (a.word_by_word) [[unlikely]]
      return word_by_word<I::count>(w, in, [&](const LaneAddresses &part, unsigned k) {
        store_from<Item<u32, 1>>(w, in, part, from + k);
      });
  store_from<I>(w, in, a, from);
}

void store_from_lds(Wave &w, const Instruction &in) {
  const LdsAddresses from = lds_addresses_by_lane(w, static_cast<uint32_t>(in.offset));
  Row values[1];
  observe_lds(w, in, from.at, w.active_exec, 4, AccessKind::load);
  for_lanes(w.active_exec, [&](unsigned i) { values[0][i] = lds_read<u32>(w, from.at[i]); });
  count_bytes(w, w.active_exec, 4, AccessKind::load, Space::lds);
  LaneAddresses a;
  vector_addresses(w, in, 4, a);
  store_from<Item<u32, 1>>(w, in, a, values);
}

// Scalar base and the lane's number: no address register.
void addresses_by_lane(const Wave &w, const Instruction &in, LaneAddresses &a) {
  const uint64_t base =
      (in.saddr ? w.sgpr64(in.src[2].index) : 0) + static_cast<uint64_t>(int64_t{in.offset});
  for (unsigned i = 0; i < 64; i++) a.va[i] = base + i * 4;
  a.lanes = w.active_exec;
}
void load_addtid(Wave &w, const Instruction &in) {
  LaneAddresses a;
  addresses_by_lane(w, in, a);
  load_to<Item<u32, 1>>(w, in, a, &w.vgpr[in.dst.index]);
}
void store_addtid(Wave &w, const Instruction &in) {
  LaneAddresses a;
  addresses_by_lane(w, in, a);
  store_from<Item<u32, 1>>(w, in, a, &w.vgpr[in.src[1].index]);
}

constexpr Opcode invalidating(const char *name, Handler handler) {
  return with(Effect::invalidates, Opcode{name, handler, ExecClass::other});
}

constexpr auto loads = ExecClass::vmem_load;
constexpr auto stores = ExecClass::vmem_store;

#define FADE_LDS_FORMS(TYPE, ...)                                                                  \
  with(LdsUse::writes, Opcode{"global_load_lds_" TYPE, __VA_ARGS__, loads}),                       \
      with(LdsUse::writes, Opcode{"scratch_load_lds_" TYPE, __VA_ARGS__, loads}),                  \
      with(LdsUse::writes, Opcode{"buffer_load_lds_" TYPE, __VA_ARGS__, loads})

// clang-format off
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

    {"global_load_dword_addtid", load_addtid, loads},
    {"global_store_dword_addtid", store_addtid, stores},

    FADE_LDS_FORMS("dword", load_to_lds<Item<u32, 1>>),
    FADE_LDS_FORMS("dwordx3", load_to_lds<Item<u32, 3>>),
    FADE_LDS_FORMS("dwordx4", load_to_lds<Item<u32, 4>>),
    FADE_LDS_FORMS("ubyte", load_to_lds<Item<u8, 1>>),
    FADE_LDS_FORMS("sbyte", load_to_lds<Item<int8_t, 1>>),
    FADE_LDS_FORMS("ushort", load_to_lds<Item<u16, 1>>),
    FADE_LDS_FORMS("sshort", load_to_lds<Item<i16, 1>>),
    with(LdsUse::reads, Opcode{"buffer_store_lds_dword", store_from_lds, stores}),

    invalidating("buffer_wbinvl1", invalidate_vector),
    invalidating("buffer_wbinvl1_vol", invalidate_vector),
    with(Effect::writes_back, Opcode{"buffer_wbl2", write_back_l2, ExecClass::other}),
    invalidating("buffer_invl2", invalidate_l2),
    invalidating("buffer_inv", invalidate_to_scope),
    invalidating("buffer_gl0_inv", invalidate_vector),
    with(Effect::reaches_device, invalidating("buffer_gl1_inv", invalidate_vector)),
};
// clang-format on

} // namespace

std::span<const Opcode> load_store_opcodes() { return table; }

std::span<const Opcode> vector_memory_opcodes() {
  static const std::vector<Opcode> all = [] {
    std::vector<Opcode> v;
    for (auto part :
         {load_store_opcodes(), memory_atomic_opcodes(), typed_buffer_opcodes(), image_opcodes()})
      v.insert(v.end(), part.begin(), part.end());
    return v;
  }();
  return all;
}

} // namespace fade::sim
