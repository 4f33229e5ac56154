#include "isa/memory_access.h"

#include "isa/buffer_resource.h"
#include "isa/constants.h"

namespace fade::sim {
namespace {

// Private memory is interleaved: dword n of all lanes, then dword n+1 of all lanes. This is the place of a lane's byte
// in the wave's scratch.
uint64_t interleaved(const Wave &w, unsigned lane, uint32_t address) {
  return uint64_t{address / 4} * w.lanes * 4 + lane * 4 + address % 4;
}
// And back: which of the lane's bytes lies at an offset into scratch.
uint32_t private_address(const Wave &w, uint64_t offset) {
  const uint64_t row = w.lanes * 4;
  return static_cast<uint32_t>(offset / row * 4 + offset % 4);
}

uint64_t scratch_size(const Wave &w) { return uint64_t{w.scratch_bytes} * w.lanes; }

void flat_addresses(const Wave &w, const Instruction &in, uint64_t *va) {
  const uint32_t *lo = w.vgpr[in.src[0].index];
  const uint64_t offset = static_cast<uint64_t>(static_cast<int64_t>(in.offset));
  if (in.saddr) {
    const uint64_t base = w.sgpr64(in.src[2].index) + offset;
    if (!in.src[0].is_vgpr())
      for (unsigned i = 0; i < 64; i++) va[i] = base;
    else
      for (unsigned i = 0; i < 64; i++) va[i] = base + lo[i];
    return;
  }
  const uint32_t *hi = w.vgpr[in.src[0].index + 1];
  for (unsigned i = 0; i < 64; i++) va[i] = (uint64_t{hi[i]} << 32 | lo[i]) + offset;
}

// scratch_*: a vector and a scalar part, both optional, 32 bits.
void scratch_addresses(const Wave &w, const Instruction &in, LaneAddresses &a) {
  const uint32_t base = (in.saddr ? w.sgpr[in.src[2].index] : 0) + static_cast<uint32_t>(in.offset);
  const uint32_t *row = in.src[0].is_vgpr() ? w.vgpr[in.src[0].index] : nullptr;
  for (unsigned i = 0; i < w.lanes; i++)
    a.va[i] = scratch_window_base + interleaved(w, i, base + (row ? row[i] : 0));
  a.word_stride = w.lanes * 4;
}

bool is_contiguous(const LaneAddresses &a, uint32_t bytes, unsigned lanes) {
  uint64_t differences = 0;
  for (unsigned i = 0; i < lanes; i++) differences |= a.va[i] ^ (a.va[0] + i * bytes);
  return differences == 0;
}

struct Extent {
  uint64_t first, size;
};
Extent extent_of(const LaneAddresses &a, uint32_t bytes) {
  uint64_t least = ~0ull, most = 0;
  for_lanes(a.lanes, [&](unsigned i) {
    least = a.va[i] < least ? a.va[i] : least;
    most = a.va[i] > most ? a.va[i] : most;
  });
  const uint64_t words = (bytes + 3) / 4;
  const uint64_t last_word = bytes < 4 ? bytes : 4;
  return {least, most - least + (words - 1) * a.word_stride + last_word};
}

[[noreturn]] void private_fault(uint32_t address, bool write) {
  throw MemoryFault{uint64_t{private_aperture_hi} << 32 | address, write};
}

// Bytes of a lane's private memory. Hardware has no limit per wave and would run into other waves' memory; here that is
// a fault at the address in the private aperture.
template <bool write, class Byte> void private_bytes(Wave &w, unsigned lane, uint32_t address, Byte *data, uint32_t n) {
  for (uint32_t b = 0; b < n; b++) {
    if (address + b >= w.scratch_bytes) private_fault(address + b, write);
    std::byte *p = w.scratch + interleaved(w, lane, address + b);
    if constexpr (write) *p = data[b];
    else data[b] = *p;
  }
}

template <bool write, class Byte> void lane_bytes(Wave &w, const Instruction &in, const LaneAddresses &a,
                                                  unsigned lane, Byte *data, uint32_t n) {
  const uint64_t va = a.va[lane];
  switch (lane_space(in, va)) {
  case Space::lds:
    for (uint32_t b = 0; b < n; b++) {
      const uint32_t address = static_cast<uint32_t>(va) + b;
      const bool inside = address < w.group->lds_bytes;
      if constexpr (write) {
        if (inside) w.group->lds[address] = data[b];
      } else {
        data[b] = inside ? w.group->lds[address] : std::byte{0};
      }
    }
    return;
  case Space::scratch:
    if (va >> 32 == private_aperture_hi) return private_bytes<write>(w, lane, static_cast<uint32_t>(va), data, n);
    if (a.word_stride != 4)
      return private_bytes<write>(w, lane, private_address(w, va - scratch_window_base), data, n);
    for (uint32_t b = 0; b < n; b++) {
      const uint64_t at = va + b - scratch_window_base;
      if (at >= scratch_size(w)) private_fault(private_address(w, at), write);
      if constexpr (write) w.scratch[at] = data[b];
      else data[b] = w.scratch[at];
    }
    return;
  case Space::global:
    if constexpr (write) w.memory->write(va, data, n);
    else w.memory->read(va, data, n);
    return;
  }
}

bool aligned_words(const LaneAddresses &a) {
  uint64_t low = 0;
  for_lanes(a.lanes, [&](unsigned i) { low |= a.va[i]; });
  return (low & 3) == 0;
}

} // namespace

void vector_addresses(const Wave &w, const Instruction &in, uint32_t bytes, LaneAddresses &a, uint32_t first) {
  a.lanes = w.active_exec;
  a.word_stride = 4;
  switch (in.encoding) {
  case Encoding::scratch: return scratch_addresses(w, in, a);
  case Encoding::mubuf:
  case Encoding::mtbuf: return buffer_addresses(w, in, bytes, first, a);
  default: return flat_addresses(w, in, a.va);
  }
}

HostRange locate(Wave &w, const LaneAddresses &a, uint32_t bytes, bool write) {
  HostRange r;
  Extent e;
  if (a.lanes == w.lane_mask() && a.word_stride == 4 && is_contiguous(a, bytes, w.lanes)) {
    r.contiguous = true;
    e = {a.va[0], uint64_t{bytes} * w.lanes};
  } else {
    e = extent_of(a, bytes);
  }
  r.base = e.first;
  if (const Region *region = w.memory->region(e.first, e.size, write)) {
    r.host = region->at(e.first);
    return r;
  }
  const uint64_t offset = e.first - scratch_window_base;
  if (offset < scratch_size(w) && e.size <= scratch_size(w) - offset) {
    // An access that is not aligned crosses dwords, which do not lie side by side.
    if (a.word_stride != 4 && !aligned_words(a) && (bytes >= 4 || bytes == 2)) return r;
    r.host = w.scratch + offset;
    r.space = Space::scratch;
  }
  return r;
}

Space lane_space(const Instruction &in, uint64_t va) {
  if (va - scratch_window_base < scratch_window_size) return Space::scratch;
  if (in.encoding == Encoding::flat) {
    if (va >> 32 == shared_aperture_hi) return Space::lds;
    if (va >> 32 == private_aperture_hi) return Space::scratch;
  }
  return Space::global;
}

void read_lane(Wave &w, const Instruction &in, const LaneAddresses &a, unsigned lane, void *to, uint32_t bytes) {
  lane_bytes<false>(w, in, a, lane, static_cast<std::byte *>(to), bytes);
}

void write_lane(Wave &w, const Instruction &in, const LaneAddresses &a, unsigned lane, const void *from,
                uint32_t bytes) {
  lane_bytes<true>(w, in, a, lane, static_cast<const std::byte *>(from), bytes);
}

void account(Wave &w, const Instruction &in, const LaneAddresses &a, uint32_t bytes, AccessKind kind, Space space) {
  const uint64_t moved = static_cast<uint64_t>(std::popcount(a.lanes)) * bytes;
  DispatchStats &s = *w.stats;
  if (space != Space::scratch) {
    const bool lds = space == Space::lds;
    if (kind != AccessKind::store) (lds ? s.lds_bytes_read : s.global_bytes_read) += moved;
    if (kind != AccessKind::load) (lds ? s.lds_bytes_written : s.global_bytes_written) += moved;
  }
  if (w.observer) [[unlikely]]
    w.observer->memory(w.info, {in.pc, a.lanes, {a.va, w.lanes}, bytes, kind, space});
}

void account_by_lane(Wave &w, const Instruction &in, const LaneAddresses &a, uint32_t bytes, AccessKind kind) {
  for (Space space : {Space::global, Space::lds, Space::scratch}) {
    LaneAddresses part = a;
    part.lanes = 0;
    for_lanes(a.lanes, [&](unsigned i) {
      if (lane_space(in, a.va[i]) != space) return;
      part.lanes |= 1ull << i;
      if (space == Space::lds) part.va[i] = static_cast<uint32_t>(a.va[i]);
    });
    if (part.lanes) account(w, in, part, bytes, kind, space);
  }
}

void account_lds(Wave &w, const Instruction &in, const uint32_t *address, uint64_t lanes, uint32_t bytes,
                 AccessKind kind) {
  const uint64_t moved = static_cast<uint64_t>(std::popcount(lanes)) * bytes;
  if (kind != AccessKind::store) w.stats->lds_bytes_read += moved;
  if (kind != AccessKind::load) w.stats->lds_bytes_written += moved;
  if (!w.observer) [[likely]]
    return;
  uint64_t wide[64];
  for (unsigned i = 0; i < w.lanes; i++) wide[i] = address[i];
  w.observer->memory(w.info, {in.pc, lanes, {wide, w.lanes}, bytes, kind, Space::lds});
}

} // namespace fade::sim
