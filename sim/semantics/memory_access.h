// What all vector memory instructions share: where each lane points, and how to get there.
//
// A wave's access is resolved as a whole when it can be: the addresses of all lanes are computed,
// the range that they span is looked up once, and the lanes are then served from host memory in a
// tight loop. Only when the lanes lie in different regions, or a flat access meets LDS or private
// memory, each lane is looked up by itself.
//
// Memory order. A worker executes a wave's instructions in program order, but other threads
// (workers, the host) must see them in an order that the program can rely on, and the host's
// processor may be weaker than that. The compiler builds an AMD release from s_waitcnt (and, on
// some architectures, a cache write-back) before the releasing store or atomic, and an acquire from
// a cache invalidation after the acquiring load. So these are the two places that are ordered here:
// a vector or scalar store is issued behind a release fence, and every cache-control instruction is
// a full fence. Atomics are sequentially consistent by themselves. Between these points aligned
// dwords, pairs and fours of them are never torn: libraries rely on 128 bits being whole.
#pragma once

#include "isa/opcode.h"
#include "semantics/values.h"
#include "wave/memory_view.h"
#include "wave/quad.h"
#include "wave/wave.h"
#include "wave/workgroup.h"

#include <atomic>

namespace fade::sim {

using Space = AccessSpace;

struct LaneAddresses {
  alignas(64) uint64_t va[64];
  uint64_t lanes = 0;       // those that take part: active, and not cut off by a buffer's bounds
  uint32_t word_stride = 4; // from one dword of a lane to its next; more than 4 in private memory
  bool scattered = false;   // known not to be a run, see find_run()
  bool in_lds = false;      // a flat access of which all lanes are in LDS
  bool word_by_word =
      false;         // buffers: each dword must be addressed by itself, as an access of its own
  uint8_t dword = 0; // linear buffers: which one of the instruction's it is then
};

// Addresses of an access of `bytes` per lane, as the instruction's encoding forms them. `first` is
// where in the instruction's access this one begins.
void vector_addresses(const Wave &w, const Instruction &in, uint32_t bytes, LaneAddresses &a,
                      uint32_t first = 0);

// The lanes of an access as words of 0 or ~0.
class LaneMask {
public:
  LaneMask(const Wave &w, uint64_t lanes) : full_(lanes == w.lane_mask()) {
    if (lanes == w.active_exec)
      words_ = w.active();
    else
      expand_mask(lanes, room_, 64);
  }
  LaneMask(const LaneMask &) = delete;
  LaneMask &operator=(const LaneMask &) = delete;

  bool full() const { return full_; }
  const uint32_t *words() const { return words_; }

private:
  bool full_;
  const uint32_t *words_ = room_;
  alignas(64) uint32_t room_[64];
};

// Host memory behind all lanes of an access. `host` is null when there is no single range.
struct HostRange {
  std::byte *host = nullptr; // of address `base`, the lowest
  uint64_t base = 0;
  // Set when the lanes lie one right behind the other (dword by dword in private memory), with
  // nothing between them and room for all, active or not: where lane 0 would be.
  std::byte *run = nullptr;
  Space space = Space::global;

  std::byte *at(uint64_t va) const { return host + (va - base); }
};
HostRange locate(Wave &w, const LaneAddresses &a, const LaneMask &mask, uint32_t bytes, bool write);

// The most common accesses, found without forming an address for each lane: neighbouring lanes use
// neighbouring memory, or all use the same place in private memory. `host` is where lane 0 would
// be, null when it is not such an access.
struct Run {
  std::byte *host = nullptr;
  uint32_t word_stride = 4;
  Space space = Space::global;
  uint64_t va = 0; // of lane 0, in global memory
};
Run find_run(Wave &w, const Instruction &in, uint32_t bytes, bool write);

// One lane by itself, wherever it points: global memory, LDS or private memory. Throws MemoryFault.
Space lane_space(const Instruction &in, uint64_t va);
void read_lane(Wave &w, const Instruction &in, const LaneAddresses &a, unsigned lane, void *to,
               uint32_t bytes);
void write_lane(Wave &w, const Instruction &in, const LaneAddresses &a, unsigned lane,
                const void *from, uint32_t bytes);

// Counts bytes.
void count_bytes(Wave &w, uint64_t lanes, uint32_t bytes, AccessKind kind, Space space);
// The same when each lane of a flat access may point to another space.
void count_by_lane(Wave &w, const Instruction &in, const LaneAddresses &a, uint32_t bytes,
                   AccessKind kind);

// Whether somebody wants to know of accesses. Those who do are told before the access is made, so
// that they also see one that faults.
inline bool is_observed(const Wave &w) { return kObservable && w.observer_wants & kWantsAccesses; }
// What a store stores: registers, or values as they come to memory.
struct StoredRows {
  const Row *rows = nullptr;
  bool is_packed = false; // less than a dword is in its lowest bytes, whatever the instruction says
};
void tell_observer(Wave &w, const Instruction &in, const LaneAddresses &a, uint32_t bytes,
                   AccessKind kind, StoredRows stored);
void tell_observer_of_run(Wave &w, const Instruction &in, uint64_t lane0, uint32_t bytes,
                          AccessKind kind, StoredRows stored);
void tell_observer_of_lds(Wave &w, const Instruction &in, const uint32_t *address, uint64_t lanes,
                          uint32_t bytes, AccessKind kind, bool returns, unsigned row,
                          StoredRows stored);
void tell_observer_of_scalar(Wave &w, const Instruction &in, uint64_t va, uint32_t bytes,
                             AccessKind kind);
inline void observe(Wave &w, const Instruction &in, const LaneAddresses &a, uint32_t bytes,
                    AccessKind kind) {
  if (is_observed(w)) [[unlikely]]
    tell_observer(w, in, a, bytes, kind, {});
}
inline void observe_store(Wave &w, const Instruction &in, const LaneAddresses &a, uint32_t bytes,
                          StoredRows stored) {
  if (is_observed(w)) [[unlikely]]
    tell_observer(w, in, a, bytes, AccessKind::store, stored);
}
// False: observers want each lane's address, which a run in private memory does not have.
inline bool observe_run(Wave &w, const Instruction &in, const Run &run, uint32_t bytes,
                        AccessKind kind, StoredRows stored) {
  if (!is_observed(w)) [[likely]]
    return true;
  if (run.space != Space::global) return false;
  tell_observer_of_run(w, in, run.va, bytes, kind, stored);
  return true;
}
// Stores of values that are converted on their way: convert(lane, to) makes those of a lane.
template <class F>
void observe_converted(Wave &w, const Instruction &in, const LaneAddresses &a, uint32_t bytes,
                       F &&convert) {
  if (!is_observed(w)) [[likely]]
    return;
  Row rows[4] = {};
  for (uint64_t lanes = a.lanes; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    uint32_t room[4] = {};
    convert(lane, reinterpret_cast<std::byte *>(room));
    for (unsigned k = 0; k < 4; k++) rows[k][lane] = room[k];
  }
  tell_observer(w, in, a, bytes, AccessKind::store, {rows, true});
}
// While an atomic is being made, from before it is told on.
class AtomicInProgress {
public:
  explicit AtomicInProgress(const Wave &w) : w_(w) {}
  ~AtomicInProgress() {
    if (is_observed(w_)) [[unlikely]]
      w_.observer->atomicDone(w_.info);
  }
  AtomicInProgress(const AtomicInProgress &) = delete;
  AtomicInProgress &operator=(const AtomicInProgress &) = delete;

private:
  const Wave &w_;
};
// `row`: how many registers behind the instruction's first one its data begin.
inline void observe_lds(Wave &w, const Instruction &in, const uint32_t *address, uint64_t lanes,
                        uint32_t bytes, AccessKind kind, bool returns = false, unsigned row = 0) {
  if (is_observed(w)) [[unlikely]]
    tell_observer_of_lds(w, in, address, lanes, bytes, kind, returns, row, {});
}
inline void observe_lds_store(Wave &w, const Instruction &in, const uint32_t *address,
                              uint64_t lanes, uint32_t bytes, StoredRows stored) {
  if (is_observed(w)) [[unlikely]]
    tell_observer_of_lds(w, in, address, lanes, bytes, AccessKind::store, false, 0, stored);
}
// Atomics: the old value is wanted if the instruction says so.
inline void observe_scalar(Wave &w, const Instruction &in, uint64_t va, uint32_t bytes,
                           AccessKind kind) {
  if (is_observed(w)) [[unlikely]]
    tell_observer_of_scalar(w, in, va, bytes, kind);
}

// Calls f(lane) for each lane of a mask, in rising order.
template <class F> inline void for_lanes(uint64_t mask, F &&f) {
  for (; mask; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
}

// Which part of a register a value of less than 32 bits goes to or comes from. `alone`: the other
// half is cleared, see Arch::sram_ecc.
enum class Part { whole, low, high, low_alone, high_alone };

// What a lane moves: `words` values of type T, one per register.
template <class T, unsigned words, Part part = Part::whole> struct Item {
  using Value = T;
  static constexpr unsigned count = words;
  static constexpr uint32_t bytes = sizeof(T) * words;
  static constexpr bool is_half = part == Part::low || part == Part::high;
  using Alone = Item<T, words, part == Part::low ? Part::low_alone : Part::high_alone>;

  static uint32_t to_register(T v, uint32_t old) {
    // Sign- or zero-extended as T says.
    const uint32_t wide = static_cast<uint32_t>(static_cast<int32_t>(v));
    if constexpr (part == Part::low)
      return (old & 0xffff0000) | (wide & 0xffff);
    else if constexpr (part == Part::high)
      return (old & 0xffff) | wide << 16;
    else if constexpr (part == Part::low_alone)
      return wide & 0xffff;
    else if constexpr (part == Part::high_alone)
      return wide << 16;
    else
      return wide;
  }
  static T from_register(uint32_t r) { return static_cast<T>(part == Part::high ? r >> 16 : r); }
};

// Under the thread sanitizer the accesses are volatile, lest the compiler make calls of them that
// it would watch.
#if defined(__SANITIZE_THREAD__)
#define FADE_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FADE_UNDER_TSAN 1
#endif
#endif
template <class T> FADE_GPU_ACCESS inline T load_unaligned(const std::byte *p) {
#if FADE_UNDER_TSAN
  using Anywhere __attribute__((aligned(1), may_alias)) = T;
  return *reinterpret_cast<const volatile Anywhere *>(p);
#else
  T v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
#endif
}
template <class T> FADE_GPU_ACCESS inline void store_unaligned(std::byte *p, T v) {
#if FADE_UNDER_TSAN
  using Anywhere __attribute__((aligned(1), may_alias)) = T;
  *reinterpret_cast<volatile Anywhere *>(p) = v;
#else
  __builtin_memcpy(p, &v, sizeof v);
#endif
}

inline void release_fence() { std::atomic_thread_fence(std::memory_order_release); }
inline void full_fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }

} // namespace fade::sim
