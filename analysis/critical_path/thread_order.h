// Which thread of a program has started and awaited which. HIP's calls do not say it, so this is
// what they look like: a thread whose first call comes while another one makes none was started by
// that one, and if its last call ends while that one makes none, it was waited for.
#pragma once

#include "analysis/host_events/event_reader.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace fade::profile {

class ThreadOrder {
public:
  using Key = std::pair<uint32_t, uint32_t>; ///< process and thread

  /// In linear time, but for the number of threads.
  explicit ThreadOrder(const host_trace::HostEvents &events);

  std::optional<Key> starterOf(const Key &thread) const;
  /// The threads that this one has waited for between two of its calls: they ended after `from_ns`
  /// and before `to_ns`.
  std::vector<Key> awaited(const Key &thread, uint64_t from_ns, uint64_t to_ns) const;

private:
  struct Span {
    uint64_t start_ns = 0, end_ns = 0;
  };
  using Calls = std::vector<Span>; ///< outermost ones, in order

  /// The number of calls before that moment; nothing: it is in a call.
  static std::optional<std::size_t> gapAt(const Calls &calls, uint64_t ns);

  std::map<Key, Key> starters_;
  std::map<Key, std::vector<std::pair<uint64_t, Key>>> awaited_; ///< with their ends, in order
};

} // namespace fade::profile
