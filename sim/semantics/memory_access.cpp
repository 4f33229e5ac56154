#include "semantics/memory_access.h"

#include "semantics/buffer_resource.h"
#include "semantics/cache_control.h"
#include "semantics/constants.h"
#include "wave/stats.h"

#include <cstring>
#include <optional>

namespace fade::sim {
namespace {

// Private memory is interleaved: dword n of all lanes, then dword n+1 of all lanes. This is the
// place of a lane's byte in the wave's scratch.
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

// Where scratch is, as code has said it in FLAT_SCRATCH. Whoever has not accesses something else.
uint64_t flat_scratch(const Wave &w) {
  return w.arch->gfx9 && !w.arch->architected_flat_scratch ? w.sgpr64(sreg::flat_scratch_lo)
                                                           : w.flat_scratch;
}

// Private addresses to addresses in the scratch window, which is laid out for `lanes` lanes.
void interleave(const Wave &w, const uint32_t *address, LaneAddresses &a) {
  const uint64_t base = flat_scratch(w);
  const unsigned row = w.lanes == 64 ? 8 : 7; // log2 of the bytes of one dword of all lanes
  for (unsigned i = 0; i < 64; i++)
    a.va[i] = base + (uint64_t{address[i] / 4} << row) + i * 4 + address[i] % 4;
  a.word_stride = w.lanes * 4;
}

// scratch_*: a vector and a scalar part, both optional, 32 bits.
void scratch_addresses(const Wave &w, const Instruction &in, LaneAddresses &a) {
  const uint32_t base = (in.saddr ? w.sgpr[in.src[2].index] : 0) + static_cast<uint32_t>(in.offset);
  uint32_t address[64];
  if (in.src[0].is_vgpr())
    for (unsigned i = 0; i < 64; i++) address[i] = base + w.vgpr[in.src[0].index][i];
  else
    for (unsigned i = 0; i < 64; i++) address[i] = base;
  interleave(w, address, a);
}

// A flat access that meets an aperture with its first lane: when all lanes are in the same one it
// need not go lane by lane.
void resolve_aperture(const Wave &w, LaneAddresses &a, uint64_t high) {
  bool same = true;
  for_lanes(a.lanes, [&](unsigned i) { same &= a.va[i] >> 32 == high; });
  if (!same) return;
  a.scattered = false;
  if (high == shared_aperture_hi) {
    a.in_lds = true;
    return;
  }
  uint32_t address[64];
  for (unsigned i = 0; i < 64; i++) address[i] = static_cast<uint32_t>(a.va[i]);
  interleave(w, address, a);
}

// Whether each lane that takes part is `step` bytes behind the one before.
bool is_run(const LaneAddresses &a, const LaneMask &mask, uint64_t lane0, uint32_t step,
            unsigned lanes) {
  uint64_t differences = 0;
  const uint32_t *m = mask.words();
  if (mask.full())
    for (unsigned i = 0; i < lanes; i++) differences |= a.va[i] ^ (lane0 + i * step);
  else
    for (unsigned i = 0; i < lanes; i++)
      differences |= (a.va[i] ^ (lane0 + i * step)) &
                     static_cast<uint64_t>(int64_t{static_cast<int32_t>(m[i])});
  return differences == 0;
}

struct Extent {
  uint64_t first, last; // where the lowest and the highest lane begin
};
Extent extent_of(const LaneAddresses &a, const LaneMask &mask, uint64_t any, unsigned lanes) {
  Extent e{any, any};
  const uint32_t *m = mask.words();
  if (mask.full()) {
    for (unsigned i = 0; i < lanes; i++) {
      e.first = a.va[i] < e.first ? a.va[i] : e.first;
      e.last = a.va[i] > e.last ? a.va[i] : e.last;
    }
    return e;
  }
  for (unsigned i = 0; i < lanes; i++) {
    const uint64_t va = m[i] ? a.va[i] : any;
    e.first = va < e.first ? va : e.first;
    e.last = va > e.last ? va : e.last;
  }
  return e;
}

uint64_t private_fault_address(uint32_t address) {
  return uint64_t{private_aperture_hi} << 32 | address;
}
// Returns if an observer lets it pass.
void private_fault(const Wave &w, uint32_t address, bool write) {
  const uint64_t fault = private_fault_address(address);
  if (!w.observer || !w.observer->passesFault(fault, 1, write)) throw MemoryFault{fault, write};
}

// Bytes of a lane's private memory. Hardware has no limit per wave and would run into other waves'
// memory; here that is a fault at the address in the private aperture.
template <bool write, class Byte>
void private_bytes(Wave &w, unsigned lane, uint32_t address, Byte *data, uint32_t n) {
  for (uint32_t b = 0; b < n; b++) {
    if (address + b >= w.scratch_bytes) [[unlikely]] {
      private_fault(w, address + b, write);
      if constexpr (!write) data[b] = std::byte{0};
      continue;
    }
    std::byte *p = w.scratch + interleaved(w, lane, address + b);
    if constexpr (write)
      *p = data[b];
    else
      data[b] = *p;
  }
}

template <bool write, class Byte>
void lane_bytes(Wave &w, const Instruction &in, const LaneAddresses &a, unsigned lane, Byte *data,
                uint32_t n) {
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
    if (va >> 32 == private_aperture_hi)
      return private_bytes<write>(w, lane, static_cast<uint32_t>(va), data, n);
    if (a.word_stride != 4)
      return private_bytes<write>(w, lane, private_address(w, va - scratch_window_base), data, n);
    for (uint32_t b = 0; b < n; b++) {
      const uint64_t at = va + b - scratch_window_base;
      if (at >= scratch_size(w)) [[unlikely]] {
        private_fault(w, private_address(w, at), write);
        if constexpr (!write) data[b] = std::byte{0};
        continue;
      }
      if constexpr (write)
        w.scratch[at] = data[b];
      else
        data[b] = w.scratch[at];
    }
    return;
  case Space::global:
    if constexpr (write)
      w.memory->write(va, data, n, store_reach(w, in));
    else
      w.memory->read(va, data, n, load_reach(w, in));
    return;
  }
}

// An access of private memory that is not aligned crosses dwords, which do not lie side by side.
bool crosses_dwords(const LaneAddresses &a, uint32_t bytes) {
  if (a.word_stride == 4 || bytes == 1) return false;
  uint64_t low = 0;
  for_lanes(a.lanes, [&](unsigned i) { low |= a.va[i] & 3; });
  return bytes == 2 ? low == 3 || (low & 1) : low != 0;
}

// The memory that holds [va, va + size): where it is and what there is around it.
struct Place {
  Region region;
  Space space;
};
std::optional<Place> place_of(Wave &w, const LaneAddresses &a, uint64_t va, uint64_t size,
                              bool write) {
  if (a.in_lds) [[unlikely]] {
    const Region lds{uint64_t{shared_aperture_hi} << 32, w.group->lds_bytes, w.group->lds, true};
    return lds.contains(va, size) ? std::optional(Place{lds, Space::lds}) : std::nullopt;
  }
  if (const Region *region = w.memory->region(va, size, write))
    return Place{*region, Space::global};
  const Region scratch{scratch_window_base, scratch_size(w), w.scratch, true};
  return scratch.contains(va, size) ? std::optional(Place{scratch, Space::scratch}) : std::nullopt;
}

} // namespace

void vector_addresses(const Wave &w, const Instruction &in, uint32_t bytes, LaneAddresses &a,
                      uint32_t first) {
  a.lanes = w.active_exec;
  a.word_stride = 4;
  a.in_lds = a.word_by_word = a.scattered = false;
  a.dword = 0;
  switch (in.encoding) {
  case Encoding::scratch: return scratch_addresses(w, in, a);
  case Encoding::mubuf:
  case Encoding::mtbuf: return buffer_addresses(w, in, bytes, first, a);
  default: break;
  }
  flat_addresses(w, in, a.va);
  a.scattered = true;
  if (in.encoding != Encoding::flat || !a.lanes) return;
  const uint64_t high = a.va[std::countr_zero(a.lanes)] >> 32;
  if (high == shared_aperture_hi || high == private_aperture_hi) [[unlikely]]
    resolve_aperture(w, a, high);
}

namespace {

// Whether row[i] == lane0 + i * step and high[i] == upper in all active lanes. Both halves of the
// wave in one loop: most of the time would go into bringing the result of a vector loop together.
template <bool all_active>
bool rises(const uint32_t *row, uint32_t lane0, uint32_t step, const uint32_t *high, uint32_t upper,
           const uint32_t *active, unsigned second) {
  uint32_t differences = 0;
  for (unsigned i = 0; i < 32; i++) {
    const unsigned j = i + second;
    const uint32_t first = (row[i] ^ (lane0 + i * step)) | (high[i] ^ upper);
    const uint32_t other = (row[j] ^ (lane0 + j * step)) | (high[j] ^ upper);
    differences |= all_active ? first | other : (first & active[i]) | (other & active[j]);
  }
  return differences == 0;
}
bool rises(const Wave &w, const uint32_t *row, uint32_t lane0, uint32_t step, const uint32_t *high,
           uint32_t upper) {
  const unsigned second =
      w.lanes - 32; // where the second half begins; in wave32 it is the first one again
  return w.all_active ? rises<true>(row, lane0, step, high, upper, w.active(), second)
                      : rises<false>(row, lane0, step, high, upper, w.active(), second);
}

Run flat_run(Wave &w, const Instruction &in, uint32_t bytes, bool write, unsigned low) {
  static constexpr Row zeros = {};
  const uint32_t *row = w.vgpr[in.src[0].index];
  const uint32_t *high = in.saddr ? zeros : w.vgpr[in.src[0].index + 1];
  const uint32_t lane0 = row[low] - low * bytes;
  if (w.all_active && row[1] - lane0 != bytes) return {}; // most of those that are scattered
  // The addresses are checked in their lower halves, so they must not carry into the upper ones.
  if (lane0 > 0u - w.lanes * bytes || !rises(w, row, lane0, bytes, high, high[low])) return {};
  const uint64_t base = in.saddr ? w.sgpr64(in.src[2].index) : uint64_t{high[low]} << 32;
  const uint64_t va = base + lane0 + static_cast<uint64_t>(int64_t{in.offset});
  const Region *region = w.memory->region(va, w.lanes * bytes, write);
  return region ? Run{region->at(va), 4, Space::global, va} : Run{};
}

// Private memory at one address for all lanes.
Run private_run(Wave &w, uint64_t address, uint32_t bytes) {
  if (address + bytes > w.scratch_bytes || (bytes > 1 && address % (bytes < 4 ? bytes : 4)))
    return {};
  return {w.scratch + interleaved(w, 0, static_cast<uint32_t>(address)), w.lanes * 4,
          Space::scratch};
}

} // namespace

Run find_run(Wave &w, const Instruction &in, uint32_t bytes, bool write) {
  const auto low = static_cast<unsigned>(std::countr_zero(w.active_exec));
  switch (in.encoding) {
  case Encoding::flat:
  case Encoding::global: return in.src[0].is_vgpr() ? flat_run(w, in, bytes, write, low) : Run{};
  case Encoding::scratch: {
    if (flat_scratch(w) != scratch_window_base) return {};
    uint32_t address = (in.saddr ? w.sgpr[in.src[2].index] : 0) + static_cast<uint32_t>(in.offset);
    if (in.src[0].is_vgpr()) {
      const uint32_t *row = w.vgpr[in.src[0].index];
      if (!rises(w, row, row[low], 0, row, row[low])) return {};
      address += row[low];
    }
    return private_run(w, address, bytes);
  }
  case Encoding::mubuf: {
    const auto address = private_buffer_address(w, in, bytes);
    return address ? private_run(w, *address, bytes) : Run{};
  }
  default: return {};
  }
}

HostRange locate(Wave &w, const LaneAddresses &a, const LaneMask &mask, uint32_t bytes,
                 bool write) {
  const auto low = static_cast<unsigned>(std::countr_zero(a.lanes));
  const auto high = static_cast<unsigned>(63 - std::countl_zero(a.lanes));
  const uint32_t step = a.word_stride == 4 ? bytes : 4;
  const uint64_t lane0 = a.va[low] - low * step;
  const bool run = !a.scattered && is_run(a, mask, lane0, step, w.lanes);
  const Extent e = run ? Extent{a.va[low], a.va[high]} : extent_of(a, mask, a.va[low], w.lanes);
  // From the first byte of a lane to behind its last one.
  const uint64_t reach = bytes < 4 ? bytes : uint64_t{bytes / 4 - 1} * a.word_stride + 4;

  HostRange r;
  r.base = e.first;
  const auto place = place_of(w, a, e.first, e.last - e.first + reach, write);
  if (!place || crosses_dwords(a, bytes)) return r;
  r.host = place->region.at(e.first);
  r.space = place->space;
  if (run && place->region.contains(lane0, (w.lanes - 1) * step + reach))
    r.run = place->region.at(lane0);
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

void read_lane(Wave &w, const Instruction &in, const LaneAddresses &a, unsigned lane, void *to,
               uint32_t bytes) {
  lane_bytes<false>(w, in, a, lane, static_cast<std::byte *>(to), bytes);
}

void write_lane(Wave &w, const Instruction &in, const LaneAddresses &a, unsigned lane,
                const void *from, uint32_t bytes) {
  lane_bytes<true>(w, in, a, lane, static_cast<const std::byte *>(from), bytes);
}

void count_bytes(Wave &w, uint64_t lanes, uint32_t bytes, AccessKind kind, Space space) {
  if (space == Space::scratch) return;
  const uint64_t moved = static_cast<uint64_t>(std::popcount(lanes)) * bytes;
  DispatchStats &s = *w.stats;
  const bool lds = space == Space::lds;
  if (kind != AccessKind::store) (lds ? s.lds_bytes_read : s.global_bytes_read) += moved;
  if (kind != AccessKind::load) (lds ? s.lds_bytes_written : s.global_bytes_written) += moved;
}

void count_by_lane(Wave &w, const Instruction &in, const LaneAddresses &a, uint32_t bytes,
                   AccessKind kind) {
  uint64_t lanes[3] = {};
  for_lanes(a.lanes, [&](unsigned i) {
    lanes[static_cast<unsigned>(lane_space(in, a.va[i]))] |= 1ull << i;
  });
  for (Space space : {Space::global, Space::lds})
    count_bytes(w, lanes[static_cast<unsigned>(space)], bytes, kind, space);
}

namespace {

AccessPath path_of(Encoding encoding) {
  switch (encoding) {
  case Encoding::flat: return AccessPath::flat;
  case Encoding::scratch: return AccessPath::scratch;
  case Encoding::mubuf:
  case Encoding::mtbuf: return AccessPath::buffer;
  case Encoding::mimg: return AccessPath::image;
  case Encoding::ds: return AccessPath::lds;
  case Encoding::smem: return AccessPath::scalar;
  default: return AccessPath::global;
  }
}

// Whether a load or store goes past the nearest cache, as atomic and volatile ones do. gfx9 marks
// non-temporal ones with GLC and SLC together.
bool is_coherent(const Wave &w, const Instruction &in) {
  if (w.arch->gfx94) return in.glc || in.sc1;
  return in.glc && !(w.arch->gfx9 && in.slc);
}

uint16_t data_of(const Instruction &in, AccessKind kind) {
  // Typed ones are converted on their way.
  if (in.lds || in.encoding == Encoding::mimg || in.encoding == Encoding::mtbuf)
    return ObservedAccess::none;
  if (in.encoding == Encoding::smem) return in.dst.index;
  const Operand &data = kind == AccessKind::load ? in.dst : in.src[1];
  return data.is_vgpr() ? data.index : ObservedAccess::none;
}

// Which bytes of the register less than a dword is in: "sbyte" and "i8" are extended with their
// sign, to a half of the register or all of it; the names have it from the manual.
void place_in_register(const Instruction &in, ObservedAccess &o) {
  const char *name = in.opcode->name;
  const bool half = std::strstr(name, "d16");
  const bool is_signed = std::strstr(name, "sbyte") || std::strstr(name, "sshort") ||
                         std::strstr(name, "_i8") || std::strstr(name, "_i16");
  if (std::strstr(name, "d16_hi")) o.data_byte = 2;
  if (is_signed && o.kind == AccessKind::load) o.data_bytes = half ? 2 : 4;
}

ObservedAccess described(const Wave &w, const Instruction &in, uint32_t bytes, AccessKind kind) {
  ObservedAccess o;
  o.pc = in.pc;
  o.size = bytes;
  o.kind = kind;
  o.active = w.active_exec;
  o.path = path_of(in.encoding);
  o.returns = kind == AccessKind::atomic && in.glc;
  if (kind == AccessKind::atomic) {
    const char *name = in.opcode->name; // "global_atomic_swap", "ds_wrxchg_rtn_b32"
    o.exchanges =
        std::strstr(name, "xchg") || (std::strstr(name, "swap") && !std::strstr(name, "cmp"));
  }
  o.coherent = kind != AccessKind::atomic && is_coherent(w, in);
  const bool has_scope = w.arch->gfx94 || w.arch->gfx12;
  o.device = kind == AccessKind::atomic || (o.coherent && (!has_scope || in.sc1));
  o.streaming = in.slc;
  o.data = data_of(in, kind);
  o.data_bytes = static_cast<uint8_t>(bytes);
  if (bytes < 4) place_in_register(in, o);
  return o;
}

void set_stored(const Wave &w, const StoredRows &stored, ObservedAccess &o) {
  if (!stored.rows) return;
  o.stored = *stored.rows;
  o.stored_byte = stored.is_packed ? 0 : o.data_byte;
  // Accesses that are made dword by dword, and the second of two, begin with a later register.
  constexpr uint64_t registers = 512;
  const uint64_t number =
      (reinterpret_cast<uintptr_t>(stored.rows) - reinterpret_cast<uintptr_t>(w.vgpr)) /
      sizeof(Row);
  if (!stored.is_packed && number < registers) o.data = static_cast<uint16_t>(number);
}

// Of all lanes from the first one on: how far each is behind the one before it, where that is the
// same for all and they do not overlap; else 0.
uint32_t stride_of(const LaneAddresses &a, uint32_t bytes) {
  constexpr uint64_t most = 1 << 20; // less than the apertures and the scratch window have
  const uint64_t step = a.va[1] - a.va[0];
  if (a.lanes < 3 || (a.lanes & (a.lanes + 1)) || step < bytes || step > most) return 0;
  const auto count = static_cast<unsigned>(std::popcount(a.lanes));
  uint64_t differences = 0;
  for (unsigned i = 0; i < count; i++) differences |= a.va[i] - a.va[0] - i * step;
  const bool wraps = a.va[count - 1] < a.va[0];
  return differences || wraps ? 0 : static_cast<uint32_t>(step);
}

// A lane's address as observers know it: in its space.
uint64_t address_in(const Wave &w, uint64_t va, Space space) {
  if (space == Space::global) return va;
  if (space == Space::lds || va >> 32 == private_aperture_hi) return static_cast<uint32_t>(va);
  return private_address(w, va - scratch_window_base);
}

} // namespace

void tell_observer_of_run(Wave &w, const Instruction &in, uint64_t lane0, uint32_t bytes,
                          AccessKind kind, StoredRows stored) {
  ObservedAccess o = described(w, in, bytes, kind);
  set_stored(w, stored, o);
  uint64_t va[64];
  for (unsigned i = 0; i < 64; i++) va[i] = lane0 + i * uint64_t{bytes};
  o.lanes = w.active_exec, o.address = va, o.lane_stride = bytes;
  w.observer->access(w.info, o);
}

void tell_observer(Wave &w, const Instruction &in, const LaneAddresses &a, uint32_t bytes,
                   AccessKind kind, StoredRows stored) {
  ObservedAccess o = described(w, in, bytes, kind);
  set_stored(w, stored, o);
  o.lane_stride = a.in_lds ? 0 : stride_of(a, bytes);
  o.dword = a.dword;
  bool is_global = !a.in_lds;
  // Between two lanes that are in global memory, and not far apart, there is nothing else.
  const uint64_t looked_at = o.lane_stride ? 1 | std::bit_floor(a.lanes) : a.lanes;
  for_lanes(looked_at, [&](unsigned i) { is_global &= lane_space(in, a.va[i]) == Space::global; });
  if (is_global) { // nearly always: as they are
    if (a.lanes) o.lanes = a.lanes, o.address = a.va, w.observer->access(w.info, o);
    return;
  }
  o.lane_stride = 0;
  uint64_t address[3][64] = {}, lanes[3] = {};
  for_lanes(a.lanes, [&](unsigned i) {
    const Space space = a.in_lds ? Space::lds : lane_space(in, a.va[i]);
    const auto s = static_cast<unsigned>(space);
    lanes[s] |= 1ull << i;
    address[s][i] = address_in(w, a.va[i], space);
  });
  for (Space space : {Space::global, Space::lds, Space::scratch}) {
    const auto s = static_cast<unsigned>(space);
    if (!lanes[s]) continue;
    o.space = space, o.lanes = lanes[s], o.address = address[s];
    w.observer->access(w.info, o);
  }
}

void tell_observer_of_lds(Wave &w, const Instruction &in, const uint32_t *address, uint64_t lanes,
                          uint32_t bytes, AccessKind kind, bool returns, unsigned row,
                          StoredRows stored) {
  if (!lanes) return;
  ObservedAccess o = described(w, in, bytes, kind);
  uint64_t wide[64];
  for (unsigned i = 0; i < w.lanes; i++) wide[i] = address[i];
  o.space = Space::lds, o.lanes = lanes, o.address = wide, o.returns = returns;
  if (o.data != ObservedAccess::none) o.data = static_cast<uint16_t>(o.data + row);
  set_stored(w, stored, o);
  w.observer->access(w.info, o);
}

void tell_observer_of_scalar(Wave &w, const Instruction &in, uint64_t va, uint32_t bytes,
                             AccessKind kind) {
  ObservedAccess o = described(w, in, bytes, kind);
  uint64_t address[64] = {va};
  if (lane_space(in, va) == Space::scratch)
    o.space = Space::scratch, address[0] = private_address(w, va - scratch_window_base);
  o.lanes = 1, o.address = address;
  if (kind == AccessKind::store) o.stored = &w.sgpr[in.dst.index], o.stored_stride = 1;
  w.observer->access(w.info, o);
}

} // namespace fade::sim
