// The host's side of the ring protocol (fade/message.h): finds published records, hands them out as
// contiguous pieces, and frees them in order.
//
//        freed          scanned
//   -------|===============|-----------------> positions
//          handed out, not  |
//          freed yet        next to look at
//
// Of a ring in host memory, `data` is the ring itself, and a zero header is one that is not there
// yet. Of a segmented ring it is a mirror in host memory that a SegmentReader fills; there only
// what setVisible() allows is looked at, nothing has to be zero, and waves get whole segments back.
//
// One thread drains. Pieces may be read and cleared by others before they are freed.
#pragma once

#include "fade/message.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace fade {

class RingDrain {
public:
  struct Piece {
    std::byte *bytes = nullptr;
    std::size_t size = 0;
    uint64_t position = 0;
  };

  RingDrain() = default;
  /// The ring is zero and nothing has been reserved.
  RingDrain(std::byte *data, uint64_t capacity, uint64_t *tail)
      : data_(data), capacity_(capacity), tail_(tail) {}

  /// The ring is segmented, and nothing of it is visible yet.
  void limitToSegments(uint32_t segment_shift) {
    segment_ = uint64_t{1} << segment_shift;
    visible_ = 0;
  }
  /// Of a segmented ring only records that end at or before that position are handed out.
  void setVisible(uint64_t position) { visible_ = position; }
  bool isLimited() const { return visible_ != kNoLimit; }

  uint64_t capacity() const { return capacity_; }
  uint64_t scanned() const { return scanned_; }
  uint64_t freed() const { return freed_; }
  bool isCorrupt() const { return corrupt_; }
  /// The share of the ring that is handed out and not freed.
  double fill() const {
    return capacity_ == 0 ? 0
                          : static_cast<double>(scanned_ - freed_) / static_cast<double>(capacity_);
  }

  /// The next piece, at most about `most` bytes; empty if nothing more is published. Calls
  /// f(const fade_wave_begin &) for each wave announced in it.
  template <typename F> Piece next(std::size_t most, F &&f);

  /// The oldest piece that is not freed yet has been read and is zero again.
  void free(std::size_t size) {
    freed_ += size;
    publishTail(freed_);
  }

  /// Before the next dispatch, once everything is freed.
  void restart() {
    scanned_ = freed_ = 0;
    if (isLimited()) visible_ = 0;
    corrupt_ = false;
    publishTail(0);
  }

  /// Hands out nothing more of this dispatch, as if the ring were corrupt.
  void giveUp() { corrupt_ = true; }

  /// Of a corrupt ring nothing can be read, but waves may wait for room in it. Lets them go on for
  /// nearly a gigabyte from where they certainly are. Not further: they compare the lower halves of
  /// positions, and a limit that is 2 GiB ahead would look like one that is behind.
  void letWritersPass(uint64_t head) {
    freed_ = std::max(freed_, head + FADE_RING_MAX_CAPACITY - (uint64_t{64} << 20));
    publishTail(freed_);
  }

private:
  // What a device wrote is in no cache of this processor. A page ahead, since processors do not
  // look beyond the page by themselves; but only with a backlog, or lines that the device is about
  // to write would be taken away from it.
  static constexpr std::size_t kPrefetch = 4096, kBacklog = 16384;

  static constexpr uint64_t kNoLimit = UINT64_MAX;

  // Not a part of a segment: waves would write their next lap into it and count those bytes, while
  // a slower wave's bytes of this lap are still missing, and the segment would seem to be whole.
  void publishTail(uint64_t value) {
    __atomic_store_n(tail_, value & ~(segment_ - 1), __ATOMIC_RELEASE);
  }

  std::byte *data_ = nullptr;
  uint64_t capacity_ = 0;
  uint64_t *tail_ = nullptr;
  uint64_t scanned_ = 0, freed_ = 0, visible_ = kNoLimit;
  uint64_t segment_ = 1; ///< waves get multiples of that back
  bool corrupt_ = false;
};

template <typename F> RingDrain::Piece RingDrain::next(std::size_t most, F &&f) {
  const uint64_t offset = scanned_ & (capacity_ - 1);
  Piece piece{data_ + offset, 0, scanned_};
  // Nothing beyond one lap can have been written; a record may run over the end into the slack.
  const uint64_t lap = freed_ + capacity_ - scanned_;
  const uint64_t seen = visible_ - scanned_;
  while (!corrupt_ && piece.size < most && offset + piece.size < capacity_ &&
         piece.size < std::min(lap, seen)) {
    std::byte *at = piece.bytes + piece.size;
    const uint64_t stored = __atomic_load_n(reinterpret_cast<uint64_t *>(at), __ATOMIC_ACQUIRE);
    if (stored == 0 && !isLimited()) break;
    if (piece.size >= kBacklog && piece.size + kPrefetch < seen) __builtin_prefetch(at + kPrefetch);
    const auto header = std::bit_cast<fade_header>(stored);
    const std::size_t size = std::size_t{header.words} * FADE_RECORD_ALIGN;
    if (size < sizeof(fade_record) || size > FADE_RING_SLACK || piece.size + size > lap) {
      corrupt_ = true;
      break;
    }
    if (piece.size + size > seen) break;
    if (header.kind == FADE_RECORD_WAVE_BEGIN && size == sizeof(fade_wave_begin)) {
      fade_wave_begin wave;
      std::memcpy(&wave, at, sizeof wave);
      f(std::as_const(wave));
    }
    piece.size += size;
  }
  scanned_ += piece.size;
  return piece;
}

} // namespace fade
