#include "trace/command.h"

#include "checks.h"
#include "report/child.h"
#include "trace/call_log.h"
#include "trace/event_reader.h"

#include <CLI/CLI.hpp>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

/// A mistake in the options, in one line; empty: none.
std::string mistakeIn(const TraceOptions &options) {
  if (options.output.empty() && options.api_log.empty())
    return "trace: give -o FILE or --api-log FILE";
  if (!options.format.empty() && options.output.empty()) return "--format needs -o FILE";
  return "";
}

/// Writes what was asked for. False, after a line that says why, if something could not be written.
bool writeViews(const host_trace::HostEvents &events, const TraceOptions &options) {
  bool all = true;
  const auto check = [&](const Status &status) {
    if (status) return;
    complain(status.error().message());
    all = false;
  };
  if (!options.api_log.empty())
    check(writeLog(events, options.api_log, host_trace::LogScope::calls));
  if (!options.output.empty())
    check(writeLog(events, options.output, host_trace::LogScope::everything));
  return all;
}

void sayWhatIsMissing(const host_trace::HostEvents &events, const std::string &file) {
  if (events.lost != 0)
    complain(fmt::format("{} events were not recorded: there was no room for them", events.lost));
  if (events.damaged != 0)
    complain(fmt::format("{}: {} blocks are damaged; what follows in them is left out", file,
                         events.damaged));
}

} // namespace

CLI::App *addTraceCommand(CLI::App &app, TraceOptions &options) {
  CLI::App *command =
      app.add_subcommand("trace", "record the calls of HIP that an application makes");
  command->add_option("-o,--output", options.output, "the file to write")->type_name("FILE");
  command->add_option("--format", options.format, "json")->type_name("json");
  command
      ->add_option("--api-log", options.api_log,
                   "write the calls of HIP as JSON lines, one per call")
      ->type_name("FILE");
  addTraceVariables(*command, options.run);
  return command;
}

int runTrace(TraceOptions options, const std::vector<std::string> &application) {
  if (const std::string mistake = mistakeIn(options); !mistake.empty()) {
    complain(mistake);
    return kUsageError;
  }
  for (std::string *path : {&options.output, &options.api_log})
    if (!path->empty()) *path = fs::absolute(*path);
  for (const std::string *path : {&options.output, &options.api_log})
    if (!options.run.env_dump && !path->empty() && !canWrite("", *path)) return 1;
  const std::string &first = options.output.empty() ? options.api_log : options.output;
  const std::string recorded = fmt::format("{}.{}.events", first, getpid());
  options.run.values.emplace_back("FADE_TRACE", recorded);
  if (const auto code = prepareRun(options.run, application, true)) return *code;
  const ChildEnd end = runChild(application);
  if (end.error != 0) {
    complain(fmt::format("cannot run {}: {}", application[0], std::strerror(end.error)));
    return end.exit_code;
  }
  std::error_code ignored;
  if (!fs::exists(recorded, ignored)) {
    complain("the application did not use the GPU: there is nothing to write");
    endLike(end);
  }
  const auto events = host_trace::HostEvents::read(recorded);
  if (!events)
    complain(events.error().message());
  else {
    sayWhatIsMissing(*events, recorded);
    if (writeViews(*events, options))
      fs::remove(recorded, ignored);
    else
      complain(fmt::format("what was recorded is in {}", recorded));
  }
  endLike(end);
}

} // namespace fade::cli
