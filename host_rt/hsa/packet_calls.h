// Which call of HIP has made a packet.
//
// The runtime may show packets of several threads to whichever of them rings the doorbell. The
// thread that reserves a place in the queue is the one that makes the packet: its call is kept by
// the place.
#pragma once

#include "hsa/hsa_api.h"

#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

namespace fade {

/// Of one queue. Any thread.
class PacketCalls {
public:
  /// `size`: of the queue, in packets. Places are reserved before there is room for them, by as
  /// many threads as there are.
  explicit PacketCalls(uint32_t size) : slots_(std::bit_ceil(std::max(size, 1024u)) * 2u) {}

  void note(uint64_t first, uint64_t count, uint64_t call) noexcept {
    for (uint64_t index = first; index < first + count; ++index) {
      Slot &slot = slotOf(index);
      slot.index.store(kNone, std::memory_order_relaxed);
      slot.call.store(call, std::memory_order_release);
      slot.index.store(index, std::memory_order_release);
    }
  }
  /// 0 if it was made outside of any call, or is not known.
  uint64_t callOf(uint64_t index) const noexcept {
    const Slot &slot = const_cast<PacketCalls *>(this)->slotOf(index);
    if (slot.index.load(std::memory_order_acquire) != index) return 0;
    const uint64_t call = slot.call.load(std::memory_order_acquire);
    return slot.index.load(std::memory_order_relaxed) == index ? call : 0;
  }

private:
  static constexpr uint64_t kNone = UINT64_MAX;
  struct Slot {
    std::atomic<uint64_t> index{kNone}, call{0};
  };
  Slot &slotOf(uint64_t index) { return slots_[index & (slots_.size() - 1)]; }

  std::vector<Slot> slots_;
};

/// Sees places being reserved.
void hookWriteIndex(HsaTables &tables);

} // namespace fade
