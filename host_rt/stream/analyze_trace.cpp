#include "stream/analyze_trace.h"

#include "base/diagnostics.h"
#include "stream/analysis.h"
#include "stream/progress.h"
#include "stream/trace_reader.h"

#include <algorithm>
#include <optional>
#include <thread>

namespace fade {

int analyzeTrace(const std::string &path, const Settings &settings) {
  const auto trace = TraceReader::open(path);
  if (!trace) {
    warn("{}", trace.error().message());
    return 2;
  }
  // A handler that does not return keeps its thread: both live as long as the process.
  static Output *const kept_output =
      new Output(settings.log_location, settings.log_format, settings.log_append);
  Output &output = *kept_output;
  std::vector<std::string> complaints;
  Handlers handlers = loadHandlers(settings.handlers, ownDirectory(), output, complaints);
  for (const std::string &complaint : complaints) warn("{}", complaint);
  if (!complaints.empty()) return 2;
  AnalysisOptions options;
  options.workers =
      settings.workers ? settings.workers : std::max(1u, std::thread::hardware_concurrency());
  options.call_patience = settings.patient(options.call_patience);
  static Analysis *const kept_analysis =
      new Analysis(options, std::move(handlers), output, nullptr);
  Analysis &analysis = *kept_analysis;
  std::optional<ProgressLine> progress;
  if (settings.progress && ProgressLine::isPossible()) {
    ProgressLine::eraseAtSignals();
    progress.emplace(describeProgress(analysis, nullptr));
  }
  const Selection selection(settings);
  const std::string problem = trace->replay(analysis, &selection);
  analysis.close(std::chrono::hours(24));
  output.flush();
  progress.reset();
  if (problem.empty()) return 0;
  warn("{}", problem);
  return 1;
}

} // namespace fade
