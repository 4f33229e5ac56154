// Instructions of the LDS unit that touch no LDS: moving values between lanes, and global wave
// sync.
#include "base/trace.h"
#include "semantics/cross_lane.h"
#include "semantics/lds.h"
#include "wave/device_services.h"

#include <algorithm>
#include <bit>

namespace fade::sim {
namespace {

// gfx10 and gfx11 run a wave of 64 in two halves, and lanes cannot reach the other half.
unsigned reach(const Wave &w) {
  return w.lanes == 32 || (w.arch->gfx10_up && !w.arch->gfx12) ? 32 : 64;
}

// The lane that each lane's address names.
void addressed_lanes(const Wave &w, const Instruction &in, uint32_t *lanes) {
  const uint32_t *address = w.vgpr[in.src[0].index];
  const uint32_t offset = static_cast<uint32_t>(in.offset), n = reach(w);
  for (uint32_t i = 0; i < 64; i++)
    lanes[i] = (i & ~(n - 1)) | ((address[i] + offset) / 4 & (n - 1));
}

void write_active(Wave &w, const Instruction &in, const uint32_t *values) {
  uint32_t *to = w.vgpr[in.dst.index];
  const uint32_t *active = w.active();
  for (unsigned i = 0; i < w.lanes; i++) to[i] = (values[i] & active[i]) | (to[i] & ~active[i]);
}

// Each lane sends: to the lane that its address names. Where several meet, the highest sender wins.
void permute(Wave &w, const Instruction &in) {
  uint32_t result[64] = {}, to[64];
  const uint32_t *data = w.vgpr[in.src[1].index];
  addressed_lanes(w, in, to);
  for_lanes(w.active_exec, [&](unsigned i) { result[to[i]] = data[i]; });
  write_active(w, in, result);
}

// Each lane fetches. An inactive lane gives zero.
void bpermute(Wave &w, const Instruction &in) {
  uint32_t result[64], given[64], from[64];
  const uint32_t *data = w.vgpr[in.src[1].index];
  addressed_lanes(w, in, from);
  const uint32_t *active = w.active();
  for (unsigned i = 0; i < 64; i++) given[i] = data[i] & active[i];
  for (unsigned i = 0; i < 64; i++) result[i] = given[from[i]];
  write_active(w, in, result);
}

// The same, of inactive lanes too.
void bpermute_inactive(Wave &w, const Instruction &in) {
  uint32_t result[64], from[64];
  const uint32_t *data = w.vgpr[in.src[1].index];
  addressed_lanes(w, in, from);
  for (unsigned i = 0; i < w.lanes; i++) result[i] = data[from[i]];
  write_active(w, in, result);
}

unsigned reversed5(unsigned v) {
  unsigned r = 0;
  for (unsigned b = 0; b < 5; b++) r |= (v >> b & 1) << (4 - b);
  return r;
}

// The lane that lane i reads under a swizzle pattern; all patterns stay inside 32 lanes.
unsigned swizzled_lane(unsigned pattern, unsigned i) {
  const unsigned half = i & 0x20;
  if (pattern >= 0xe000) { // FFT
    const unsigned mask = pattern & 0x1f;
    return half | reversed5(i & 0x1f) >> std::popcount(mask) | (i & mask);
  }
  if (pattern >= 0xc000) { // rotation, of the bits that the mask leaves free
    const unsigned mask = pattern & 0x1f, count = pattern >> 5 & 0x1f;
    const unsigned moved = pattern >> 10 & 1 ? i - count : i + count;
    return half | (i & mask) | (moved & ~mask & 0x1f);
  }
  if (pattern & 0x8000) return (i & ~3u) | (pattern >> 2 * (i & 3) & 3); // any permutation of four
  const unsigned and_mask = pattern & 0x1f, or_mask = pattern >> 5 & 0x1f,
                 xor_mask = pattern >> 10 & 0x1f;
  return half | (((i & and_mask) | or_mask) ^ xor_mask);
}

void swizzle(Wave &w, const Instruction &in) {
  uint32_t result[64];
  const uint32_t *data = w.vgpr[in.src[0].index];
  for (unsigned i = 0; i < w.lanes; i++) {
    const unsigned from = swizzled_lane(static_cast<unsigned>(in.offset), i);
    result[i] = data[from] & w.active()[from];
  }
  write_active(w, in, result);
}

// Global wave sync. The operand says how many waves take part besides the one that speaks; the
// first active lane's counts. There is one barrier, which is what cooperative launches use.
uint32_t other_waves(const Wave &w, const Instruction &in) {
  return w.vgpr[in.src[0].index][std::countr_zero(w.active_exec)];
}

void gws_init(Wave &w, const Instruction &in) {
  if (w.active_exec) w.device->global_sync.init(other_waves(w, in) + 1);
}

void gws_barrier(Wave &w, const Instruction &) {
  if (!w.active_exec) return;
  if (w.device->global_sync.is_first_unprepared())
    say("%s: a grid meets at ds_gws_barrier, which nobody has prepared (ds_gws_init): no wave "
        "waits "
        "there. HIP 6 and 7 do not prepare it on gfx942 and gfx1100; device libraries that know "
        "these GPUs do not use it",
        w.arch->name);
  full_fence();
  w.global_barrier_phase = w.device->global_sync.arrive();
  w.state = WaveState::at_global_barrier;
}

constexpr auto lds = ExecClass::lds;

// clang-format off
constexpr Opcode table[] = {
    {"ds_permute_b32", permute, lds},
    with(Effect::crosses_lanes, Opcode{"ds_bpermute_b32", bpermute, lds}),
    {"ds_bpermute_fi_b32", bpermute_inactive, lds},
    with(Effect::crosses_lanes, Opcode{"ds_swizzle_b32", swizzle, lds}),
    with(Effect::outside, Opcode{"ds_gws_init", gws_init, lds}),
    with(Effect::global_barrier, with(Effect::outside, Opcode{"ds_gws_barrier", gws_barrier, lds})),
};
// clang-format on

} // namespace

uint64_t lanes_from_inactive(const Wave &w, const Instruction &in, uint8_t (&from)[64]) {
  if (in.opcode->run == bpermute) {
    uint32_t lanes[64];
    addressed_lanes(w, in, lanes);
    std::transform(lanes, lanes + 64, from, [](uint32_t l) { return static_cast<uint8_t>(l); });
  } else {
    for (unsigned i = 0; i < 64; i++)
      from[i] = static_cast<uint8_t>(swizzled_lane(static_cast<unsigned>(in.offset), i));
  }
  uint64_t strayed = 0;
  for_lanes(w.active_exec, [&](unsigned i) {
    if (!(w.active_exec >> from[i] & 1)) strayed |= uint64_t{1} << i;
  });
  return strayed;
}

std::span<const Opcode> lds_cross_lane_opcodes() { return table; }

} // namespace fade::sim
