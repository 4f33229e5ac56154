// LDS: loads and stores. A workgroup's LDS is touched only by the worker that runs the workgroup,
// so nothing here is atomic or fenced. An access beyond the allocation reads zero and writes
// nothing, each dword by itself.
#include "semantics/lds.h"
#include "semantics/opcodes.h"

#include <vector>

namespace fade::sim {

LdsAddresses lds_addresses(const Wave &w, const Instruction &in, uint32_t offset, uint32_t bytes) {
  // There is no global data share: no compute program has had one since gfx8.
  if (in.gds) [[unlikely]]
    throw IllegalInstruction{in.pc, "global data share"};
  LdsAddresses a;
  const uint32_t *row = w.vgpr[in.src[0].index];
  const uint32_t size = w.group->lds_bytes;
  const uint32_t limit = size >= bytes ? size - bytes + 1 : 0; // addresses below are fine
  const uint32_t *active = w.active();
  uint32_t outside = 0;
  for (unsigned i = 0; i < 64; i++) {
    a.at[i] = row[i] + offset;
    outside |= (a.at[i] >= limit ? ~0u : 0u) & active[i];
  }
  a.inside = !outside;
  return a;
}

LdsAddresses lds_addresses_by_lane(const Wave &w, uint32_t offset) {
  LdsAddresses a;
  for (unsigned i = 0; i < 64; i++) a.at[i] = (w.sgpr[sreg::m0] & 0xffff) + offset + i * 4;
  a.inside = false; // not checked
  return a;
}

namespace {

// When all active lanes are inside, all lanes load and the inactive ones drop what they read at 0:
// no branches.
template <class I> void read_at(Wave &w, const LdsAddresses &a, Row *to) {
  if (!w.active_exec) return;
  const std::byte *lds = w.group->lds;
  if (a.inside && w.all_active) {
    for (unsigned i = 0; i < w.lanes; i++)
      for (unsigned k = 0; k < I::count; k++)
        to[k][i] =
            I::to_register(load_unaligned<typename I::Value>(lds + a.at[i] + k * 4), to[k][i]);
    return;
  }
  if (a.inside) {
    const uint32_t *active = w.active();
    for (unsigned i = 0; i < w.lanes; i++) {
      const uint32_t m = active[i];
      const std::byte *p = lds + (a.at[i] & m);
      for (unsigned k = 0; k < I::count; k++) {
        const uint32_t v = I::to_register(load_unaligned<typename I::Value>(p + k * 4), to[k][i]);
        to[k][i] = (v & m) | (to[k][i] & ~m);
      }
    }
    return;
  }
  for_lanes(w.active_exec, [&](unsigned i) {
    for (unsigned k = 0; k < I::count; k++)
      to[k][i] =
          I::to_register(lds_read<typename I::Value>(w, uint64_t{a.at[i]} + k * 4), to[k][i]);
  });
}

template <class I> void write_at(Wave &w, const LdsAddresses &a, const Row *from) {
  std::byte *lds = w.group->lds;
  if (a.inside && w.all_active) {
    for (unsigned i = 0; i < w.lanes; i++)
      for (unsigned k = 0; k < I::count; k++)
        store_unaligned(lds + a.at[i] + k * 4, I::from_register(from[k][i]));
    return;
  }
  for_lanes(w.active_exec, [&](unsigned i) {
    for (unsigned k = 0; k < I::count; k++)
      lds_write(w, uint64_t{a.at[i]} + k * 4, I::from_register(from[k][i]));
  });
}

template <class I> void read(Wave &w, const Instruction &in) {
  if constexpr (I::is_half)
    if (w.arch->sram_ecc) return read<typename I::Alone>(w, in);
  const LdsAddresses a = lds_addresses(w, in, static_cast<uint32_t>(in.offset), I::bytes);
  observe_lds(w, in, a.at, w.active_exec, I::bytes, AccessKind::load);
  read_at<I>(w, a, &w.vgpr[in.dst.index]);
  count_bytes(w, w.active_exec, I::bytes, AccessKind::load, Space::lds);
}

template <class I> void write(Wave &w, const Instruction &in) {
  const LdsAddresses a = lds_addresses(w, in, static_cast<uint32_t>(in.offset), I::bytes);
  observe_lds_store(w, in, a.at, w.active_exec, I::bytes, {&w.vgpr[in.src[1].index]});
  write_at<I>(w, a, &w.vgpr[in.src[1].index]);
  count_bytes(w, w.active_exec, I::bytes, AccessKind::store, Space::lds);
}

// Two addresses; the offsets count elements, or 64 elements.
template <class I, unsigned scale> void read2(Wave &w, const Instruction &in) {
  const LdsAddresses first =
      lds_addresses(w, in, static_cast<uint32_t>(in.offset) * I::bytes * scale, I::bytes);
  const LdsAddresses second = lds_addresses(w, in, in.offset1 * I::bytes * scale, I::bytes);
  observe_lds(w, in, first.at, w.active_exec, I::bytes, AccessKind::load);
  observe_lds(w, in, second.at, w.active_exec, I::bytes, AccessKind::load, false, I::count);
  read_at<I>(w, first, &w.vgpr[in.dst.index]);
  read_at<I>(w, second, &w.vgpr[in.dst.index + I::count]);
  count_bytes(w, w.active_exec, I::bytes, AccessKind::load, Space::lds);
  count_bytes(w, w.active_exec, I::bytes, AccessKind::load, Space::lds);
}

template <class I, unsigned scale> void write2(Wave &w, const Instruction &in) {
  const LdsAddresses first =
      lds_addresses(w, in, static_cast<uint32_t>(in.offset) * I::bytes * scale, I::bytes);
  const LdsAddresses second = lds_addresses(w, in, in.offset1 * I::bytes * scale, I::bytes);
  observe_lds_store(w, in, first.at, w.active_exec, I::bytes, {&w.vgpr[in.src[1].index]});
  observe_lds_store(w, in, second.at, w.active_exec, I::bytes, {&w.vgpr[in.src[2].index]});
  write_at<I>(w, first, &w.vgpr[in.src[1].index]);
  write_at<I>(w, second, &w.vgpr[in.src[2].index]);
  count_bytes(w, w.active_exec, I::bytes, AccessKind::store, Space::lds);
  count_bytes(w, w.active_exec, I::bytes, AccessKind::store, Space::lds);
}

// Address from M0 and the lane's number.
void read_addtid(Wave &w, const Instruction &in) {
  const LdsAddresses a = lds_addresses_by_lane(w, static_cast<uint32_t>(in.offset));
  observe_lds(w, in, a.at, w.active_exec, 4, AccessKind::load);
  read_at<Item<u32, 1>>(w, a, &w.vgpr[in.dst.index]);
  count_bytes(w, w.active_exec, 4, AccessKind::load, Space::lds);
}
void write_addtid(Wave &w, const Instruction &in) {
  const LdsAddresses a = lds_addresses_by_lane(w, static_cast<uint32_t>(in.offset));
  observe_lds_store(w, in, a.at, w.active_exec, 4, {&w.vgpr[in.src[1].index]});
  write_at<Item<u32, 1>>(w, a, &w.vgpr[in.src[1].index]);
  count_bytes(w, w.active_exec, 4, AccessKind::store, Space::lds);
}

void nothing(Wave &, const Instruction &) {}

// clang-format off
constexpr Opcode table[] = {
    {"ds_nop", nothing, ExecClass::lds},
    lds_reading("ds_read_b32", read<Item<u32, 1>>),
    lds_reading("ds_read_b64", read<Item<u32, 2>>),
    lds_reading("ds_read_b96", read<Item<u32, 3>>),
    lds_reading("ds_read_b128", read<Item<u32, 4>>),
    lds_reading("ds_read_u8", read<Item<u8, 1>>),
    lds_reading("ds_read_i8", read<Item<int8_t, 1>>),
    lds_reading("ds_read_u16", read<Item<u16, 1>>),
    lds_reading("ds_read_i16", read<Item<i16, 1>>),
    lds_reading("ds_read_u8_d16", read<Item<u8, 1, Part::low>>),
    lds_reading("ds_read_u8_d16_hi", read<Item<u8, 1, Part::high>>),
    lds_reading("ds_read_i8_d16", read<Item<int8_t, 1, Part::low>>),
    lds_reading("ds_read_i8_d16_hi", read<Item<int8_t, 1, Part::high>>),
    lds_reading("ds_read_u16_d16", read<Item<u16, 1, Part::low>>),
    lds_reading("ds_read_u16_d16_hi", read<Item<u16, 1, Part::high>>),
    with(Form::two_addresses, lds_reading("ds_read2_b32", read2<Item<u32, 1>, 1>)),
    with(Form::two_addresses, lds_reading("ds_read2st64_b32", read2<Item<u32, 1>, 64>)),
    with(Form::two_addresses, lds_reading("ds_read2_b64", read2<Item<u32, 2>, 1>)),
    with(Form::two_addresses, lds_reading("ds_read2st64_b64", read2<Item<u32, 2>, 64>)),
    lds_reading("ds_read_addtid_b32", read_addtid),

    lds_writing("ds_write_b32", write<Item<u32, 1>>),
    lds_writing("ds_write_b64", write<Item<u32, 2>>),
    lds_writing("ds_write_b96", write<Item<u32, 3>>),
    lds_writing("ds_write_b128", write<Item<u32, 4>>),
    lds_writing("ds_write_b8", write<Item<u8, 1>>),
    lds_writing("ds_write_b8_d16_hi", write<Item<u8, 1, Part::high>>),
    lds_writing("ds_write_b16", write<Item<u16, 1>>),
    lds_writing("ds_write_b16_d16_hi", write<Item<u16, 1, Part::high>>),
    with(Form::two_addresses, lds_writing("ds_write2_b32", write2<Item<u32, 1>, 1>)),
    with(Form::two_addresses, lds_writing("ds_write2st64_b32", write2<Item<u32, 1>, 64>)),
    with(Form::two_addresses, lds_writing("ds_write2_b64", write2<Item<u32, 2>, 1>)),
    with(Form::two_addresses, lds_writing("ds_write2st64_b64", write2<Item<u32, 2>, 64>)),
    lds_writing("ds_write_addtid_b32", write_addtid),
};
// clang-format on

} // namespace

std::span<const Opcode> lds_load_store_opcodes() { return table; }

std::span<const Opcode> lds_opcodes() {
  static const std::vector<Opcode> all = [] {
    std::vector<Opcode> v;
    for (auto part : {lds_load_store_opcodes(), lds_atomic_opcodes(), lds_cross_lane_opcodes(),
                      lds_transposed_opcodes()})
      v.insert(v.end(), part.begin(), part.end());
    return v;
  }();
  return all;
}

} // namespace fade::sim
