// The device's side of the ring protocol (message.h), on the host: a RingWriter does what a wave
// does, step by step. Many threads may write through one control block, as many waves do. For the
// software GPU, and for tests of readers without a GPU.
#pragma once

#include "message.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <thread>

namespace fade {

class RingWriter {
public:
  explicit RingWriter(fade_control &control) : control_(control) {}

  // The number that a new wave announces itself with.
  uint32_t nextWave() { return __atomic_fetch_add(&control_.waves, 1u, __ATOMIC_RELAXED); }

  // Writes one encoded record; false if lossy mode dropped it. Waits while the ring is full.
  bool write(std::span<const std::byte> record) {
    const uint64_t size = record.size();
    fade_header header;
    std::memcpy(&header, record.data(), sizeof header);
    const bool may_drop = (control_.flags & FADE_CONTROL_LOSSY) != 0 &&
                          header.kind != FADE_RECORD_WAVE_BEGIN &&
                          header.kind != FADE_RECORD_WAVE_END;
    if (may_drop && !hasRoom()) {
      __atomic_fetch_add(&control_.dropped, uint64_t{1}, __ATOMIC_RELAXED);
      return false;
    }
    const uint64_t position = __atomic_fetch_add(&control_.head, size, __ATOMIC_RELAXED);
    while (position + size > __atomic_load_n(&control_.limit, __ATOMIC_ACQUIRE)) {
      if (position + size > raiseLimit()) std::this_thread::yield();
    }
    auto *at = reinterpret_cast<std::byte *>(control_.data) + (position & control_.capacity_mask);
    if ((control_.flags & FADE_CONTROL_SEGMENTED) != 0) {
      std::memcpy(at, record.data(), size);
      countWritten(position, size);
      return true;
    }
    std::memcpy(at + sizeof header, record.data() + sizeof header, size - sizeof header);
    uint64_t published;
    std::memcpy(&published, &header, sizeof published);
    __atomic_store_n(reinterpret_cast<uint64_t *>(at), published, __ATOMIC_RELEASE);
    return true;
  }

private:
  bool hasRoom() {
    const uint64_t wanted = __atomic_load_n(&control_.head, __ATOMIC_RELAXED) + FADE_RECORD_MAX;
    return wanted <= __atomic_load_n(&control_.limit, __ATOMIC_RELAXED) || wanted <= raiseLimit();
  }

  // Looks at the host's tail and returns the limit that follows from it.
  uint64_t raiseLimit() {
    const auto *tail = reinterpret_cast<const uint64_t *>(control_.tail);
    const uint64_t seen = __atomic_load_n(tail, __ATOMIC_ACQUIRE) + control_.capacity_mask + 1;
    uint64_t limit = __atomic_load_n(&control_.limit, __ATOMIC_RELAXED);
    while (limit < seen && !__atomic_compare_exchange_n(&control_.limit, &limit, seen, true,
                                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
    return seen;
  }

  // A record lies in one segment or in two. Both counts release all of it.
  void countWritten(uint64_t position, uint64_t size) {
    const uint64_t border = ((position >> control_.segment_shift) + 1) << control_.segment_shift;
    const uint64_t first = std::min(size, border - position);
    addWritten(position, first);
    if (first < size) addWritten(border, size - first);
  }
  void addWritten(uint64_t position, uint64_t bytes) {
    auto *written = reinterpret_cast<uint64_t *>(control_.written);
    const uint64_t segment = (position & control_.capacity_mask) >> control_.segment_shift;
    __atomic_fetch_add(&written[segment], bytes, __ATOMIC_RELEASE);
  }

  fade_control &control_;
};

} // namespace fade
