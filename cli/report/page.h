// The report as one HTML file that needs nothing else: the page of page/ with its style and script,
// and the data of the run as JSON inside it.
#pragma once

#include "report/run_log.h"
#include "trace/trace_log.h"

#include <string>
#include <vector>

namespace fade::report {

struct PageOptions {
  std::string title;                          ///< what ran
  std::vector<std::string> code;              ///< files with the kernels' machine code
  const host_trace::TraceLog *host = nullptr; ///< the application's side, if it was recorded
  std::string end = {};                       ///< how it ended, if not well: "by SIGSEGV"
  Json profile = {}; ///< what keeps kernels from being faster, if they were counted
};

/// The data that the page shows.
Json pageData(RunLog &log, const PageOptions &options);

/// The whole file.
std::string htmlPage(const Json &data);

/// JSON as the contents of a script element: no character that HTML could take for markup.
std::string scriptSafe(const Json &data);

} // namespace fade::report
