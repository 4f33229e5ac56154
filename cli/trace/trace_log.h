// A trace as fadeprobe log looks at it, from whichever file it was kept in: host events, JSON lines
// or an RPD database.
#pragma once

#include "base/result.h"
#include "trace/event_reader.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fade::host_trace {

struct LoggedCall {
  std::string function;
  std::string error; ///< "hipSuccess"; empty: it has none, or has not returned
  uint32_t pid = 0, tid = 0;
  uint64_t start_ns = 0, end_ns = 0;
  bool has_returned = true, is_name_only = false;
  bool has_operations = false;       ///< its own, or of a call that it made
  std::optional<uint64_t> bytes;     ///< of a copy, if they are known
  std::optional<std::size_t> parent; ///< index
};

struct LoggedOperation {
  std::string name; ///< of the kernel, or "copy host_to_device"
  bool is_kernel = false, has_ended = true, has_times = true;
  uint64_t start_ns = 0, end_ns = 0, bytes = 0;
};

struct TraceLog {
  std::vector<LoggedCall> calls; ///< in order of start
  std::vector<LoggedOperation> operations;
  std::vector<std::string> processes; ///< a line each
  uint64_t lost = 0, bad_lines = 0;

  /// Whatever the file is. An error if it is none of those.
  static Result<TraceLog> read(const std::string &path);
  static TraceLog of(const HostEvents &events);
};

/// The same from one of the formats.
Result<TraceLog> readJsonLog(const std::string &path);
Result<TraceLog> readRpdLog(const std::string &path);

/// Calls that an operation belongs to, with those that made them.
void markCause(TraceLog &log, std::size_t call);

} // namespace fade::host_trace
