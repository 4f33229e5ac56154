#include "launch/application_run.h"

#include "base/run_folder.h"

#include <cstring>
#include <fmt/format.h>

namespace fade::cli {

void sayNotStarted(const std::vector<std::string> &application, const ChildEnd &end) {
  complain(fmt::format("cannot run {}: {}", application[0], std::strerror(end.error)));
}

bool isRankChosen(const Variables &values) {
  return !ownRank() || namesRank(valueOf(values, "FADE_RANKS"), ownRank());
}

ApplicationRun runAndWait(const RunOptions &options, const std::vector<std::string> &application,
                          const RunLaunch *launch, double seconds) {
  ApplicationRun run;
  run.failure = prepareRun(options, application, true);
  if (run.failure) return run;
  if (launch) launch->announce();
  run.end = runChild(application, seconds);
  if (run.end.error == 0) return run;
  sayNotStarted(application, run.end);
  run.failure = run.end.exit_code;
  return run;
}

} // namespace fade::cli
