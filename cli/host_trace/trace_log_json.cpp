// JSON lines of fadeprobe trace, read back.
#include "host_trace/trace_log.h"

#include "base/json_text.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>
#include <utility>

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

/// A number, or an address as "0x..."; the first of these keys that is one.
uint64_t valueOf(const Json &arguments, std::initializer_list<const char *> keys) {
  for (const char *key : keys) {
    const auto at = arguments.find(key);
    if (at == arguments.end()) continue;
    if (at->is_number_unsigned()) return at->get<uint64_t>();
    if (!at->is_string()) continue;
    const auto &text = at->get_ref<const std::string &>();
    uint64_t value = 0;
    if (text.starts_with("0x") &&
        std::from_chars(text.data() + 2, text.data() + text.size(), value, 16).ec == std::errc())
      return value;
  }
  return 0;
}

class JsonLogReader {
public:
  void read(const Json &line) {
    const auto type = get<std::string>(line, "type", "");
    if (type == "call") {
      addCall(line);
    } else if (type == "operation") {
      addOperation(line);
    } else if (type == "marker") {
      const auto start = get<uint64_t>(line, "start_ns", 0);
      const auto arguments = get<std::string>(line, "args", "");
      const std::string_view text = keep(line, "text");
      log.ranges.push_back(
          {arguments.empty() ? text : log.texts.keep(std::string(text) + ", " + arguments),
           get<uint32_t>(line, "pid", 0), get<uint32_t>(line, "thread", 0), start,
           std::max(start, get<uint64_t>(line, "end_ns", 0)), !line.contains("overlaps")});
    } else if (type == "process") {
      log.processes.push_back(processLine(get<uint32_t>(line, "pid", 0),
                                          get<std::string>(line, "program", ""),
                                          get<std::string>(line, "hip", "")));
    } else if (type == "trace") {
      has_operations = true;
      log.lost = get<uint64_t>(line, "lost", 0);
      log.in_software = line.value("software", Json()) == true;
    } else if (type == "stack") {
      addStack(line);
    } else if (type == "finding") {
      log.facts.push_back({get<std::string>(line, "kind", ""), get<std::string>(line, "text", ""),
                           get<uint64_t>(line, "count", 1), get<uint32_t>(line, "pid", 0)});
    } else if (type == "library") {
      log.requests.push_back({get<uint64_t>(line, "time_ns", 0), get<uint32_t>(line, "pid", 0),
                              get<std::string>(line, "file", ""),
                              get<std::string>(line, "requested_by", "")});
    }
  }

  /// Long traces are written in pieces, each in order of start; calls of one piece may have begun
  /// before those of the piece in front of it.
  void sort() {
    std::vector<std::size_t> order(log.calls.size()), place(log.calls.size());
    std::iota(order.begin(), order.end(), 0);
    if (std::ranges::is_sorted(log.calls, {}, &LoggedCall::start_ns)) return;
    std::ranges::sort(order, {},
                      [&](std::size_t i) { return std::pair(log.calls[i].start_ns, i); });
    std::vector<LoggedCall> sorted;
    sorted.reserve(order.size());
    for (const std::size_t i : order) {
      place[i] = sorted.size();
      sorted.push_back(log.calls[i]);
    }
    for (LoggedCall &call : sorted)
      if (call.parent) call.parent = place[*call.parent];
    for (LoggedOperation &operation : log.operations)
      if (operation.call) operation.call = place[*operation.call];
    log.calls = std::move(sorted);
  }

  TraceLog log;
  bool has_operations = false;

private:
  std::string_view keep(const Json &line, const char *key) {
    return log.texts.keep(get<std::string>(line, key, ""));
  }

  void addCall(const Json &line) {
    LoggedCall &call = log.calls.emplace_back();
    call.function = keep(line, "function");
    call.error = keep(line, "result");
    // Functions that return a text are no errors.
    if (!call.error.starts_with("hipError") && !call.error.starts_with("HIPRTC_") &&
        call.error != "hipSuccess")
      call.error = {};
    if (call.function == "hipGetErrorName" || call.function == "hipGetErrorString") call.error = {};
    call.kernel = keep(line, "kernel");
    call.pid = get<uint32_t>(line, "pid", 0);
    call.tid = get<uint32_t>(line, "thread", 0);
    call.start_ns = get<uint64_t>(line, "start_ns", 0);
    call.end_ns = get<uint64_t>(line, "end_ns", 0);
    call.is_name_only = line.contains("partial");
    call.has_returned = !isNull(line, "end_ns") && !call.is_name_only;
    if (call.has_returned || call.is_name_only) call.end_ns = std::max(call.start_ns, call.end_ns);
    by_id_[get<uint64_t>(line, "id", 0)] = log.calls.size() - 1;
    call.parent = callOf(get<uint64_t>(line, "parent", 0));
    if (const auto args = line.find("args"); args != line.end() && args->is_object())
      addArguments(call, *args);
    if (const auto known = stacks_.find(get<std::string>(line, "stack", ""));
        known != stacks_.end())
      call.stack = known->second;
  }

  static void addArguments(LoggedCall &call, const Json &args) {
    call.stream = valueOf(args, {"stream", "hStream"});
    call.graph = valueOf(args, {"graph", "pGraph", "pGraphClone"});
    call.graph_exec = valueOf(args, {"graphExec", "pGraphExec"});
    if (isAllocation(call.function) || isRelease(call.function)) {
      call.to = valueOf(args, {"ptr", "dev_ptr", "devPtr"});
      if (args.contains("size")) call.bytes = valueOf(args, {"size"});
      return;
    }
    call.to = valueOf(args, {"dst", "dest", "dstDevice", "dstHost"});
    call.from = valueOf(args, {"src", "srcDevice", "srcHost", "symbol", "originalGraph"});
    for (const char *name : {"sizeBytes", "ByteCount", "count", "sizeInBytes"})
      if (args.contains(name)) call.bytes = valueOf(args, {name});
  }

  /// The innermost frame comes first in the file.
  void addStack(const Json &line) {
    std::vector<std::string_view> stack;
    const auto frames = line.find("frames");
    if (frames == line.end() || !frames->is_array()) return;
    for (auto at = frames->rbegin(); at != frames->rend(); ++at) {
      if (!at->is_object()) continue;
      const StackFrame frame{get<std::string>(*at, "function", ""),
                             get<std::string>(*at, "file", ""), get<uint32_t>(*at, "line", 0),
                             get<std::string>(*at, "library", ""), 0};
      stack.push_back(log.texts.keep(frame.text()));
    }
    stacks_[get<std::string>(line, "id", "")] = static_cast<uint32_t>(log.stacks.size());
    log.stacks.push_back(std::move(stack));
  }

  void addOperation(const Json &line) {
    LoggedOperation operation;
    const auto kind = get<std::string>(line, "kind", "");
    operation.kernel = keep(line, "kernel");
    operation.purpose = kind == "kernel" ? Purpose::kernel
                        : kind == "fill" ? Purpose::fill
                                         : Purpose::copy;
    operation.direction = keep(line, "direction");
    operation.has_ended = !line.contains("complete");
    operation.pid = get<uint32_t>(line, "pid", 0);
    operation.gpu = get<uint32_t>(line, "gpu", 0);
    operation.queue = get<uint32_t>(line, "queue", 0);
    operation.start_ns = get<uint64_t>(line, "start_ns", 0);
    operation.end_ns = get<uint64_t>(line, "end_ns", 0);
    operation.has_times = operation.start_ns != 0 && operation.end_ns >= operation.start_ns;
    operation.bytes = get<uint64_t>(line, "bytes", 0);
    operation.call = callOf(get<uint64_t>(line, "call", 0));
    if (operation.call) markCause(log, *operation.call);
    log.operations.push_back(operation);
  }

  std::optional<std::size_t> callOf(uint64_t id) const {
    const auto at = id == 0 ? by_id_.end() : by_id_.find(id);
    return at == by_id_.end() ? std::nullopt : std::optional(at->second);
  }

  std::unordered_map<uint64_t, std::size_t> by_id_;
  std::unordered_map<std::string, uint32_t> stacks_; ///< by id: indexes
};

} // namespace

Result<TraceLog> readJsonLog(const std::string &path) {
  std::ifstream file(path);
  JsonLogReader reader;
  for (std::string text; std::getline(file, text);) {
    const Json line = parsedJson(text);
    if (line.is_object())
      reader.read(line);
    else
      ++reader.log.bad_lines;
  }
  reader.sort();
  TraceLog &log = reader.log;
  if (log.calls.empty() && !reader.has_operations) return Error{path, "", 0, "holds no HIP calls"};
  log.findLayers();
  log.has_operations = reader.has_operations;
  if (!log.has_operations)
    for (LoggedCall &call : log.calls) call.has_operations = true;
  return std::move(log);
}

} // namespace fade::host_trace
