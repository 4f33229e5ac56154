// Ranks of a run beside each other: which is slowest and why, how evenly work is spread. What the
// text and the page say is decided here.
#pragma once

#include "host_trace/run.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fade::host_trace {

/// What is compared: a rank with all of its processes, or a process outside of a parallel job.
struct Unit {
  std::string name;
  std::vector<const RunMember *> members;
  uint64_t span = 0, busy = 0, idle_in_hip = 0, idle_elsewhere = 0;
  uint64_t idle_in_messages = 0; ///< the part of the last in calls of MPI and RCCL
  RunTotals totals;

  void add(const RunMember &member);
};
std::vector<Unit> unitsOf(const Run &run);

/// A number of each unit.
struct Spread {
  uint64_t least = 0, median = 0, most = 0;
  std::size_t of_most = 0; ///< index

  static Spread of(std::vector<uint64_t> values);
};

template <typename F> Spread spreadOf(const std::vector<Unit> &units, F &&number) {
  std::vector<uint64_t> values;
  for (const Unit &unit : units) values.push_back(number(unit));
  return Spread::of(std::move(values));
}

uint64_t sumOf(const Distributions &table, std::string_view name);
uint64_t countOf(const Distributions &table);

/// The slowest, and what it does longer than the others, in one sentence; empty with less than two.
std::string slowestOf(const std::vector<Unit> &units);

/// A rank that is busy longer than the spread of the others explains, and at least a tenth longer
/// than the median.
struct Straggler {
  std::size_t unit = 0;
  std::string text;
};
/// The longest first; the first `most` with a text.
std::vector<Straggler> stragglersOf(const std::vector<Unit> &units, std::size_t most);

} // namespace fade::host_trace
