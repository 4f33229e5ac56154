// --check: memory after a replay against memory after the captured dispatch.
#pragma once

#include "fade/replay.h"
#include "replay/element_type.h"
#include "replay/memory.h"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fade::replay {

/// What a replay has written: pages and their contents. Neighbors of one content share it, for
/// memory is mostly filled.
class Outcome {
public:
  using Page = std::shared_ptr<const std::array<uint8_t, capture::kPageSize>>;

  static Outcome of(const Memory &memory);
  void add(PageId id, const uint8_t *bytes);
  /// As the replay left it; null: it was not written.
  const uint8_t *page(PageId id) const;
  const std::map<PageId, Page> &pages() const { return pages_; }

private:
  std::map<PageId, Page> pages_;
  Page last_;
};

/// One allocation in which something is different.
struct RegionDifference {
  std::size_t region = 0;
  ElementType type = ElementType::u32;
  uint64_t bytes = 0, elements = 0;
  uint64_t within_tolerance = 0; ///< elements that do not count
  uint64_t first = 0, last = 0;  ///< offsets of differing elements
  uint64_t largest_ulp = 0;      ///< UINT64_MAX: there is none
  double largest_relative = 0, largest_absolute = 0;
  struct Element {
    uint64_t offset, expected, got;
  };
  std::vector<Element> examples;
};

struct Comparison {
  std::vector<RegionDifference> differences; ///< beyond the tolerance, or within it only
  uint64_t pages = 0;                        ///< that were compared
  uint64_t foreign_words = 0;     ///< the same in pages of host memory that it shares with others
  uint64_t foreign_pages = 0;     ///< changed while it was captured, but not by this kernel
  uint64_t not_deterministic = 0; ///< words of 4 bytes that differ between two replays
  bool isEqual() const;
};

class Comparer {
public:
  /// `excluded`: a region that others write. `heap`: lists and memory of the device's malloc(),
  /// which depend on when waves come and the host answers; what is different there is not
  /// deterministic.
  Comparer(capture::Reader &reader, const Memory &memory, std::optional<std::size_t> excluded,
           std::vector<Extent> heap = {})
      : reader_(reader), memory_(memory), excluded_(excluded), heap_(std::move(heap)) {}

  /// Reads the state after the dispatch.
  Status load();
  /// Where that was not captured: what a replay of the captured code has left counts instead.
  void load(const Outcome &replayed);
  /// `captured`: replays of the captured code, to see what differs between them. `tested` is one of
  /// them, or a replay of other code.
  using Replays = std::vector<Outcome>;
  Comparison compare(const Outcome &tested, const Replays &captured,
                     const Tolerance &tolerance) const;
  /// Replays of the captured code: two, and a few more if they leave something else than the
  /// captured dispatch, for what depends on the order of waves may be the same twice.
  Result<Replays> replays(const std::function<Result<Outcome>()> &replay_once,
                          const Tolerance &tolerance) const;

private:
  struct Words;
  /// Pages that the captured dispatch has changed, as the capture has them: nothing is copied, for
  /// a few bytes of its index stand for any number of pages.
  struct ChangedRun {
    uint64_t count = 0;
    uint32_t kind = capture::Run::kZero;
    uint32_t stored = 0; ///< number of the first one, or of the one that all are like
  };

  const uint8_t *expected(PageId id) const;
  void addUnwritten(PageId first, uint64_t count, const Outcome &tested, const Replays &captured,
                    std::map<std::size_t, std::vector<PageId>> &pages, Comparison &result) const;
  const uint8_t *resultOf(const Outcome &outcome, PageId id) const;
  bool isHeap(uint64_t address, uint64_t size) const;
  void compareRegion(std::size_t region, const std::vector<PageId> &pages, const Outcome &tested,
                     const Replays &captured, const Tolerance &tolerance, Comparison &result) const;

  capture::Reader &reader_;
  const Memory &memory_;
  const std::optional<std::size_t> excluded_;
  const std::vector<Extent> heap_;
  std::map<PageId, ChangedRun> changed_;     ///< after the dispatch, by the first page
  std::map<PageId, Outcome::Page> replayed_; ///< instead, if that was not captured
};

/// For people, several lines. `of_captured_code`: no other version of it was run.
std::string comparisonText(const Comparison &comparison, const capture::Reader &reader,
                           bool of_captured_code);
/// One object.
std::string comparisonJson(const Comparison &comparison, const capture::Reader &reader);

} // namespace fade::replay
