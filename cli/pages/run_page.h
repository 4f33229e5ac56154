// The page of a run of many processes (base/run_folder.h): totals and spread over ranks first, then
// one rank. Made from summaries alone: its size follows from the number of ranks and of different
// kernels, never from that of events, and is bounded.
#pragma once

#include "analysis/findings.h"
#include "host_trace/run.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fade::report {

/// What a kernel could gain, on all ranks that it was seen on.
struct RunAdvice {
  std::string kernel, cause, advice, place; ///< place: "file:line", or empty
  double least_gain = 0, most_gain = 0;     ///< of the rank's time: 0.1 is a tenth
  std::set<uint64_t> ranks;
  std::set<std::string> processes; ///< folders
};

/// Reads advice.jsonl of all processes: one cause in one kernel is one line; the largest first.
std::vector<RunAdvice> adviceOf(const host_trace::Run &run);

/// The largest of them in a few lines; empty if there is none.
std::string adviceText(const host_trace::Run &run);

/// `beside`: the folder that the page will be in, for links to those of single ranks.
Json runPageData(const host_trace::Run &run, const std::string &title, const std::string &beside);
std::string runHtmlPage(const Json &data);

} // namespace fade::report
