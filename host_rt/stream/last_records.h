// What the waves of a dispatch did last, for the explanation of its death. Costs next to nothing
// while records pass: of each batch only the last records of a wave are looked at, once, at its
// end.
#pragma once

#include "fade/decode.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace fade {

class LastRecords {
public:
  static constexpr std::size_t kPerWave = 4, kMostWaves = 4096;

  struct Kept {
    uint64_t position = 0; ///< in the stream of the dispatch
    std::vector<std::byte> bytes;
  };
  struct Wave {
    uint32_t number = 0;
    std::vector<std::byte> begin; ///< its announcement; empty if it was not seen
    std::vector<Kept> records;    ///< the latest last
    bool has_ended = false;
  };

  /// The records of one batch as they are checked. Waves whose numbers are equal modulo kSlots
  /// share a place, and the later one has it. May be used again after add().
  class Scan {
  public:
    void see(const Record &record, std::size_t offset);

  private:
    friend class LastRecords;
    static constexpr std::size_t kSlots = 1024;
    static constexpr uint32_t kNone = UINT32_MAX;
    struct Slot {
      uint32_t wave = kNone, begin = kNone, last = kNone, previous = kNone; ///< offsets
    };
    std::array<Slot, kSlots> slots_;
    std::array<uint16_t, kSlots> used_{}; ///< which of them
    std::size_t count_ = 0;
  };

  /// Any worker, in any order of batches.
  void add(Scan &scan, std::span<const std::byte> batch, uint64_t position) noexcept;
  /// Those that have not ended, by number.
  std::vector<Wave> unended() const;

private:
  /// A copy of a record, without an allocation if it is a usual one.
  struct Saved {
    uint32_t size = 0;
    std::array<std::byte, 76> small; ///< the announcement of a wave fits
    std::vector<std::byte> large;
    void save(std::span<const std::byte> bytes);
    std::vector<std::byte> bytes() const;
  };
  struct Entry {
    uint32_t wave = 0;
    bool has_ended = false;
    uint32_t count = 0; ///< of records, which are in no order
    std::array<uint64_t, kPerWave> positions{};
    std::array<Saved, kPerWave> records;
    Saved begin;
  };
  void addWave(const Scan::Slot &slot, std::span<const std::byte> batch, uint64_t position);
  Entry *entryOf(uint32_t wave);
  Entry &entry(std::size_t i) { return blocks_[i / kBlock][i % kBlock]; }
  const Entry &entry(std::size_t i) const { return blocks_[i / kBlock][i % kBlock]; }
  void dropEnded();

  static constexpr std::size_t kPlaces = 2 * kMostWaves;
  static constexpr uint16_t kFree = UINT16_MAX;
  static constexpr std::size_t kBlock = 16;

  mutable std::mutex mutex_;
  /// Nothing is given back before the end: workers share it, and where the memory of one in which a
  /// handler has crashed comes from may stay locked.
  std::array<std::unique_ptr<Entry[]>, kMostWaves / kBlock> blocks_;
  std::size_t count_ = 0;        ///< of entries
  std::vector<uint16_t> places_; ///< which entry a wave has: a hash table without chains
  std::size_t ended_ = 0;
};

inline void LastRecords::Scan::see(const Record &record, std::size_t offset) {
  Slot &slot = slots_[record.wave() % kSlots];
  if (slot.wave != record.wave()) {
    if (slot.wave == kNone) used_[count_++] = static_cast<uint16_t>(record.wave() % kSlots);
    slot = {record.wave(), kNone, kNone, kNone};
  }
  const auto at = static_cast<uint32_t>(offset);
  if (record.kind() == FADE_RECORD_WAVE_BEGIN) {
    slot.begin = at;
    return;
  }
  slot.previous = slot.last;
  slot.last = at;
}

} // namespace fade
