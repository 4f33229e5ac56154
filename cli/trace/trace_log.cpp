#include "trace/trace_log.h"

#include "trace/api_text.h"
#include "trace/operation_view.h"

#include <fmt/format.h>
#include <fstream>

namespace fade::host_trace {
namespace {

std::string nameOfOperation(const OperationView &view) {
  if (view.purpose == Purpose::kernel) return std::string(view.kernel);
  const char *by = view.kernel.empty() ? "engine" : "kernel";
  if (view.purpose == Purpose::fill) return fmt::format("fill ({})", by);
  const std::string_view direction = nameOf(view.direction);
  return fmt::format("copy{}{} ({})", direction.empty() ? "" : " ", direction, by);
}

} // namespace

void markCause(TraceLog &log, std::size_t call) {
  for (std::optional<std::size_t> at = call; at && *at < log.calls.size();) {
    LoggedCall &one = log.calls[*at];
    if (one.has_operations) return;
    one.has_operations = true;
    // A file may say anything, also that a call comes before itself.
    at = one.parent && *one.parent < *at ? one.parent : std::nullopt;
  }
}

TraceLog TraceLog::of(const HostEvents &events) {
  TraceLog log;
  log.lost = events.lost;
  for (const auto &[pid, process] : events.processes)
    if (!process.program.empty())
      log.processes.push_back(fmt::format("process {}: {}{}{}", pid, process.program,
                                          process.hip_library.empty() ? "" : ", ",
                                          process.hip_library));
  for (const Call &call : events.calls) {
    LoggedCall &one = log.calls.emplace_back();
    one.function = call.function->name;
    one.error = errorOf(call, events.hipMajor(call.thread.pid)).value_or("");
    one.pid = call.thread.pid;
    one.tid = call.thread.tid;
    one.start_ns = call.start_ns;
    one.end_ns = call.end_ns;
    one.has_returned = call.hasReturned();
    one.is_name_only = call.isNameOnly();
    one.parent = events.callAt(call.parent);
    if (const auto copy = copyOf(call)) one.bytes = copy->bytes;
  }
  for (const Operation &operation : events.operations) {
    const OperationView view = viewOf(events, operation);
    if (view.call) markCause(log, *view.call);
    log.operations.push_back({nameOfOperation(view), view.purpose == Purpose::kernel,
                              operation.has_ended, operation.has_times, operation.start_ns,
                              operation.end_ns, view.bytes.value_or(0)});
  }
  return log;
}

Result<TraceLog> TraceLog::read(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{path, "", 0, "no such file, or it cannot be read"};
  char first[16] = {};
  file.read(first, sizeof first);
  uint64_t magic = 0;
  std::memcpy(&magic, first, sizeof magic);
  if (magic == events::kMagic) {
    auto events = HostEvents::read(path);
    if (!events) return std::move(events).error();
    return of(*events);
  }
  if (std::string_view(first, 15) == "SQLite format 3") return readRpdLog(path);
  if (first[0] == '{') return readJsonLog(path);
  return Error{path, "", 0, "is neither JSON lines nor an RPD file nor host events"};
}

} // namespace fade::host_trace
