// What MemoryAnalysis counts: for each access in the source, how the waves' addresses fit the
// memory.
#pragma once

#include "access_kind.h"
#include "coalescing_and_bank_conflicts.h"

#include <fade/handler.h>

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace fade::handlers {

/// Lanes in rows: so many in each, and so far from the first of one to the first of the next.
struct LaneRows {
  uint32_t lanes = 0; ///< 0: not known, or all lanes are one row
  int64_t step = 0;
};

/// How often neighboring lanes were so many bytes apart. The most frequent strides by name, the
/// rest together: the same whatever comes first, as long as there are no more than kCounted;
/// irregular are executions in which less than three quarters of the neighbors agree.
class StrideHistogram {
public:
  void add(int64_t stride, uint64_t n = 1);
  /// Most neighbors had this stride, but not all: lanes in rows.
  void addRows(int64_t stride, LaneRows rows, uint64_t n = 1) {
    add(stride, n);
    in_rows_ += n;
    keepLonger(rows);
  }
  void addIrregular(uint64_t n = 1) { irregular_ += n; }
  void add(const StrideHistogram &other);

  struct Entry {
    int64_t stride = 0;
    uint64_t count = 0;
  };
  /// Most frequent first, at most kMost.
  std::vector<Entry> sorted() const;
  uint64_t irregular() const { return irregular_; }
  uint64_t others() const;                     ///< with other strides than these
  uint64_t inRows() const { return in_rows_; } ///< of those with a stride
  LaneRows rows() const { return rows_; }      ///< the longest of these executions
  uint64_t total() const;

private:
  static constexpr std::size_t kMost = 16, kCounted = 256;
  std::array<Entry, kMost> entries_{};
  std::size_t size_ = 0;
  std::vector<Entry> more_; ///< by stride, once entries_ are all in use
  uint64_t irregular_ = 0;
  uint64_t others_ = 0; ///< further strides
  uint64_t in_rows_ = 0;
  LaneRows rows_;

  /// Of several kinds of rows the same one, whatever comes first.
  void keepLonger(LaneRows rows) {
    if (std::tuple(rows.lanes, rows.step) > std::tuple(rows_.lanes, rows_.step)) rows_ = rows;
  }
};

/// Which addresses atomics go to, in all waves: the first kMost addresses are counted one by one.
class HotAddresses {
public:
  static constexpr std::size_t kMost = 4096;

  void add(uint64_t address, uint64_t n);
  void add(const HotAddresses &other);
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  bool isFull() const { return size_ == kMost; } ///< there may be more
  struct Entry {
    uint64_t address = 0, count = 0;
  };
  /// The address with the most operations; the lowest of several.
  Entry hottest() const;

private:
  std::vector<Entry> slots_;
  std::size_t size_ = 0;
};

struct GlobalStats {
  uint64_t executions = 0, lanes = 0, bytes = 0;
  uint64_t slots = 0; ///< lanes there was room for
  uint64_t needed = 0, used = 0;
  uint64_t wasted = 0;       ///< lines used without need, execution by execution
  uint64_t same_address = 0; ///< atomics: lanes that found another of their wave at their address
  StrideHistogram strides;
  HotAddresses hot; ///< atomics

  void add(const GlobalStats &other);
  /// Needed of used, at most 1.
  double efficiency() const {
    return used <= needed ? 1 : static_cast<double>(needed) / static_cast<double>(used);
  }
};

struct LdsStats {
  uint64_t executions = 0, lanes = 0, bytes = 0;
  uint64_t slots = 0; ///< lanes there was room for
  uint64_t conflicts = 0;
  uint64_t same_address = 0;
  uint64_t same_turns = 0; ///< that atomics take because of it
  StrideHistogram strides;

  void add(const LdsStats &other);
};

/// What one execution of an access costs.
struct Execution {
  enum class Stride : uint8_t { same, rows, irregular };
  uint32_t pieces = 1; ///< accesses that instructions make for it
  uint32_t lanes = 0;  ///< of each piece; lines, turns and bytes are of all pieces
  uint64_t bytes = 0;
  uint64_t needed = 0, used = 0, conflicts = 0;
  uint64_t same_address = 0, same_turns = 0; ///< of atomics
  int64_t stride = 0;
  Stride kind = Stride::same;
  LaneRows rows; ///< if it is in rows
};

/// One site while records come in. Waves mostly do the same as the one before, shifted by whole
/// lines or banks: the last answer is kept.
class SiteStats {
public:
  void record(const Record &record, const fade_site &site, const fade_batch &batch,
              const MemoryModel &model, DistinctCounter &distinct);
  /// Irregular executions that the device has added up.
  void sums(const fade_sums_record &sums, const fade_site &site, const fade_batch &batch);

  const GlobalStats &global() const { return global_; }
  const LdsStats &lds() const { return lds_; }
  void add(const SiteStats &other);

private:
  /// All that the answer to a regular access depends on.
  struct Pattern {
    uint64_t mask = 0;
    uint32_t phase = 0; ///< base modulo line or dword
    int32_t stride = 0;
    int32_t row_stride = 0;
    uint32_t width = 0; ///< of a tile, else 0
    bool is_lds = false;
    bool operator==(const Pattern &) const = default;
  };

  bool regular(const Record &record, const fade_site &site, const fade_batch &batch,
               const MemoryModel &model, DistinctCounter &distinct);
  void general(const Record &record, const fade_site &site, const fade_batch &batch,
               const MemoryModel &model, DistinctCounter &distinct);
  void countGlobal(const Execution &execution, uint64_t times, const fade_batch &batch);
  void countLds(const Execution &execution, uint64_t times, const fade_batch &batch);

  Pattern last_;
  Execution answer_; ///< to last_
  GlobalStats global_;
  LdsStats lds_;
};

/// An access in the source.
struct Place {
  std::string file;
  uint32_t line = 0, column = 0;
  AccessKind kind = AccessKind::read;
  uint32_t bytes = 0; ///< of a lane; 0 where it varies
  std::string code{}; ///< the instruction, where there is no line
  auto operator<=>(const Place &) const = default;
};

struct PlaceStats {
  GlobalStats global;
  LdsStats lds;
  std::string function, via;
  uint64_t all_executions = 0; ///< recorded or not, where the device has counted them
  /// Accesses of the source that this one of the machine makes, too: line and column.
  std::set<std::pair<uint32_t, uint32_t>> parts;
  bool is_scalar = false;         ///< loaded once for all lanes
  bool is_combined = false;       ///< an atomic that one lane does for all
  bool is_loop = false;           ///< an atomic that the GPU does not have
  bool is_before_merging = false; ///< the machine may do it otherwise
  bool is_moved = false;          ///< it has no line, though others of the kernel have
  bool shares_line = false;       ///< its line is that of another instruction of its clause
  std::string instead;            ///< the machine's instructions, where they are other ones

  void addFacts(const PlaceStats &other) {
    function = other.function;
    via = other.via;
    all_executions += other.all_executions;
    parts.insert(other.parts.begin(), other.parts.end());
    is_scalar = other.is_scalar;
    is_combined = other.is_combined;
    is_loop = other.is_loop;
    is_before_merging = other.is_before_merging;
    is_moved = other.is_moved;
    shares_line = shares_line || other.shares_line;
    if (!other.instead.empty()) instead = other.instead;
  }
  /// How the machine does it, if that is not how it is written.
  const char *machine() const {
    return is_scalar           ? "scalar"
           : is_combined       ? "combined"
           : is_loop           ? "loop"
           : is_before_merging ? "before merging"
           : is_moved          ? "moved"
           : !instead.empty()  ? "otherwise"
                               : "";
  }
};

using Places = std::map<Place, PlaceStats>;

} // namespace fade::handlers
