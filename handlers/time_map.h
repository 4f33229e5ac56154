// Where and when: accesses by rows of memory and steps of time, in bounded memory.
//
// Time is a number that only grows and whose end is not known in advance (the position in a stream,
// nanoseconds). It is cut into steps of a power of two; when more steps would be needed than there
// may be, every two become one. So the same map comes out whatever the order in which it is filled.
//
// A row is a piece of an allocation, a power of two of bytes, at most kRows of them in each; memory
// outside of all allocations has rows of its own.
#pragma once

#include "count_table.h"

#include <bit>
#include <cstdint>

namespace fade::handlers {

class TimeMap {
public:
  static constexpr uint32_t kRows = 64;       ///< of an allocation
  static constexpr uint32_t kMostSteps = 512; ///< that fit in a key
  static constexpr std::size_t kMostCells = 1 << 17;
  static constexpr uint32_t kFewestSteps = 8;

  explicit TimeMap(uint32_t most_steps) : most_steps_(std::bit_floor(most_steps)) {}

  /// Bytes of a row in an allocation of this size.
  static uint64_t rowSize(uint64_t size, uint64_t page) {
    while ((size + page - 1) / page > kRows) page *= 2;
    return page;
  }

  void add(uint32_t allocation, uint64_t row, uint64_t time, AccessKind kind, uint64_t n) {
    makeRoomFor(time);
    cells_.add(key(allocation, row, time >> shift_), kind, n);
    if (cells_.size() > kMostCells && most_steps_ > kFewestSteps) {
      most_steps_ /= 2;
      foldTo(shift_ + 1);
    }
  }
  void add(uint32_t allocation, uint64_t row, uint64_t time, const Counts &counts) {
    for (const AccessKind kind : {AccessKind::read, AccessKind::write, AccessKind::atomic})
      if (const uint64_t n = counts[static_cast<std::size_t>(kind)])
        add(allocation, row, time, kind, n);
  }
  void add(const TimeMap &other) {
    other.forEach([&](uint32_t allocation, uint64_t row, uint64_t step, const Counts &counts) {
      add(allocation, row, step << other.shift_, counts);
    });
    // Steps that the other one has joined cannot be told apart here either.
    if (other.shift_ > shift_) foldTo(other.shift_);
  }

  /// f(allocation, row, step, counts)
  template <typename F> void forEach(F &&f) const {
    cells_.forEach([&](const CountTable::Entry &cell) {
      f(static_cast<uint32_t>(cell.key.part / kMostSteps), cell.key.place,
        cell.key.part % kMostSteps, cell.counts);
    });
  }
  uint64_t stepSize() const { return uint64_t{1} << shift_; }
  std::size_t size() const { return cells_.size(); }
  /// Makes steps at least this long.
  void foldTo(uint32_t shift) {
    if (shift <= shift_) return;
    CountTable folded;
    const uint32_t by = shift - shift_;
    forEach([&](uint32_t allocation, uint64_t row, uint64_t step, const Counts &counts) {
      folded.add(key(allocation, row, step >> by), counts);
    });
    cells_ = std::move(folded);
    shift_ = shift;
  }

private:
  static CountTable::Key key(uint32_t allocation, uint64_t row, uint64_t step) {
    return {row, uint64_t{allocation} * kMostSteps + step};
  }
  void makeRoomFor(uint64_t time) {
    uint32_t shift = shift_;
    while (time >> shift >= most_steps_) ++shift;
    foldTo(shift);
  }

  uint32_t most_steps_;
  uint32_t shift_ = 0;
  CountTable cells_;
};

} // namespace fade::handlers
