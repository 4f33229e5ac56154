// The memory of a capture in this process. Addresses are translated, so it lies anywhere.
//
// What was captured is in a file without a name; replays work on a private mapping of it. What they
// write is theirs alone, can be told apart page by page, and is thrown away without copying.
#pragma once

#include "base/address_space.h"
#include "base/result.h"
#include "capture/reader.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fade::replay {

/// A page of a region.
struct PageId {
  std::size_t region = 0;
  uint64_t page = 0;
  auto operator<=>(const PageId &) const = default;
};

/// A part of the captured addresses.
struct Extent {
  uint64_t address = 0, size = 0;
};

class Memory {
public:
  using Progress = std::function<void(uint64_t bytes)>;

  /// Reads the state before the dispatch. `reader` must live as long.
  static Result<std::unique_ptr<Memory>> load(capture::Reader &reader, const Progress &progress);
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /// For the executor: all regions, but for pages that were left out.
  const sim::AddressSpace &space() const { return space_; }
  sim::AddressSpace &space() { return space_; }

  const capture::Region &region(std::size_t index) const {
    return reader_.description().regions[index];
  }
  std::size_t regions() const { return reader_.description().regions.size(); }
  /// The region that holds the address; regions() if there is none.
  std::size_t find(uint64_t address) const;

  /// The end of a sentence about an access that failed.
  std::string whyNotAt(uint64_t address) const;

  /// As the replay sees it.
  const uint8_t *now(PageId id) const { return work_ + offset(id); }
  /// As it was captured.
  const uint8_t *captured(PageId id) const { return original_ + offset(id); }
  /// Changes what counts as captured, for arguments that have to be others here.
  bool patch(uint64_t address, const void *bytes, std::size_t size);

  /// All that the replay works on, region after region, and the number of a page in it.
  std::span<uint8_t> all() { return {work_, size_}; }
  uint64_t number(PageId id) const { return offset(id) / capture::kPageSize; }

  /// As captured again.
  void restore();
  /// Pages that were written since.
  std::vector<PageId> written() const;
  uint64_t size() const { return size_; }

private:
  explicit Memory(capture::Reader &reader) : reader_(reader) {}
  uint64_t offset(PageId id) const { return offsets_[id.region] + id.page * capture::kPageSize; }
  Status allocate();
  Status fill(const Progress &progress);
  void map();

  capture::Reader &reader_;
  sim::AddressSpace space_;
  std::vector<uint64_t> offsets_; ///< of regions in the file
  uint64_t size_ = 0;
  int file_ = -1, page_map_ = -1;
  uint8_t *original_ = nullptr, *work_ = nullptr;
};

} // namespace fade::replay
