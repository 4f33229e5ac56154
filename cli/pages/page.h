// The report as one HTML file that needs nothing else: the page of page/ with its style and script,
// and the data of the run as JSON inside it.
#pragma once

#include "analysis/findings.h"
#include "host_trace/trace_log.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fade::report {

/// What the model says of a run, for the page.
struct Assessment {
  Json profile; ///< what keeps kernels from being faster; null if nothing was counted
  Findings findings;
};

struct PageOptions {
  std::string title;                          ///< what ran
  std::vector<std::string> code;              ///< files with the kernels' machine code
  const host_trace::TraceLog *host = nullptr; ///< the application's side, if it was recorded
  std::string end = {};                       ///< how it ended, if not well: "by SIGSEGV"
  /// Called once, when the code of the kernels has been read.
  std::function<Assessment(const RunLog &)> assess = {};
  std::vector<std::string> sources = {}; ///< folders that source has to be below; none: anywhere
};

/// The data that the page shows.
Json pageData(RunLog &log, const PageOptions &options);

/// The whole file. `drawn_by`: its script; empty: that of one process.
std::string htmlPage(const Json &data, std::string_view drawn_by = {});

/// JSON as the contents of a script element: no character that HTML could take for markup.
std::string scriptSafe(const Json &data);

} // namespace fade::report
