// One wave: its registers, and where it stands.
#pragma once

#include "isa/arch.h"
#include "isa/instruction.h"

#include <fade/observer.h>

#include <bit>
#include <cstdint>
#include <cstring>

namespace fade::sim {

class Workgroup;
class MemoryView;
struct Segment;
class HazardWindow;
struct DeviceServices;
struct DispatchStats;

using Row = uint32_t[64]; // one vector register: a value for each lane

// Why a wave gave up its worker. `at_lds`: it has read LDS and is about to write it, or the other
// way round, and siblings that are behind it come first.
enum class WaveState : uint8_t { running, at_lds, at_barrier, at_global_barrier, sleeping, ended };

// What the expression of an instruction may ask about the machine besides its operands.
struct alignas(8) Machine {
  bool ieee = false;                  // MODE.IEEE: signalling NaNs are quieted and passed on
  bool overflow_stays_finite = false; // MODE.FP16_OVFL
  bool gfx9 = false;
  bool gfx90a = false;
  bool ocp_fp8 = false; // else gfx942's own formats of 8 bits
};

// Expands a lane mask to one word (0 or ~0) per lane; 32 or 64 lanes.
inline void expand_mask(uint64_t mask, uint32_t *out, unsigned lanes) {
  for (unsigned half = 0; half < lanes; half += 32) {
    const uint32_t word = static_cast<uint32_t>(mask >> half);
    for (unsigned i = 0; i < 32; i++) out[half + i] = word & 1u << i ? ~0u : 0u;
  }
}

// Nobody can observe the waves of a build with FADE_UNOBSERVED, which is there to see what it costs
// to ask whether somebody does: bench/observe/unobserved.py.
#ifdef FADE_UNOBSERVED
inline constexpr bool kObservable = false;
#else
inline constexpr bool kObservable = true;
#endif

struct Wave {
  // Scalar state. VCC, M0 and EXEC live in the scalar file under their own numbers.
  uint32_t sgpr[sreg::count + 2] = {};
  bool scc = false;
  uint64_t pc = 0;
  uint32_t mode = 0; // MODE register: round [3:0], denormals [7:4], dx10_clamp [8], ieee [9], ...
  uint32_t status = 0;
  // Vector instructions need no special care: MODE asks for what the host does by itself (nearest
  // even, denormals kept) and no register indexing is on. Kept by set_mode() and s_set_gpr_idx.
  bool plain_mode = true;
  Machine machine; // as MODE has it, kept by set_mode()

  Row *vgpr = nullptr; // rows v0-v255 and a0-a255
  uint32_t lanes = 64; // 32 or 64
  uint64_t lane_mask() const { return lanes == 64 ? ~0ull : 0xffffffffull; }

  // EXEC, expanded to one word per lane. Valid inside a segment: whatever writes EXEC ends the
  // segment. The sides of a branch take turns, so the last few are kept.
  const uint32_t *active() const { return expanded[active_number]; }
  alignas(64) uint32_t expanded[4][64] = {};
  uint64_t expanded_from[4] = {};
  uint32_t active_number = 0, next_number = 0;
  uint64_t active_exec = 0;
  bool all_active = false;
  uint32_t active_count = 0;

  WaveState state = WaveState::running;
  const Segment *segment = nullptr; // at pc, when that is known
  bool in_step = false;             // waits for siblings, see ResidentGroup
  LdsUse lds_use = LdsUse::none;    // since it last met them
  uint64_t time = 0;                // instructions since the last barrier
  uint64_t siblings_time = 0;       // how far all of those who run have come at least
  const Arch *arch = nullptr;
  MemoryView *memory = nullptr; // the worker's
  Workgroup *group = nullptr;
  DeviceServices *device = nullptr;
  DispatchStats *stats = nullptr;     // the worker's
  WorkerObserver *observer = nullptr; // the worker's; null for most dispatches
  uint32_t observer_wants = 0;        // bits of ObserverWants
  HazardWindow *hazards = nullptr;    // if the observer wants to know
  ObservedWave info{};
  std::byte *scratch = nullptr;      // private memory of the wave: dword-interleaved between lanes
  uint32_t scratch_bytes = 0;        // per lane
  bool barrier_signaled = false;     // gfx12: it has arrived, others have not
  bool barrier_complete = false;     // gfx12: all have, and it has not waited for that yet
  uint64_t global_barrier_phase = 0; // while at_global_barrier: the phase that must end
  uint64_t flat_scratch = 0;         // not on gfx90a and gfx908, which have it in scalar registers
  uint32_t gpr_index = 0; // s_set_gpr_idx: enabled parts in [15:12], index in [7:0]; 0 when off

  uint64_t sgpr64(unsigned i) const {
    uint64_t v;
    std::memcpy(&v, &sgpr[i], 8);
    return v;
  }
  void set_sgpr64(unsigned i, uint64_t v) { std::memcpy(&sgpr[i], &v, 8); }
  uint64_t exec() const { return sgpr64(sreg::exec_lo) & lane_mask(); }
  void set_exec(uint64_t v) { set_sgpr64(sreg::exec_lo, v & lane_mask()); }
  uint64_t vcc() const { return sgpr64(sreg::vcc_lo) & lane_mask(); }
  // A mask register: a pair in wave64, one register in wave32.
  uint64_t mask_register(unsigned i) const { return lanes == 64 ? sgpr64(i) : sgpr[i]; }
  void set_mask_register(unsigned i, uint64_t v) {
    if (i == sreg::null) return;
    if (lanes == 64)
      set_sgpr64(i, v);
    else
      sgpr[i] = static_cast<uint32_t>(v);
  }

  void set_mode(uint32_t m) { // `arch` is set
    mode = m;
    machine = {(m >> 9 & 1) != 0, (m >> 23 & 1) != 0, arch->gfx9, arch->id == Gfx::gfx90a,
               arch->ocp_fp8};
    update_plain_mode();
  }
  void set_gpr_index(uint32_t v) {
    gpr_index = v;
    update_plain_mode();
  }
  void update_plain_mode() { plain_mode = (mode & 0xff) == 0xf0 && gpr_index == 0; }

  // Brings `active` up to date with EXEC.
  void expand_exec() {
    uint64_t e = exec();
    if (e == active_exec) return;
    active_exec = e;
    all_active = e == lane_mask();
    active_count = static_cast<uint32_t>(std::popcount(e));
    for (uint32_t i = 0; i < 4; i++)
      if (expanded_from[i] == e) {
        active_number = i;
        return;
      }
    active_number = next_number++ % 4;
    expanded_from[active_number] = e;
    expand_mask(e, expanded[active_number], 64);
  }
};

// Packs 64 bytes of 0 or 1 to a mask.
inline uint64_t pack_flags(const uint8_t *flags, unsigned lanes) {
  uint64_t mask = 0;
  for (unsigned i = 0; i < lanes; i += 8) {
    uint64_t bytes;
    std::memcpy(&bytes, flags + i, 8);
    mask |= (bytes * 0x0102040810204080ull >> 56) << i;
  }
  return mask;
}

} // namespace fade::sim
