// What one process of a run did, in totals. Summaries of any number of processes add up in any
// order to the same numbers: all of them are integers that are added, or taken the least or the
// greatest of. Files of them can be put one behind the other.
#pragma once

#include "base/result.h"
#include "base/run_folder.h"

#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fade::host_trace {

/// Durations: how many, how long, and how they are spread. A bucket of the histogram is at most a
/// quarter wider than its lower end.
struct Distribution {
  uint64_t count = 0, sum_ns = 0, min_ns = UINT64_MAX, max_ns = 0;
  uint64_t bytes = 0;                     ///< of copies
  std::map<uint32_t, uint64_t> histogram; ///< by bucket

  void add(uint64_t ns, uint64_t size = 0);
  void merge(const Distribution &other);
  /// About the duration that a part `q` (0 to 1) of all do not exceed; 0 if there is none.
  uint64_t quantile(double q) const;
  bool operator==(const Distribution &) const = default;
};

/// Who a process is: process.json.
struct RunProcess {
  std::string host, boot_id, job, launch, command;
  std::optional<uint64_t> rank, ranks;
  uint32_t pid = 0;
  ClockReading clocks;

  /// "rank 3", or "process 4711 on node1" outside of a parallel job.
  std::string name() const;
};
Result<RunProcess> readRunProcess(const std::string &folder);

using Distributions = std::map<std::string, Distribution, std::less<>>;

/// What is added up over processes.
struct RunTotals {
  uint64_t calls = 0, operations = 0, failed_calls = 0, unfinished = 0, lost = 0, damaged = 0;
  Distributions kernels, copies, functions, ranges; ///< by name; fills are copies
  Distributions messages;                           ///< functions of MPI and RCCL

  void merge(const RunTotals &other);
  bool operator==(const RunTotals &) const = default;
};

struct ProcessSummary {
  RunProcess process;
  std::optional<ClockReading> end_clocks;
  bool has_exited = false;           ///< by itself; else it was killed, or still runs
  std::string about_times;           ///< what is to be said of times; empty: they are a card's
  uint64_t start_ns = 0, end_ns = 0; ///< CLOCK_MONOTONIC; 0: nothing happened
  // The time between adds up: the GPU has something to do, or it is idle while HIP is called, or
  // while the application does something else.
  uint64_t busy_ns = 0, idle_in_hip_ns = 0, idle_elsewhere_ns = 0;
  uint64_t idle_in_messages_ns = 0; ///< the part of the last in calls of MPI and RCCL
  RunTotals totals;

  uint64_t span() const { return end_ns - start_ns; }
};

/// Replaces the file as a whole.
Status writeSummary(const ProcessSummary &summary, const std::string &path);
/// Any number of summaries. What cannot be read is an error that says where.
Result<std::vector<ProcessSummary>> readSummaries(std::istream &file, const std::string &name);

} // namespace fade::host_trace
