// Image instructions: texels are read, written, changed atomically or sampled through a T# and an
// S#. Textures have one level here, so levels of detail and gradients are accepted and change
// nothing.
#include "semantics/atomic_ops.h"
#include "semantics/cache_control.h"
#include "semantics/host_atomic.h"
#include "semantics/image_resource.h"
#include "semantics/memory_access.h"
#include "semantics/vector_memory.h"

#include <cmath>

namespace fade::sim {
namespace {

using namespace atomic_op;
using Dim = ImageResource::Dim;

ImageResource resource_of(const Wave &w, const Instruction &in) {
  const ImageResource r = image_resource(*w.arch, &w.sgpr[in.src[1].index], in.imm);
  if (!r.format.valid() || r.dim == Dim::cube || r.dim >= Dim::msaa)
    throw IllegalInstruction{in.pc, std::string(in.opcode->name) +
                                        " on an image of a kind that is not supported"};
  return r;
}

// Address operands: consecutive registers, or each named by itself; two to a register when they
// have 16 bits.
uint32_t address_word(const Wave &w, const Instruction &in, unsigned n, unsigned lane) {
  const unsigned reg = n == 0 || !in.nsa_count ? in.src[0].index + n : in.nsa[n - 1];
  return w.vgpr[reg][lane];
}
uint32_t address_bits(const Wave &w, const Instruction &in, unsigned n, unsigned lane) {
  if (!in.a16) return address_word(w, in, n, lane);
  return address_word(w, in, n / 2, lane) >> 16 * (n % 2) & 0xffff;
}
float address_float(const Wave &w, const Instruction &in, unsigned n, unsigned lane) {
  const uint32_t v = address_bits(w, in, n, lane);
  return in.a16 ? to_f32(f16{static_cast<u16>(v)}) : as_f32(v);
}

TexelIndex texel_index(const Wave &w, const Instruction &in, const ImageResource &r,
                       unsigned lane) {
  auto at = [&](unsigned n) { return static_cast<int64_t>(address_bits(w, in, n, lane)); };
  switch (r.dim) {
  case Dim::d1: return {at(0), 0, 0};
  case Dim::d2: return {at(0), at(1), 0};
  case Dim::d1_array: return {at(0), 0, at(1)};
  default: return {at(0), at(1), at(2)};
  }
}

// The texels' addresses; lanes outside of the image take no part.
LaneAddresses texel_addresses(const Wave &w, const Instruction &in, const ImageResource &r) {
  LaneAddresses a;
  for (unsigned i = 0; i < 64; i++) a.va[i] = r.base;
  for_lanes(w.active_exec, [&](unsigned i) {
    if (auto va = texel_address(r, texel_index(w, in, r, i))) a.va[i] = *va, a.lanes |= 1ull << i;
  });
  return a;
}

Texel read_texel(Wave &w, const ImageResource &r, uint64_t va) {
  std::byte room[16];
  w.memory->read(va, room, r.format.bytes());
  return load_texel(r.format, room);
}

// The registers that a mask of components names, filled one after the other.
void put_components(Wave &w, const Instruction &in, const ImageResource &r, const Texel &t,
                    unsigned lane) {
  const unsigned mask = in.dmask ? in.dmask : 1;
  unsigned n = 0;
  for (unsigned i = 0; i < 4; i++) {
    if (!(mask >> i & 1)) continue;
    const unsigned s = r.select[i];
    const uint32_t v = s >= 4 ? t.c[s - 4] : s == 1 ? one_of(r.format) : 0;
    if (!in.d16) {
      w.vgpr[in.dst.index + n][lane] = v;
    } else {
      uint32_t &reg = w.vgpr[in.dst.index + n / 2][lane];
      const uint32_t half = r.format.integer() ? v & 0xffff : to_f16(as_f32(v)).bits;
      if (n % 2)
        reg = (reg & 0xffff) | half << 16;
      else
        reg = (w.arch->sram_ecc ? 0 : reg & 0xffff0000) | half;
    }
    n++;
  }
}

Texel get_components(const Wave &w, const Instruction &in, const ImageResource &r, unsigned lane) {
  Texel t{};
  const unsigned mask = in.dmask ? in.dmask : 1;
  unsigned n = 0;
  for (unsigned i = 0; i < 4; i++) {
    if (!(mask >> i & 1)) continue;
    uint32_t v = w.vgpr[in.dst.index + (in.d16 ? n / 2 : n)][lane];
    if (in.d16) {
      v = v >> 16 * (n % 2) & 0xffff;
      if (!r.format.integer())
        v = bits(to_f32(f16{static_cast<u16>(v)}));
      else if (r.format.number == Number::sint)
        v = static_cast<uint32_t>(static_cast<i16>(v));
    }
    if (r.select[i] >= 4) t.c[r.select[i] - 4] = v;
    n++;
  }
  return t;
}

void load(Wave &w, const Instruction &in) {
  const ImageResource r = resource_of(w, in);
  const LaneAddresses a = texel_addresses(w, in, r);
  observe(w, in, a, r.format.bytes(), AccessKind::load);
  for_lanes(w.active_exec, [&](unsigned i) {
    put_components(w, in, r, a.lanes >> i & 1 ? read_texel(w, r, a.va[i]) : Texel{}, i);
  });
  count_bytes(w, a.lanes, r.format.bytes(), AccessKind::load, Space::global);
}

void store(Wave &w, const Instruction &in) {
  const ImageResource r = resource_of(w, in);
  const LaneAddresses a = texel_addresses(w, in, r);
  const auto convert = [&](unsigned i, std::byte *to) {
    store_texel(r.format, get_components(w, in, r, i), to);
  };
  observe_converted(w, in, a, r.format.bytes(), convert);
  release_fence();
  for_lanes(a.lanes, [&](unsigned i) {
    std::byte room[16];
    convert(i, room);
    w.memory->write(a.va[i], room, r.format.bytes());
  });
  count_bytes(w, a.lanes, r.format.bytes(), AccessKind::store, Space::global);
}

Texel border_texel(const ImageResource &r, const Sampler &s) {
  const uint32_t one = one_of(r.format);
  return {{s.border == 2 ? one : 0, s.border == 2 ? one : 0, s.border == 2 ? one : 0,
           s.border ? one : 0}};
}

// What a lane's sample touches: a footprint in each dimension.
struct Sample {
  Footprint at[3];
};

Sample place_sample(const Wave &w, const Instruction &in, const ImageResource &r, const Sampler &s,
                    unsigned first, unsigned lane, bool linear) {
  const bool unnormalized = s.unnormalized || in.unorm;
  Sample p{{{{0, 0}, 0}, {{0, 0}, 0}, {{0, 0}, 0}}};
  const uint32_t size[3] = {r.width, r.height, r.depth};
  unsigned n = first;
  const unsigned plane = r.dim == Dim::d1 || r.dim == Dim::d1_array ? 1 : r.dim == Dim::d3 ? 3 : 2;
  for (unsigned d = 0; d < plane; d++)
    p.at[d] = footprint(address_float(w, in, n++, lane), size[d], s.clamp[d], unnormalized, linear);
  if (r.layered()) {
    const float layer = std::nearbyint(address_float(w, in, n, lane));
    const auto z =
        static_cast<int64_t>(std::fmin(std::fmax(layer, 0.0f), static_cast<float>(r.depth - 1)));
    p.at[2] = {{z, z}, 0};
  }
  return p;
}

// Corner bits: which of the two texels in x, y and z.
Texel fetch_corner(Wave &w, const ImageResource &r, const Sampler &s, const Sample &p,
                   unsigned corner) {
  const TexelIndex t{p.at[0].texel[corner & 1], p.at[1].texel[corner >> 1 & 1],
                     p.at[2].texel[corner >> 2 & 1]};
  const auto va = texel_address(r, t);
  return va ? read_texel(w, r, *va) : border_texel(r, s);
}

Texel filter(Wave &w, const ImageResource &r, const Sampler &s, const Sample &p) {
  float sum[4] = {};
  for (unsigned corner = 0; corner < 8; corner++) {
    float weight = 1;
    for (unsigned d = 0; d < 3; d++)
      weight *= corner >> d & 1 ? p.at[d].weight : 1 - p.at[d].weight;
    if (weight == 0) continue;
    const Texel t = fetch_corner(w, r, s, p, corner);
    if (weight == 1) return t;
    for (unsigned i = 0; i < 4; i++) sum[i] += weight * as_f32(t.c[i]);
  }
  return {{bits(sum[0]), bits(sum[1]), bits(sum[2]), bits(sum[3])}};
}

unsigned derivatives(const ImageResource &r) { // in each direction of the screen
  return r.dim == Dim::d3 ? 3 : r.dim == Dim::d1 || r.dim == Dim::d1_array ? 1 : 2;
}

// `before`: operands ahead of the coordinates, as the bias has. Gradients come in pairs for each
// dimension.
template <unsigned before, bool gradients> void sample(Wave &w, const Instruction &in) {
  const ImageResource r = resource_of(w, in);
  const Sampler s = sampler(&w.sgpr[in.src[2].index]);
  const bool linear = s.linear && !r.format.integer();
  const unsigned first = before + (gradients ? 2 * derivatives(r) : 0);
  LaneAddresses a;
  a.lanes = w.active_exec;
  for (unsigned i = 0; i < 64; i++) a.va[i] = r.base;
  Texel result[64];
  for_lanes(w.active_exec, [&](unsigned i) {
    const Sample p = place_sample(w, in, r, s, first, i, linear);
    a.va[i] =
        texel_address(r, {p.at[0].texel[0], p.at[1].texel[0], p.at[2].texel[0]}).value_or(r.base);
    result[i] = filter(w, r, s, p);
  });
  observe(w, in, a, r.format.bytes(), AccessKind::load);
  for_lanes(w.active_exec, [&](unsigned i) { put_components(w, in, r, result[i], i); });
  count_bytes(w, a.lanes, r.format.bytes(), AccessKind::load, Space::global);
}

// One component of the four texels that a bilinear sample would mix: from the lower left against
// the clock.
template <unsigned before> void gather(Wave &w, const Instruction &in) {
  const ImageResource r = resource_of(w, in);
  const Sampler s = sampler(&w.sgpr[in.src[2].index]);
  const unsigned component = in.dmask ? static_cast<unsigned>(std::countr_zero(in.dmask)) : 0;
  static constexpr unsigned corners[4] = {2, 3, 1, 0};
  LaneAddresses a;
  a.lanes = w.active_exec;
  for (unsigned i = 0; i < 64; i++) a.va[i] = r.base;
  Texel result[64];
  for_lanes(w.active_exec, [&](unsigned i) {
    const Sample p = place_sample(w, in, r, s, before, i, true);
    a.va[i] =
        texel_address(r, {p.at[0].texel[0], p.at[1].texel[0], p.at[2].texel[0]}).value_or(r.base);
    for (unsigned k = 0; k < 4; k++) {
      const Texel t = fetch_corner(w, r, s, p, corners[k]);
      const unsigned from = r.select[component];
      result[i].c[k] = from >= 4 ? t.c[from - 4] : from == 1 ? one_of(r.format) : 0;
    }
  });
  observe(w, in, a, r.format.bytes(), AccessKind::load);
  for_lanes(w.active_exec, [&](unsigned i) {
    for (unsigned k = 0; k < 4; k++) {
      const uint32_t v = result[i].c[k];
      if (!in.d16) {
        w.vgpr[in.dst.index + k][i] = v;
        continue;
      }
      uint32_t &reg = w.vgpr[in.dst.index + k / 2][i];
      const uint32_t half = r.format.integer() ? v & 0xffff : to_f16(as_f32(v)).bits;
      reg = k % 2 ? (reg & 0xffff) | half << 16 : half;
    }
  });
  count_bytes(w, a.lanes, 4 * r.format.bytes(), AccessKind::load, Space::global);
}

void resource_info(Wave &w, const Instruction &in) {
  const ImageResource r = image_resource(*w.arch, &w.sgpr[in.src[1].index], in.imm);
  const Texel info{{r.width, r.dim == Dim::d1_array ? r.depth : r.height, r.depth, 1}};
  for_lanes(w.active_exec, [&](unsigned i) {
    unsigned n = 0;
    for (unsigned k = 0; k < 4; k++)
      if (in.dmask >> k & 1) w.vgpr[in.dst.index + n++][i] = info.c[k];
  });
}

template <class Op> void atomic(Wave &w, const Instruction &in) {
  using T = typename Op::Value;
  const ImageResource r = resource_of(w, in);
  const LaneAddresses a = texel_addresses(w, in, r);
  Row *data = &w.vgpr[in.dst.index];
  const AtomicInProgress progress(w);
  observe(w, in, a, sizeof(T), AccessKind::atomic);
  for_lanes(w.active_exec, [&](unsigned i) {
    T old{};
    if (a.lanes >> i & 1) {
      if (a.va[i] % sizeof(T)) throw MisalignedAtomic{a.va[i]};
      const AtomicInput<T> input{static_cast<T>(data[0][i]), static_cast<T>(data[1][i]),
                                 Denormals::keep};
      old = w.memory->atomic<T>(a.va[i], atomic_reach(w, in),
                                [&](T *p) { return fetch_apply<Op>(p, input); });
    }
    if (in.glc) data[0][i] = static_cast<u32>(old);
  });
  count_bytes(w, a.lanes, sizeof(T), AccessKind::atomic, Space::global);
}

constexpr auto loads = ExecClass::vmem_load;
constexpr auto stores = ExecClass::vmem_store;
constexpr auto atomics = ExecClass::vmem_atomic;

// clang-format off
constexpr Opcode table[] = {
    {"image_load", load, loads},
    {"image_load_mip", load, loads},
    {"image_store", store, stores},
    {"image_store_mip", store, stores},
    {"image_get_resinfo", resource_info, loads},
    {"image_sample", sample<0, false>, loads},
    {"image_sample_cl", sample<0, false>, loads},
    {"image_sample_l", sample<0, false>, loads},
    {"image_sample_lz", sample<0, false>, loads},
    {"image_sample_b", sample<1, false>, loads},
    {"image_sample_b_cl", sample<1, false>, loads},
    {"image_sample_d", sample<0, true>, loads},
    {"image_sample_d_cl", sample<0, true>, loads},
    {"image_gather4", gather<0>, loads},
    {"image_gather4_cl", gather<0>, loads},
    {"image_gather4_l", gather<0>, loads},
    {"image_gather4_lz", gather<0>, loads},
    {"image_gather4_b", gather<1>, loads},
    {"image_gather4_b_cl", gather<1>, loads},
    {"image_atomic_swap", atomic<Swap<u32>>, atomics},
    {"image_atomic_cmpswap", atomic<CompareSwap<u32>>, atomics},
    {"image_atomic_add", atomic<Add<u32>>, atomics},
    {"image_atomic_sub", atomic<Sub<u32>>, atomics},
    {"image_atomic_smin", atomic<Min<i32>>, atomics},
    {"image_atomic_umin", atomic<Min<u32>>, atomics},
    {"image_atomic_smax", atomic<Max<i32>>, atomics},
    {"image_atomic_umax", atomic<Max<u32>>, atomics},
    {"image_atomic_and", atomic<And<u32>>, atomics},
    {"image_atomic_or", atomic<Or<u32>>, atomics},
    {"image_atomic_xor", atomic<Xor<u32>>, atomics},
    {"image_atomic_inc", atomic<Inc<u32>>, atomics},
    {"image_atomic_dec", atomic<Dec<u32>>, atomics},
};
// clang-format on

} // namespace

std::span<const Opcode> image_opcodes() { return table; }

} // namespace fade::sim
