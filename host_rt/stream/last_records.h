// What the waves of a dispatch did last, for the explanation of its death. Costs next to nothing
// while records pass: of each batch only the last records of a wave are looked at, once, at its
// end.
#pragma once

#include "fade/decode.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
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
  /// share a place, and the later one has it.
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
  };

  /// Any worker, in any order of batches.
  void add(const Scan &scan, std::span<const std::byte> batch, uint64_t position) noexcept;
  /// Those that have not ended, by number.
  std::vector<Wave> unended() const;

private:
  void addWave(const Scan::Slot &slot, std::span<const std::byte> batch, uint64_t position);
  void makeRoom();

  mutable std::mutex mutex_;
  std::unordered_map<uint32_t, Wave> waves_;
};

inline void LastRecords::Scan::see(const Record &record, std::size_t offset) {
  Slot &slot = slots_[record.wave() % kSlots];
  if (slot.wave != record.wave()) slot = {record.wave(), kNone, kNone, kNone};
  const auto at = static_cast<uint32_t>(offset);
  if (record.kind() == FADE_RECORD_WAVE_BEGIN) {
    slot.begin = at;
    return;
  }
  slot.previous = slot.last;
  slot.last = at;
}

} // namespace fade
