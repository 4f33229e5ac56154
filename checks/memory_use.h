// What a call of HIP does to memory: a copy, a fill, or the end of memory that others may use.
#pragma once

#include "checks/finding_file.h"
#include "checks/stream_order.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace fade::checks {

struct MemoryUse {
  enum class Kind : uint8_t { copy, unregister, pool_allocate, pool_free };
  struct Range {
    uint64_t begin = 0, end = 0;
  };
  Kind kind = Kind::copy;
  StreamOrder::Ptr command;
  std::vector<Range> reads, writes; ///< by address; none on top of another
  String api = 0;
  std::array<HostCall, kMostCallers> callers{};
  AllocationInfo memory{}; ///< if it is not a copy
  /// A node of a graph: the kernels of the same launch that it is in no order with.
  std::shared_ptr<const std::set<std::string>> apart{};

  /// Bytes of a dword that a range holds, one bit each.
  static unsigned bytesOf(const std::vector<Range> &ranges, uint64_t dword) {
    auto at = std::ranges::upper_bound(ranges, dword, {}, &Range::end);
    unsigned bytes = 0;
    for (; at != ranges.end() && at->begin < dword + 4; ++at)
      for (unsigned i = 0; i < 4; ++i)
        if (dword + i >= at->begin && dword + i < at->end) bytes |= 1u << i;
    return bytes;
  }
  static bool overlap(const std::vector<Range> &a, const std::vector<Range> &b) {
    for (const Range &one : a) {
      const auto at = std::ranges::upper_bound(b, one.begin, {}, &Range::end);
      if (at != b.end() && at->begin < one.end) return true;
    }
    return false;
  }
};

} // namespace fade::checks
