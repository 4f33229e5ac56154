#include "launch/recorded_run.h"

#include "host_trace/writer.h"

#include <cstring>
#include <filesystem>
#include <fmt/format.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char *kNoRoom = "nothing was recorded: no space for events";

} // namespace

void sayWhatIsMissing(const host_trace::HostEvents &events, const std::string &file) {
  if (events.lost != 0)
    complain(fmt::format("{} events were not recorded: no space for them", events.lost));
  if (events.damaged != 0)
    complain(fmt::format("{}: {} blocks are damaged; the rest of each was skipped", file,
                         events.damaged));
}

void addRecording(RunOptions &options, const std::string &file) {
  if (!file.empty()) {
    options.values.emplace_back("FADE_TRACE", file);
    options.values.emplace_back("FADE_TRACE_FORMAT", "events");
  }
  if (const auto early = ownLibrary("libfaderoctx.so")) options.preload.push_back(*early);
  const bool is_run = valueOf(options.values, "FADE_TRACE_FORMAT") == host_trace::kRunForm;
  if (const auto messages = ownLibrary("libfademessages.so");
      messages && is_run && options.messages.value_or(true))
    options.preload.push_back(*messages);
}

void addRecordingInto(RunOptions &options, const std::string &folder) {
  options.values.emplace_back("FADE_TRACE", folder);
  options.values.emplace_back("FADE_TRACE_FORMAT", host_trace::kRunForm);
  addRecording(options, "");
}

RecordedRun runRecorded(RunOptions &options, const std::vector<std::string> &application,
                        const std::string &file) {
  RecordedRun run;
  addRecording(options, file);
  const ApplicationRun done = runAndWait(options, application);
  run.end = done.end;
  if (done.failure) {
    run.exit_code = *done.failure;
    return run;
  }
  run.was_started = true;
  std::error_code ignored;
  run.has_events = fs::exists(file, ignored);
  if (!run.has_events) complain(kNotUsed);
  return run;
}

bool hasProcesses(const host_trace::HostEvents &events, const std::string &file) {
  if (!events.processes.empty()) return true; // else fadeprobe control has made it
  complain(events.lost == 0 ? kNotUsed : kNoRoom);
  std::error_code ignored;
  fs::remove(file, ignored);
  return false;
}

RecordedRun recordRun(RunOptions &options, const std::vector<std::string> &application,
                      const std::string &file) {
  RecordedRun run = runRecorded(options, application, file);
  readRecorded(run, file);
  return run;
}

void readRecorded(RecordedRun &run, const std::string &file) {
  if (!run.has_events) return;
  auto events = host_trace::HostEvents::read(file);
  if (!events) {
    complain(events.error().message());
  } else if (hasProcesses(*events, file)) {
    sayWhatIsMissing(*events, file);
    run.events = *std::move(events);
  }
}

} // namespace fade::cli
