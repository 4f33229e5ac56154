// The summary of a process (run_summary.h), made from its host events while they are recorded or
// afterwards, with memory that does not depend on how many there are.
#pragma once

#include "analysis/host_events/covered_time.h"
#include "analysis/host_events/thread_times.h"
#include "base/result.h"
#include "host_trace/event_stream.h"
#include "host_trace/run_summary.h"
#include "host_trace/trace_rows.h"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace fade::host_trace {

class ProcessTotals {
public:
  static Result<std::unique_ptr<ProcessTotals>> open(const std::string &events, RunProcess process);
  ~ProcessTotals();
  ProcessTotals(const ProcessTotals &) = delete;
  ProcessTotals &operator=(const ProcessTotals &) = delete;

  /// What has been recorded since.
  Status read();
  /// As it is now; the recording may go on.
  ProcessSummary summary() const;
  /// When nobody records any more.
  Result<ProcessSummary> finish();
  /// Collective calls of MPI, as writeCollectives takes them; at most as many as it keeps.
  std::vector<Range> collectives() const;

private:
  class Totals;
  ProcessTotals(std::unique_ptr<EventStream> stream, RunProcess process);

  std::unique_ptr<EventStream> stream_;
  std::unique_ptr<Totals> totals_;
  RowStream rows_;
};

/// All at once, of the events in the folder of a process.
Result<ProcessSummary> summaryOfEvents(const std::string &folder, RunProcess process);

/// Writes the summary and the collective calls of a process into its folder.
Status writeTotals(const ProcessTotals &totals, ProcessSummary summary, const std::string &folder);

} // namespace fade::host_trace
