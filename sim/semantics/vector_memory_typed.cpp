// Buffer loads and stores that convert: the element's format comes from the buffer resource
// (buffer_*_format) or from the instruction (tbuffer_*).
#include "semantics/buffer_resource.h"
#include "semantics/lds.h"
#include "semantics/texel_format.h"
#include "semantics/vector_memory.h"

namespace fade::sim {
namespace {

enum class Width { dword, d16, d16_hi };

struct ElementFormat {
  TexelFormat format;
  uint8_t select[4]; // as in a buffer resource
};

ElementFormat element_format(const Wave &w, const Instruction &in) {
  ElementFormat e{{}, {4, 5, 6, 7}};
  if (in.encoding == Encoding::mtbuf) {
    e.format = buffer_format(*w.arch, in.format);
  } else {
    const BufferResource r = buffer_resource(*w.arch, &w.sgpr[in.src[2].index]);
    e.format = buffer_format(*w.arch, r.format);
    std::memcpy(e.select, r.select, sizeof e.select);
  }
  return e;
}

uint32_t component(const ElementFormat &e, const Texel &t, unsigned i) {
  const unsigned s = e.select[i];
  return s >= 4 ? t.c[s - 4] : s == 1 ? one_of(e.format) : 0;
}

uint32_t narrow(const TexelFormat &f, uint32_t v) {
  return f.integer() ? v & 0xffff : to_f16(as_f32(v)).bits;
}
uint32_t widen(const TexelFormat &f, uint32_t v) {
  if (f.number == Number::sint) return static_cast<uint32_t>(static_cast<i16>(v));
  return f.integer() ? v & 0xffff : bits(to_f32(f16{static_cast<u16>(v)}));
}

// Two 16-bit components share a register; a half that gets none is kept, or cleared with SRAM ECC.
template <unsigned count, Width width>
void to_registers(const Arch &arch, const ElementFormat &e, const Texel &t, Row *to,
                  unsigned lane) {
  for (unsigned i = 0; i < count; i++) {
    const uint32_t v = component(e, t, i);
    if constexpr (width == Width::dword) {
      to[i][lane] = v;
    } else {
      const unsigned shift = width == Width::d16_hi || i % 2 ? 16 : 0;
      uint32_t &r = to[i / 2][lane];
      const uint32_t kept = arch.sram_ecc && i % 2 == 0 ? 0 : r & ~(0xffffu << shift);
      r = kept | narrow(e.format, v) << shift;
    }
  }
}

template <unsigned count, Width width>
Texel from_registers(const TexelFormat &f, const Row *from, unsigned lane) {
  Texel t{};
  for (unsigned i = 0; i < count; i++) {
    if constexpr (width == Width::dword)
      t.c[i] = from[i][lane];
    else
      t.c[i] = widen(f, from[i / 2][lane] >> (width == Width::d16_hi || i % 2 ? 16 : 0));
  }
  return t;
}

template <unsigned count, Width width, bool always_lds = false>
void load(Wave &w, const Instruction &in) {
  const bool to_lds = always_lds || in.lds;
  const ElementFormat e = element_format(w, in);
  const uint32_t bytes = e.format.valid() ? e.format.bytes() : 4;
  LaneAddresses a;
  vector_addresses(w, in, bytes, a);
  if (!e.format.valid()) a.lanes = 0; // reads zero
  Row lds_values[4] = {};
  Row *to = to_lds ? lds_values : &w.vgpr[in.dst.index];
  for_lanes(w.active_exec & ~a.lanes,
            [&](unsigned i) { to_registers<count, width>(*w.arch, e, Texel{}, to, i); });
  observe(w, in, a, bytes, AccessKind::load);
  for_lanes(a.lanes, [&](unsigned i) {
    std::byte room[16];
    read_lane(w, in, a, i, room, bytes);
    to_registers<count, width>(*w.arch, e, load_texel(e.format, room), to, i);
  });
  count_by_lane(w, in, a, bytes, AccessKind::load);
  if (!to_lds) return;
  const LdsAddresses lds = lds_addresses_by_lane(w, static_cast<uint32_t>(in.offset));
  observe_lds_store(w, in, lds.at, w.active_exec, 4, {lds_values, true});
  for_lanes(w.active_exec, [&](unsigned i) { lds_write(w, lds.at[i], lds_values[0][i]); });
  count_bytes(w, w.active_exec, 4, AccessKind::store, Space::lds);
}

template <unsigned count, Width width> void store(Wave &w, const Instruction &in) {
  const TexelFormat f = element_format(w, in).format;
  if (!f.valid()) return;
  LaneAddresses a;
  vector_addresses(w, in, f.bytes(), a);
  const auto convert = [&](unsigned i, std::byte *to) {
    store_texel(f, from_registers<count, width>(f, &w.vgpr[in.src[1].index], i), to);
  };
  observe_converted(w, in, a, f.bytes(), convert);
  release_fence();
  for_lanes(a.lanes, [&](unsigned i) {
    std::byte room[16];
    convert(i, room);
    write_lane(w, in, a, i, room, f.bytes());
  });
  count_by_lane(w, in, a, f.bytes(), AccessKind::store);
}

constexpr auto loads = ExecClass::vmem_load;
constexpr auto stores = ExecClass::vmem_store;

#define TYPED(FORM, COUNT, WIDTH)                                                                  \
  Opcode{"buffer_load_format_" FORM, load<COUNT, WIDTH>, loads},                                   \
      Opcode{"tbuffer_load_format_" FORM, load<COUNT, WIDTH>, loads},                              \
      Opcode{"buffer_store_format_" FORM, store<COUNT, WIDTH>, stores}, Opcode {                   \
    "tbuffer_store_format_" FORM, store<COUNT, WIDTH>, stores                                      \
  }

// clang-format off
constexpr Opcode table[] = {
    TYPED("x", 1, Width::dword),        TYPED("xy", 2, Width::dword),
    TYPED("xyz", 3, Width::dword),      TYPED("xyzw", 4, Width::dword),
    TYPED("d16_x", 1, Width::d16),      TYPED("d16_xy", 2, Width::d16),
    TYPED("d16_xyz", 3, Width::d16),    TYPED("d16_xyzw", 4, Width::d16),
    TYPED("d16_hi_x", 1, Width::d16_hi),
    with(LdsUse::writes, Opcode{"buffer_load_lds_format_x", load<1, Width::dword, true>, loads}),
};
// clang-format on

} // namespace

std::span<const Opcode> typed_buffer_opcodes() { return table; }

} // namespace fade::sim
