// Which bytes of the card's memory anybody has written: a bit for each, where anybody has.
//
// Only allocations in the card's own memory are followed; host memory counts as written, because
// the host's stores are not seen. Where a card lets the host map its memory, a page that the host
// has touched counts as written, too, unless HIP's own copies explain that: then the bytes that
// they did not write are unwritten as long as they are 0, as they were in the beginning.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace fade::checks {

/// Which pages the host has touched. The system is asked, which takes a microsecond; the page that
/// was asked for last is remembered. The host goes on: keep one no longer than an access takes.
class HostPages {
public:
  bool isTouched(uint64_t address);

private:
  uint64_t page_ = ~uint64_t{0};
  bool is_touched_ = false;
};

class WrittenMemory {
public:
  static WrittenMemory &instance();

  static constexpr uint64_t kChunk = 1 << 16; ///< bytes of memory in one piece of the map
  struct Chunk {
    std::array<std::atomic<uint64_t>, kChunk / 64> bits{};
  };

  /// Nothing is written there yet.
  void clear(uint64_t address, uint64_t size);
  void mark(uint64_t address, uint64_t size);
  /// What is there now is a copy of what nobody wrote.
  void unmark(uint64_t address, uint64_t size);
  /// How often that happened: what was known to be written before may no longer be.
  uint64_t timesUnmarked() const { return times_unmarked_.load(std::memory_order_relaxed); }
  /// A copy that HIP may make with the CPU.
  void markHostCopy(uint64_t address, uint64_t size);
  /// From now on all such copies are told by markHostCopy().
  void knowHostCopies() { explains_ = true; }
  /// Somebody makes others.
  void doubtHostCopies() { explains_ = false; }
  bool knowsHostCopies() const { return explains_; }
  /// Whether all of it was written, as far as is known without asking the system.
  bool isWritten(uint64_t address, uint64_t size) const;
  /// Whether any byte was, in the same way.
  bool isTouched(uint64_t address, uint64_t size) const;
  /// Whether no byte of it was written. Where that is not known, its page counts as written from
  /// then on. `pages`: the lanes of an access share it.
  bool isUnwritten(uint64_t address, uint64_t size, HostPages &pages);
  /// The same, and nothing changes if that is not known.
  bool isKnownUnwritten(uint64_t address, uint64_t size, HostPages &pages);

private:
  Chunk *find(uint64_t address) const;
  Chunk &make(uint64_t address);
  /// Whether copies that are known are all that the host did to this page.
  bool isExplained(uint64_t begin, uint64_t end);
  bool isExplainedPage(uint64_t page);

  mutable std::shared_mutex mutex_;
  std::unordered_map<uint64_t, std::unique_ptr<Chunk>> chunks_; ///< by address / kChunk
  std::atomic<bool> explains_{false};
  std::atomic<uint64_t> times_unmarked_{0};
  enum class Copied : uint8_t { unseen, only_copies, others };
  std::mutex copied_mutex_;
  std::unordered_map<uint64_t, Copied> copied_; ///< pages that copies wrote in part, by number
};

} // namespace fade::checks
