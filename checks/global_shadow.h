// Who touched the memory of a dispatch last: for each dword that was touched, the last write and
// the last reads; where atomics were at work, what they left there.
//
// Memory is divided into pages, which are made when somebody touches them, each with a lock of its
// own. Marks of writes, reads, and second readers are separate, and made when needed: what is only
// read costs four times its size, what is only written five times. Lanes side by side touch a whole
// row of a page mostly: that is one mark instead of one for each dword, and looked at as one.
//
// Stores of equal values do not race. So the values are kept, too, and the store before the last
// one if that does not make up for it: another wave may know of the last one alone, or store the
// same as that one. In whatever order stores come, one that differs is seen.
#pragma once

#include "checks/clocks.h"

#include <fade/observer.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace fade::checks {

/// An access of one lane to one dword.
struct Mark {
  uint32_t wave = 0;
  Time time = 0;     ///< 0: there was none
  uint32_t site = 0; ///< DispatchRaces::packed()
  uint32_t lane : 6 = 0;
  uint32_t bytes : 4 = 0;    ///< of the dword, one bit each
  uint32_t kind : 2 = 0;     ///< AccessKind
  uint32_t tells : 1 = 0;    ///< a store behind others that were waited for: perhaps "go on"
  uint32_t length : 3 = 0;   ///< of the whole access: see size()
  uint32_t part : 3 = 0;     ///< 1 + the dword of the access that this is; 0: not known; kOfLanes
  uint32_t lag : 8 = 0;      ///< since when stores may not have been done yet; at most 255
  uint32_t load_lag : 5 = 0; ///< likewise loads; at most 31

  /// Of accesses of one or two bytes: lanes side by side fill the dword, `lane` its first bytes.
  static constexpr uint32_t kOfLanes = 2;
  bool isOfLanes() const { return part == kOfLanes && size() < 4; }

  AccessKind accessKind() const { return static_cast<AccessKind>(kind); }
  bool writes() const { return accessKind() != AccessKind::load; }
  /// Bytes of the whole access.
  uint32_t size() const { return kSizes[length]; }
  void setSize(uint32_t all) {
    length = 0;
    while (length < kSizes.size() - 1 && kSizes[length + 1] <= all) ++length;
  }
  /// What its wave had done before it.
  Done done() const { return {before(load_lag), before(lag)}; }
  void setDone(const Done &done) {
    lag = std::min<Time>(255, time - done.stores) & 255;
    load_lag = std::min<Time>(31, time - done.loads) & 31;
  }
  /// This is the first dword of lanes that lie side by side; the mark of one behind it.
  Mark behind(uint32_t dwords) const {
    Mark mark = *this;
    if (isOfLanes()) {
      mark.lane = (lane + dwords * (4 / size())) & 63;
      return mark;
    }
    const uint32_t of_lane = size() / 4;
    mark.lane = (lane + dwords / of_lane) & 63;
    mark.part = (1 + dwords % of_lane) & 7;
    return mark;
  }

private:
  static constexpr std::array<uint32_t, 8> kSizes = {1, 2, 4, 8, 12, 16, 32, 64};
  Time before(Time lag_of_some) const { return time > lag_of_some ? time - lag_of_some : 0; }
};
static_assert(sizeof(Mark) == 16);

/// A dword that atomics change: those who come later learn what those knew who were there before.
struct Meeting {
  struct Release {
    uint32_t wave;
    Time time;
    Done done;             ///< before it
    uint32_t site;         ///< as a mark has it
    bool in_order = false; ///< made under ShadowPage::order
    Time since = 0;        ///< the wave has learned nothing from others after that
  };
  boost::container::small_vector<Release, 2> releases; ///< lately; the last ones of each wave
  bool has_older = false;                              ///< there were more
  /// The last ones of different waves, none of which knows of another one: he who comes then may
  /// himself be one of them, or know of some.
  std::array<Mark, 4> marks;
  uint8_t oldest = 0;   ///< of the marks, if all are in use
  bool answers = false; ///< an atomic has taken the old value

  /// What a wave passes on here: see GatheredClocks::add().
  void pass(const Release &by, const Clocks::Ptr &far, uint32_t first, const TimesPtr &times,
            ClockJoins &joins) {
    if (by.in_order && !left_unordered_) left_unordered_ = std::make_unique<GatheredClocks>(left_);
    left_.add(by.wave, far, first, times, joins);
    if (!by.in_order && left_unordered_) left_unordered_->add(by.wave, far, first, times, joins);
  }
  /// By all before, or by those of them that were not in order.
  const Clocks::Ptr &passedOn(bool is_unordered, ClockJoins &joins) {
    return (is_unordered && left_unordered_ ? *left_unordered_ : left_).all(joins);
  }

private:
  GatheredClocks left_;
  std::unique_ptr<GatheredClocks> left_unordered_; ///< null: all of them
};

/// Of a dword that is accessed in parts: marks of bytes that later accesses did not touch.
struct Parts {
  std::vector<Mark> written, read;
};

class GlobalShadow;

/// A mark for each dword of a page.
class PageMarks {
public:
  static constexpr uint32_t kDwords = 256, kRow = 32; ///< of the page, and of a row

  /// Who was there. Of a row, lane and part are those of its first dword. Null: nobody.
  const Mark *who(uint32_t dword) const {
    if (isRow(dword / kRow)) return &(*rows_)[dword / kRow];
    return single_ ? &(*single_)[dword] : nullptr;
  }
  Mark at(uint32_t dword) const {
    const Mark *mark = who(dword);
    if (!mark) return {};
    return isRow(dword / kRow) ? mark->behind(dword % kRow) : *mark;
  }
  /// Whether one access has marked all of the row.
  bool isRow(uint32_t row) const { return is_row_ >> row & 1; }
  bool isEmpty(uint32_t row) const { return !isRow(row) && !single_; }

  /// To be changed.
  Mark &of(uint32_t dword, GlobalShadow &shadow) {
    if (isRow(dword / kRow) || !single_) makeSingle(dword / kRow, shadow);
    return (*single_)[dword];
  }
  /// `mark`: of the first dword.
  void putRow(uint32_t row, const Mark &mark, GlobalShadow &shadow) {
    if (!rows_) makeRows(shadow);
    (*rows_)[row] = mark;
    is_row_ = static_cast<uint8_t>(is_row_ | 1u << row);
  }

private:
  using Marks = std::array<Mark, kDwords>;
  using Rows = std::array<Mark, kDwords / kRow>;
  static_assert(kDwords / kRow == 8);
  void makeSingle(uint32_t row, GlobalShadow &shadow);
  void makeRows(GlobalShadow &shadow);

  std::unique_ptr<Marks> single_; ///< but for those in rows
  std::unique_ptr<Rows> rows_;
  uint8_t is_row_ = 0; ///< a bit each
};

class ShadowPage {
public:
  static constexpr uint32_t kDwords = PageMarks::kDwords, kBytes = kDwords * 4;

  using Values = std::array<uint32_t, kDwords>;
  struct Writes { ///< plain stores, with what they stored
    PageMarks marks;
    std::unique_ptr<Values> values; ///< null: there are none
    uint32_t valueOf(uint32_t dword) const { return values ? (*values)[dword] : 0; }
  };

  Writes write, earlier_write;
  PageMarks read, second_read;
  std::array<uint64_t, kDwords / 64> polled{}; ///< dwords that coherent loads have read
  std::atomic<bool> tells{false}; ///< a wave has stored here behind others that were waited for
  std::unique_ptr<std::array<std::unique_ptr<Meeting>, kDwords>> meetings;
  std::unique_ptr<std::unordered_map<uint32_t, Parts>> parts;
  std::mutex order; ///< held from before an atomic is noted until it was made

  bool isPolled(uint32_t dword) const { return polled[dword / 64] >> dword % 64 & 1; }
  Meeting *meeting(uint32_t dword) const { return meetings ? (*meetings)[dword].get() : nullptr; }

  const Parts *partsOf(uint32_t dword) const {
    if (!parts) return nullptr;
    const auto at = parts->find(dword);
    return at == parts->end() ? nullptr : &at->second;
  }
  /// A write or a read takes the place of one before, which is kept in parts for other bytes.
  void put(uint32_t dword, Mark &at, const Mark &mark) {
    const Mark before = at;
    at = mark;
    if (before.wave == mark.wave && before.time == mark.time) at.bytes |= before.bytes;
    if (parts || (before.time && (before.bytes & ~at.bytes & 15))) keepRest(dword, before, at);
  }

  void lock() {
    if (lock_.test_and_set(std::memory_order_acquire)) waitAndLock();
  }
  void unlock() { lock_.clear(std::memory_order_release); }

private:
  void waitAndLock();
  void keepRest(uint32_t dword, const Mark &before, const Mark &mark);

  std::atomic_flag lock_;
};

class GlobalShadow {
public:
  ~GlobalShadow();
  /// Pages side by side, which are found together. They stay where they are.
  struct Block {
    static constexpr uint64_t kPages = 64, kBytes = kPages * ShadowPage::kBytes;
    std::array<std::atomic<ShadowPage *>, kPages> pages{};
  };
  /// The block that holds an address.
  Block &block(uint64_t address);
  /// Its page there; null if there is no room for more.
  ShadowPage *page(Block &block, uint64_t address) {
    const uint64_t number = address / ShadowPage::kBytes % Block::kPages;
    ShadowPage *page = block.pages[number].load(std::memory_order_acquire);
    return page ? page : makePage(block.pages[number]);
  }
  /// Marks or a meeting of a page, made if they are not there yet. Under the page's lock.
  template <class T> T &made(std::unique_ptr<T> &of) {
    if (!of) of = std::make_unique<T>(), count(sizeof(T));
    return *of;
  }

  /// All pages, by address / kBytes. When nobody adds any more.
  template <class F> void forPages(F &&f) const {
    for (const Shard &shard : shards_)
      for (const auto &[number, block] : shard.blocks)
        for (uint64_t i = 0; i < Block::kPages; ++i)
          if (ShadowPage *page = block->pages[i].load(std::memory_order_acquire))
            f(number * Block::kPages + i, *page);
  }
  ShadowPage *find(uint64_t number) const;
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  /// Bytes that the shadows of all dispatches may have together.
  static constexpr uint64_t kMostBytes = uint64_t{2} << 30;

private:
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<uint64_t, std::unique_ptr<Block>> blocks; ///< by address / Block::kBytes
  };
  static constexpr std::size_t kShards = 64;
  ShadowPage *makePage(std::atomic<ShadowPage *> &at);
  bool take(uint64_t bytes);
  void count(uint64_t bytes);

  std::array<Shard, kShards> shards_;
  std::atomic<uint64_t> bytes_{0};
};

} // namespace fade::checks
