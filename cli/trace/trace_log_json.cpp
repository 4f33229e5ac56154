// JSON lines of fadeprobe trace, read back.
#include "trace/trace_log.h"

#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

namespace fade::host_trace {
namespace {

using Json = nlohmann::json;

template <typename T> T get(const Json &line, const char *key, T otherwise) {
  const auto at = line.find(key);
  if (at == line.end()) return otherwise;
  if constexpr (std::is_same_v<T, std::string>)
    return at->is_string() ? at->get<T>() : otherwise;
  else
    return at->is_number_unsigned() ? at->get<T>() : otherwise;
}

bool isNull(const Json &line, const char *key) {
  const auto at = line.find(key);
  return at != line.end() && at->is_null();
}

void addCall(TraceLog &log, const Json &line) {
  LoggedCall &call = log.calls.emplace_back();
  call.function = get<std::string>(line, "function", "?");
  call.error = get<std::string>(line, "result", "");
  // Functions that return a text are no errors.
  if (!call.error.starts_with("hipError") && !call.error.starts_with("HIPRTC_") &&
      call.error != "hipSuccess")
    call.error.clear();
  if (call.function == "hipGetErrorName" || call.function == "hipGetErrorString")
    call.error.clear();
  call.pid = get<uint32_t>(line, "pid", 0);
  call.tid = get<uint32_t>(line, "thread", 0);
  call.start_ns = get<uint64_t>(line, "start_ns", 0);
  call.end_ns = get<uint64_t>(line, "end_ns", 0);
  call.is_name_only = line.contains("partial");
  call.has_returned = !isNull(line, "end_ns") && !call.is_name_only;
  if (const auto parent = get<uint64_t>(line, "parent", 0)) call.parent = parent - 1;
  if (const auto args = line.find("args"); args != line.end() && args->is_object())
    for (const char *name : {"sizeBytes", "ByteCount", "count"})
      if (args->contains(name)) call.bytes = get<uint64_t>(*args, name, 0);
}

void addOperation(TraceLog &log, const Json &line) {
  LoggedOperation operation;
  const auto kind = get<std::string>(line, "kind", "");
  const auto kernel = get<std::string>(line, "kernel", "");
  operation.is_kernel = kind == "kernel";
  const char *by = kernel.empty() ? "engine" : "kernel";
  const auto direction = get<std::string>(line, "direction", "");
  operation.name = operation.is_kernel ? kernel
                   : kind == "fill"
                       ? fmt::format("fill ({})", by)
                       : fmt::format("copy{}{} ({})", direction.empty() ? "" : " ", direction, by);
  operation.has_ended = !line.contains("complete");
  operation.start_ns = get<uint64_t>(line, "start_ns", 0);
  operation.end_ns = get<uint64_t>(line, "end_ns", 0);
  operation.has_times = operation.start_ns != 0 && operation.end_ns >= operation.start_ns;
  operation.bytes = get<uint64_t>(line, "bytes", 0);
  if (const auto call = get<uint64_t>(line, "call", 0)) markCause(log, call - 1);
  log.operations.push_back(std::move(operation));
}

} // namespace

Result<TraceLog> readJsonLog(const std::string &path) {
  std::ifstream file(path);
  TraceLog log;
  bool has_operations = false;
  for (std::string text; std::getline(file, text);) {
    const Json line = Json::parse(text, nullptr, false);
    if (!line.is_object()) {
      ++log.bad_lines;
      continue;
    }
    const auto type = get<std::string>(line, "type", "");
    if (type == "call") {
      addCall(log, line);
    } else if (type == "operation") {
      addOperation(log, line);
    } else if (type == "trace") {
      has_operations = true;
      log.lost = get<uint64_t>(line, "lost", 0);
    }
  }
  if (log.calls.empty() && !has_operations) return Error{path, "", 0, "holds no calls of HIP"};
  // A log of calls alone does not say what became of them.
  if (!has_operations)
    for (LoggedCall &call : log.calls) call.has_operations = true;
  return log;
}

} // namespace fade::host_trace
