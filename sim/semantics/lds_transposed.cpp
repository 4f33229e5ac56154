// gfx950: reads of LDS that turn a matrix on its way. 16 lanes read a matrix of 16 columns, row by
// row; each row lies in as many lanes as it has pieces of 64 (or 96) bits. Afterwards each lane has
// a column.
#include "semantics/lds.h"

namespace fade::sim {
namespace {

template <unsigned Width, unsigned Words> void read_transposed(Wave &w, const Instruction &in) {
  constexpr unsigned bytes = 4 * Words, elements = 32 * Words / Width;
  constexpr unsigned lanes_of_row = 16 / elements; // rows and elements: the same number
  const LdsAddresses a = lds_addresses(w, in, static_cast<uint32_t>(in.offset), bytes);
  observe_lds(w, in, a.at, w.active_exec, bytes, AccessKind::load);
  Row raw[Words] = {};
  for_lanes(w.active_exec, [&](unsigned i) {
    for (unsigned k = 0; k < Words; k++) raw[k][i] = lds_read<u32>(w, uint64_t{a.at[i]} + 4 * k);
  });
  auto element = [&](unsigned lane, unsigned e) {
    const unsigned bit = e * Width, word = bit / 32, shift = bit % 32;
    u64 v = raw[word][lane];
    if (shift + Width > 32) v |= u64{raw[word + 1][lane]} << 32;
    return v >> shift & ((1u << Width) - 1);
  };
  for_lanes(w.active_exec, [&](unsigned i) {
    u32 out[Words] = {};
    const unsigned column = i % 16;
    for (unsigned row = 0; row < elements; row++) {
      const unsigned from = i - column + row * lanes_of_row + column / elements;
      const unsigned bit = row * Width, word = bit / 32, shift = bit % 32;
      const u64 v = element(from, column % elements) << shift;
      out[word] |= static_cast<u32>(v);
      if (shift + Width > 32) out[word + 1] |= static_cast<u32>(v >> 32);
    }
    for (unsigned k = 0; k < Words; k++) w.vgpr[in.dst.index + k][i] = out[k];
  });
  count_bytes(w, w.active_exec, bytes, AccessKind::load, Space::lds);
}

constexpr Opcode table[] = {
    lds_reading("ds_read_b64_tr_b16", read_transposed<16, 2>),
    lds_reading("ds_read_b64_tr_b8", read_transposed<8, 2>),
    lds_reading("ds_read_b64_tr_b4", read_transposed<4, 2>),
    lds_reading("ds_read_b96_tr_b6", read_transposed<6, 3>),
};

} // namespace

std::span<const Opcode> lds_transposed_opcodes() { return table; }

} // namespace fade::sim
