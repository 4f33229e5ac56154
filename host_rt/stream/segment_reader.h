// Brings a segmented ring (fade/message.h) from device memory into a mirror of it in host memory,
// with a copy engine and without ever waiting.
//
//          freed          visible          copied       whole
//   ---------|===============|................|------------|---------------> positions
//            in the mirror,   being copied     known to be
//            may be read                       written
//
// It asks for `written` again and again, also while data is on its way, so that the engine always
// has something to do; the more has been written meanwhile, the larger is the next copy. Only where
// no further segment has become whole it asks for `head`, too: if that is the sum of what was
// written before, everything is whole. Nothing else is copied, and so no record is ever torn.
//
// A record that runs over the end of the ring has been written to its last byte when the last
// segment is whole, because it counts in that segment, too: the slack comes with that segment.
//
// One thread uses it. It knows no GPU: CopyEngine stands for that.
#pragma once

#include "fade/message.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace fade {

/// Copies from device to host memory while kernels run. Each slot is used for one copy at a time;
/// copies in different slots may run together and end in any order.
class CopyEngine {
public:
  static constexpr unsigned kSlots = 4;

  virtual ~CopyEngine() = default;
  /// Starts a copy and returns at once; false: it cannot.
  virtual bool start(unsigned slot, void *to, uint64_t from, std::size_t size) noexcept = 0;
  /// The copy that was started last in that slot is over, and its bytes can be read.
  virtual bool isDone(unsigned slot) noexcept = 0;
};

/// A segmented ring and what the host needs to read it.
struct SegmentedRing {
  uint64_t data = 0;           ///< device address of the ring
  uint64_t written = 0;        ///< device address of the counts
  uint64_t head = 0;           ///< device address of fade_control::head
  std::byte *mirror = nullptr; ///< capacity + FADE_RING_SLACK bytes
  uint64_t *staging = nullptr; ///< kStagingWords words that the engine can write to
  uint64_t capacity = 0;
  uint32_t segment_shift = 0;

  static constexpr std::size_t kStagingWords = FADE_RING_SEGMENTS + 1;

  uint64_t segments() const { return capacity >> segment_shift; }
  /// The one for a ring of that size: as many segments as there may be.
  static uint32_t segmentShift(uint64_t capacity) {
    uint32_t shift = 0;
    while (FADE_RING_SEGMENTS << shift < capacity || 1u << shift < FADE_SEGMENT_MIN) ++shift;
    return shift;
  }
};

class SegmentReader {
public:
  /// Nothing has been reserved, and the counts are zero.
  SegmentReader(CopyEngine &engine, const SegmentedRing &ring) : engine_(engine), ring_(ring) {}

  /// What can be done now: takes note of copies that have ended and starts others. True if
  /// something new is visible or on its way.
  bool step() noexcept {
    bool any = takeArrived();
    if (failed_) return any;
    lookAtAnswer();
    // The question goes first: behind the data an engine would answer it when it has nothing else
    // to do any more.
    if (!failed_ && asked_ == Question::none && !last_answer_) ask(Question::written);
    if (!failed_) any |= startCopies();
    return any;
  }

  /// In the mirror there is everything up to here.
  uint64_t visible() const { return visible_; }
  /// Up to here the mirror has been read and may be written to again. At most `visible`.
  void setFreed(uint64_t position) { freed_ = position; }

  /// The kernel has ended and has reserved that much: everything up to there is to be fetched.
  void finish(uint64_t head) noexcept {
    finished_ = true;
    outdated_ = asked_ != Question::none;
    head_ = head;
    last_answer_ = whole_ == head;
  }
  /// After finish(): all that was written is visible. What lies between that and the head was
  /// reserved by waves that never wrote it.
  bool isComplete() const { return last_answer_ && visible_ == whole_; }

  /// A copy could not be started, or giveUp() was called: nothing more will become visible.
  bool failed() const { return failed_; }
  void giveUp() noexcept { failed_ = true; }
  /// No copy is under way: the memory may be used for other things. Copies are not called back: to
  /// get there, giveUp() and then step() until it is so.
  bool isIdle() noexcept {
    return count_ == 0 && (asked_ == Question::none || engine_.isDone(kAnswers));
  }
  /// Before the next dispatch. Nothing may be under way.
  void restart() noexcept {
    asked_ = Question::none;
    visible_ = copied_ = whole_ = freed_ = head_ = 0;
    finished_ = outdated_ = last_answer_ = failed_ = false;
  }

  /// The head as it was last seen: how far waves have reserved.
  uint64_t head() const { return head_; }
  /// What is known to be written is on its way.
  bool isCopying() const { return count_ != 0; }
  /// How often the engine has brought an answer. If that does not change, it is stuck.
  uint64_t answers() const { return answers_; }

private:
  enum class Question { none, written, head };
  static constexpr unsigned kAnswers = 0; // slot
  static constexpr unsigned kData = CopyEngine::kSlots - 1;

  void ask(Question what) noexcept {
    const bool is_head = what == Question::head;
    uint64_t *to = is_head ? ring_.staging + FADE_RING_SEGMENTS : ring_.staging;
    const std::size_t size = is_head ? sizeof(uint64_t) : ring_.segments() * sizeof(uint64_t);
    asked_ = what;
    if (engine_.start(kAnswers, to, is_head ? ring_.head : ring_.written, size)) return;
    asked_ = Question::none;
    failed_ = true;
  }

  void lookAtAnswer() noexcept {
    if (asked_ == Question::none || !engine_.isDone(kAnswers)) return;
    const Question what = asked_;
    asked_ = Question::none;
    ++answers_;
    if (outdated_) { // the question was older than the kernel's end
      outdated_ = false;
      return;
    }
    if (what == Question::written) {
      const bool more = findWholeSegments();
      if (finished_) {
        if (sumOfWritten() == head_) whole_ = head_;
        last_answer_ = true;
      } else if (!more) {
        ask(Question::head);
      }
      return;
    }
    head_ = ring_.staging[FADE_RING_SEGMENTS];
    if (sumOfWritten() == head_) whole_ = std::max(whole_, head_);
  }

  bool findWholeSegments() noexcept {
    const uint64_t before = whole_;
    const uint64_t size = uint64_t{1} << ring_.segment_shift;
    while (whole_ < freed_ + ring_.capacity) {
      const uint64_t number = whole_ >> ring_.segment_shift;
      const uint64_t lap = number / ring_.segments();
      if (ring_.staging[number % ring_.segments()] < (lap + 1) * size) break;
      whole_ = (number + 1) * size;
    }
    return whole_ != before;
  }

  uint64_t sumOfWritten() const noexcept {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ring_.segments(); ++i) sum += ring_.staging[i];
    return sum;
  }

  bool takeArrived() noexcept {
    bool any = false;
    while (count_ != 0 && engine_.isDone(1 + oldest_)) {
      visible_ = ends_[oldest_];
      oldest_ = (oldest_ + 1) % kData;
      --count_;
      any = true;
    }
    return any;
  }

  bool startCopies() noexcept {
    // Not all at once, or the host would have nothing to read until the last byte has come.
    const uint64_t most = ring_.capacity / 4;
    // Waves cannot be further than that; whatever `written` says, what is being read stays.
    const uint64_t end = std::min(whole_, freed_ + ring_.capacity);
    bool any = false;
    while (copied_ < end && count_ < kData) {
      const uint64_t offset = copied_ & (ring_.capacity - 1);
      const uint64_t size = std::min({end - copied_, ring_.capacity - offset, most});
      const uint64_t slack = offset + size == ring_.capacity ? FADE_RING_SLACK : 0;
      const unsigned place = (oldest_ + count_) % kData;
      if (!engine_.start(1 + place, ring_.mirror + offset, ring_.data + offset, size + slack)) {
        failed_ = true;
        break;
      }
      copied_ += size;
      ends_[place] = copied_;
      ++count_;
      any = true;
    }
    return any;
  }

  CopyEngine &engine_;
  const SegmentedRing ring_;
  uint64_t visible_ = 0, copied_ = 0, whole_ = 0, freed_ = 0, head_ = 0, answers_ = 0;
  std::array<uint64_t, kData> ends_{}; ///< of the copies under way
  unsigned oldest_ = 0, count_ = 0;
  Question asked_ = Question::none;
  bool finished_ = false;
  bool outdated_ = false;    ///< the question on its way
  bool last_answer_ = false; ///< after which nothing new can come
  bool failed_ = false;
};

} // namespace fade
