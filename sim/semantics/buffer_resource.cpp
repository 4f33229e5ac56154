#include "semantics/buffer_resource.h"

#include "semantics/constants.h"
#include "semantics/valu.h"

namespace fade::sim {
namespace {

uint32_t field(uint32_t word, unsigned at, unsigned bits) {
  return word >> at & ((1u << bits) - 1);
}

// A place in a buffer: an element, and a byte in it. Sums of 32-bit parts do not wrap, so that an
// offset just below zero is out of range and not at the start.
struct Place {
  uint64_t index, offset;
};

// Whether an access lies outside. gfx9 knows two kinds of buffers, told apart by how they are used;
// from gfx10 on the resource says which check applies. The scalar offset counts against the size of
// unstructured buffers.
bool out_of_range(const Arch &arch, const BufferResource &r, bool idxen, const Place &p,
                  uint64_t soffset, uint32_t bytes) {
  if (arch.gfx10_up) {
    switch (r.bounds) {
    case 0: return p.index >= r.records || p.offset + bytes > r.stride;
    case 1: return p.index >= r.records;
    case 2: return r.records == 0;
    default:
      if (r.swizzle && r.stride) return p.index >= r.records || p.offset + bytes > r.stride;
      return p.offset + soffset + bytes > r.records;
    }
  }
  if (r.stride && idxen) return p.index >= r.records;
  return p.offset + soffset + bytes > r.records;
}

uint64_t byte_of(const BufferResource &r, const Place &p) {
  if (!r.swizzle) return p.index * r.stride + p.offset;
  const uint64_t element = r.element_bytes;
  return (p.index / r.index_stride * r.stride + p.offset / element * element) * r.index_stride +
         p.index % r.index_stride * element + p.offset % element;
}

// Private memory: swizzled by lane, no index, so that the stride does not matter. This is what
// every spill and every local array of gfx90a and gfx1030 goes through, so it has a loop of its
// own.
bool is_private(const Wave &w, const BufferResource &r, const Instruction &in) {
  if (!r.swizzle || !r.add_lane || in.idxen || r.element_bytes != 4 || w.lanes > r.index_stride)
    return false;
  return w.arch->gfx9 || r.bounds == 2 || (r.bounds == 3 && r.stride == 0);
}

void private_addresses(const Wave &w, const BufferResource &r, const Instruction &in,
                       uint64_t soffset, uint32_t bytes, uint32_t first, LaneAddresses &a) {
  const uint64_t base = r.base + soffset, start = static_cast<uint32_t>(in.offset) + first;
  const bool unbounded = w.arch->gfx10_up && r.bounds == 2 && r.records;
  const uint64_t room = unbounded ? ~0ull >> 1 : r.records;
  const uint64_t end =
      room < soffset + bytes ? 0 : room - soffset - bytes + 1; // offsets below are inside
  const unsigned row = static_cast<unsigned>(std::countr_zero(r.index_stride)) + 2;
  if (!in.offen) {
    const uint64_t at = base + (start / 4 << row) + start % 4;
    for (unsigned i = 0; i < 64; i++) a.va[i] = at + i * 4;
    if (start >= end) a.lanes = 0;
    return;
  }
  const uint32_t *offset = w.vgpr[in.src[0].index];
  uint8_t outside[64];
  for (unsigned i = 0; i < 64; i++) {
    const uint64_t o = start + offset[i];
    a.va[i] = base + (o / 4 << row) + i * 4 + o % 4;
    outside[i] = o >= end;
  }
  a.lanes &= ~pack_flags(outside, w.lanes);
}

// Untyped linear buffers, addressed by offset alone: what compilers make of a pointer with a size.
bool is_raw(const Wave &w, const BufferResource &r, const Instruction &in) {
  return !r.swizzle && !r.add_lane && !in.idxen && (w.arch->gfx9 || r.bounds == 3);
}

void raw_addresses(const Wave &w, const BufferResource &r, const Instruction &in, uint64_t soffset,
                   uint32_t bytes, uint32_t first, LaneAddresses &a) {
  const uint64_t base = r.base + soffset, start = static_cast<uint32_t>(in.offset) + first;
  const uint32_t part = bytes < 4 ? bytes : 4;
  // Offsets below are inside: with the whole access, and with its first dword.
  auto below = [&](uint32_t n) {
    return r.records < soffset + n ? 0 : r.records - soffset - n + 1;
  };
  const uint64_t end_whole = below(bytes), end_part = below(part);
  const uint32_t *offset = in.offen ? w.vgpr[in.src[0].index] : nullptr;
  uint8_t whole[64], begins[64];
  for (unsigned i = 0; i < 64; i++) {
    const uint64_t o = start + (offset ? offset[i] : 0);
    a.va[i] = base + o;
    whole[i] = o < end_whole;
    begins[i] = o < end_part;
  }
  const uint64_t inside = pack_flags(whole, w.lanes);
  a.word_by_word = bytes > 4 && (pack_flags(begins, w.lanes) & ~inside & a.lanes);
  a.lanes &= inside;
}

} // namespace

BufferResource buffer_resource(const Arch &arch, const uint32_t *words) {
  BufferResource r;
  const uint32_t w1 = words[1], w3 = words[3];
  r.base = uint64_t{w1 & 0xffff} << 32 | words[0];
  r.stride = field(w1, 16, 14);
  r.records = words[2];
  for (unsigned i = 0; i < 4; i++) r.select[i] = static_cast<uint8_t>(field(w3, 3 * i, 3));
  r.index_stride = 8u << field(w3, 21, 2);
  r.add_lane = field(w3, 23, 1);
  if (arch.gfx11) {
    const uint32_t swizzle = field(w1, 30, 2);
    r.swizzle = swizzle != 0;
    r.element_bytes = swizzle ? 2u << swizzle : 4;
    r.format = static_cast<uint8_t>(field(w3, 12, 6));
    constexpr unsigned scales[] = {0, 2, 3, 5};
    if (arch.gfx12) r.stride <<= scales[field(w3, 18, 2)];
  } else {
    r.swizzle = field(w1, 31, 1);
    r.format = static_cast<uint8_t>(field(w3, 12, 7));
  }
  if (arch.gfx10_up) {
    r.bounds = static_cast<uint8_t>(field(w3, 28, 2));
  } else {
    r.format = static_cast<uint8_t>(field(w3, 15, 4) | field(w3, 12, 3) << 4);
    if (r.add_lane) r.stride |= field(w3, 15, 4) << 14; // the format's bits are not needed then
  }
  return r;
}

std::optional<uint64_t> private_buffer_address(const Wave &w, const Instruction &in,
                                               uint32_t bytes) {
  if (bytes > 4 || in.offen || in.idxen) return std::nullopt;
  const BufferResource r = buffer_resource(*w.arch, &w.sgpr[in.src[2].index]);
  const uint64_t start =
      r.base + static_cast<uint32_t>(scalar_value(w, in.src[3], Type::u32)) - scratch_window_base;
  const uint64_t row = w.lanes * 4;
  // The checks of private_addresses() hold when the resource is larger than the wave's memory.
  if (!is_private(w, r, in) || start >= scratch_window_size || start % row ||
      r.records < 0x80000000)
    return std::nullopt;
  return start / row * 4 + static_cast<uint32_t>(in.offset);
}

void buffer_addresses(const Wave &w, const Instruction &in, uint32_t bytes, uint32_t first,
                      LaneAddresses &a) {
  const BufferResource r = buffer_resource(*w.arch, &w.sgpr[in.src[2].index]);
  const uint64_t soffset = static_cast<uint32_t>(scalar_value(w, in.src[3], Type::u32));
  if (is_private(w, r, in)) {
    a.word_by_word = bytes > 4;
    return private_addresses(w, r, in, soffset, bytes > 4 ? 4 : bytes, first, a);
  }
  if (!r.swizzle) a.dword = static_cast<uint8_t>(first / 4);
  if (is_raw(w, r, in)) return raw_addresses(w, r, in, soffset, bytes, first, a);
  const uint32_t *index = in.idxen ? w.vgpr[in.src[0].index] : nullptr;
  const uint32_t *offset = in.offen ? w.vgpr[in.src[0].index + (in.idxen ? 1 : 0)] : nullptr;
  uint64_t whole = 0, begins = 0;
  for (unsigned i = 0; i < w.lanes; i++) {
    const Place p{(index ? uint64_t{index[i]} : 0) + (r.add_lane ? i : 0),
                  (offset ? uint64_t{offset[i]} : 0) + static_cast<uint32_t>(in.offset) + first};
    a.va[i] = r.base + soffset + byte_of(r, p);
    whole |= static_cast<uint64_t>(!out_of_range(*w.arch, r, in.idxen, p, soffset, bytes)) << i;
    begins |= static_cast<uint64_t>(
                  !out_of_range(*w.arch, r, in.idxen, p, soffset, bytes < 4 ? bytes : 4))
              << i;
  }
  a.word_by_word = bytes > 4 && (r.swizzle || (begins & ~whole & w.active_exec));
  a.lanes &= whole;
}

} // namespace fade::sim
