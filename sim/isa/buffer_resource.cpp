#include "isa/buffer_resource.h"

#include "isa/valu.h"

namespace fade::sim {
namespace {

uint32_t field(uint32_t word, unsigned at, unsigned bits) { return word >> at & ((1u << bits) - 1); }

struct Element {
  uint64_t index, offset;
};

// Whether an access lies outside. gfx9 knows two kinds of buffers, told apart by how they are used; from gfx10 on the
// resource says which check applies.
bool out_of_range(const Arch &arch, const BufferResource &r, const Instruction &in, const Element &l, uint64_t soffset,
                  uint32_t bytes) {
  if (arch.gfx10_up) {
    switch (r.bounds) {
    case 0: return l.index >= r.records || l.offset + bytes > r.stride;
    case 1: return l.index >= r.records;
    case 2: return r.records == 0;
    default:
      if (r.swizzle && r.stride) return l.index >= r.records || l.offset + bytes > r.stride;
      return l.offset + soffset + bytes > r.records;
    }
  }
  if (r.stride && in.idxen) return l.index >= r.records;
  return l.index * r.stride + l.offset + soffset + bytes > r.records;
}

uint64_t place(const BufferResource &r, const Element &l) {
  if (!r.swizzle) return l.index * r.stride + l.offset;
  const uint64_t element = r.element_bytes;
  return (l.index / r.index_stride * r.stride + l.offset / element * element) * r.index_stride +
         l.index % r.index_stride * element + l.offset % element;
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
  if (arch.id == Gfx::gfx1100) {
    const uint32_t swizzle = field(w1, 30, 2);
    r.swizzle = swizzle != 0;
    r.element_bytes = swizzle ? 2u << swizzle : 4;
    r.format = static_cast<uint8_t>(field(w3, 12, 6));
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

void buffer_addresses(const Wave &w, const Instruction &in, uint32_t bytes, LaneAddresses &a) {
  const BufferResource r = buffer_resource(*w.arch, &w.sgpr[in.src[2].index]);
  const uint64_t soffset = static_cast<uint32_t>(scalar_value(w, in.src[3], Type::u32));
  const uint32_t *index = in.idxen ? w.vgpr[in.src[0].index] : nullptr;
  const uint32_t *offset = in.offen ? w.vgpr[in.src[0].index + (in.idxen ? 1 : 0)] : nullptr;
  uint64_t inside = 0;
  for (unsigned i = 0; i < w.lanes; i++) {
    const Element l{(index ? uint64_t{index[i]} : 0) + (r.add_lane ? i : 0),
                 (offset ? uint64_t{offset[i]} : 0) + static_cast<uint32_t>(in.offset)};
    a.va[i] = r.base + soffset + place(r, l);
    inside |= static_cast<uint64_t>(!out_of_range(*w.arch, r, in, l, soffset, bytes)) << i;
  }
  a.lanes = w.active_exec & inside;
  if (r.swizzle) a.word_stride = r.element_bytes == 4 ? r.index_stride * 4 : 4;
}

} // namespace fade::sim
