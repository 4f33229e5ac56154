// Which calls and markers of a thread lie within which others.
#pragma once

#include "host_trace/trace_log.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace fade::host_trace {

class Nesting {
public:
  explicit Nesting(const TraceLog &log);

  struct Item {
    bool is_call = true;
    std::size_t index = 0;             ///< in TraceLog::calls or TraceLog::ranges
    std::optional<std::size_t> parent; ///< index in items()
    uint32_t depth = 0;
    uint64_t start_ns = 0, end_ns = 0; ///< cut where it reaches out of its parent
  };

  /// Thread by thread, in order of start: what is outside comes before what is inside.
  const std::vector<Item> &items() const { return items_; }
  std::size_t ofCall(std::size_t call) const { return of_call_[call]; }

private:
  void sort();
  void nest();

  std::vector<Item> items_;
  std::vector<std::size_t> of_call_;
  const TraceLog &log_;
};

/// Sets the parent of each call: the innermost call of its thread that it lies within.
void findParents(TraceLog &log);

/// The last time that the trace knows.
uint64_t endOf(const TraceLog &log);

} // namespace fade::host_trace
