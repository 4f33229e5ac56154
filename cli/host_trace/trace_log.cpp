#include "host_trace/trace_log.h"

#include "analysis/host_events/api_text.h"
#include "analysis/host_events/thread_times.h"
#include "host_trace/collectives.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fstream>

namespace fade::host_trace {
namespace {

void addHandles(LoggedCall &one, const Call &call) {
  const auto first = [&](std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names)
      if (const auto value = argument(call, name)) return *value;
    return uint64_t{0};
  };
  one.stream = first({"stream", "hStream"});
  const std::string_view function = one.function;
  if (function.find("Graph") != function.npos || function.find("Capture") != function.npos) {
    one.graph = first({"graph", "pGraph", "pGraphClone"});
    one.from = first({"originalGraph"});
    one.graph_exec = first({"graphExec", "pGraphExec"});
  }
  if (isAllocation(function) || isRelease(function)) {
    one.to = first({"ptr", "dev_ptr", "devPtr"});
    if (isAllocation(function)) one.bytes = argument(call, "size");
  }
  if (const auto copy = copyOf(call)) {
    one.bytes = copy->bytes;
    one.to = copy->to;
    one.from = copy->from;
  }
}

} // namespace

LoggedCall loggedCall(const Call &call, Texts &texts) {
  LoggedCall one;
  one.function = call.function->name;
  one.error = texts.keep(errorOf(call, call.hip_major).value_or(""));
  one.pid = call.thread.pid;
  one.tid = call.thread.tid;
  one.start_ns = call.start_ns;
  one.end_ns = call.end_ns;
  one.has_returned = call.hasReturned();
  one.is_name_only = call.isNameOnly();
  addHandles(one, call);
  return one;
}

LoggedOperation loggedOperation(const Operation &operation, const OperationView &view) {
  LoggedOperation one;
  one.kernel = view.kernel;
  one.purpose = view.purpose;
  one.direction = nameOf(view.direction);
  one.has_ended = operation.has_ended;
  one.has_times = operation.has_times;
  one.pid = operation.pid;
  one.gpu = operation.event.gpu;
  one.queue = operation.event.queue;
  one.start_ns = operation.start_ns;
  one.end_ns = operation.end_ns;
  one.bytes = view.bytes.value_or(0);
  one.call = view.call;
  return one;
}

bool isLaunch(std::string_view function) {
  return function.find("Launch") != function.npos && function.find("HostFunc") == function.npos;
}

bool isAllocation(std::string_view function) {
  return function.starts_with("hipMalloc") || function == "hipHostMalloc" ||
         function == "hipExtMallocWithFlags";
}

bool isRelease(std::string_view function) {
  return function == "hipFree" || function == "hipFreeAsync" || function == "hipHostFree";
}

std::string processLine(uint32_t pid, const std::string &program, const std::string &hip) {
  return fmt::format("process {}: {}{}{}", pid, program, hip.empty() ? "" : ", ", hip);
}

std::string nameOf(const LoggedOperation &operation) {
  if (operation.purpose == Purpose::kernel) return std::string(operation.kernel);
  const char *by = !operation.kernel.empty() ? " (kernel)"
                   : operation.knows_engine  ? " (engine)"
                                             : "";
  if (operation.purpose == Purpose::fill) return fmt::format("fill{}", by);
  return fmt::format("copy{}{}{}", operation.direction.empty() ? "" : " ", operation.direction, by);
}

void markCause(TraceLog &log, std::size_t call) {
  for (std::optional<std::size_t> at = call; at && *at < log.calls.size();) {
    LoggedCall &one = log.calls[*at];
    if (one.has_operations) return;
    one.has_operations = true;
    // A file may say anything, also that a call comes before itself.
    at = one.parent && *one.parent < *at ? one.parent : std::nullopt;
  }
}

namespace {

void addStacks(TraceLog &log, const HostEvents &events) {
  StackNames names(events);
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> known;
  for (std::size_t i = 0; i < events.calls.size(); ++i) {
    const Call &call = events.calls[i];
    if (call.stack == 0) continue;
    const auto [at, is_new] = known.try_emplace({call.thread.pid, call.stack}, 0);
    if (is_new) {
      std::vector<std::string_view> stack;
      for (const StackFrame *frame : names.framesOf(call.thread.pid, call.stack, call.start_ns))
        stack.insert(stack.begin(), log.texts.keep(frame->text()));
      at->second = static_cast<uint32_t>(log.stacks.size());
      log.stacks.push_back(std::move(stack));
    }
    log.calls[i].stack = at->second;
  }
}

} // namespace

/// "application -> layer function -> hip", "application takes from layer: functions".
void TraceLog::findLayers() {
  for (const FoundFact &fact : facts) {
    const std::string_view before = fact.kind == "redirect" ? " -> " : " takes from ";
    const auto first = fact.text.find(before);
    if ((fact.kind != "redirect" && fact.kind != "cuda_layer") || first == fact.text.npos) continue;
    const auto begin = first + before.size();
    const std::string layer = fact.text.substr(begin, fact.text.find_first_of(": ", begin) - begin);
    if (std::ranges::find(layers, layer) == layers.end()) layers.push_back(layer);
  }
}

TraceLog TraceLog::of(const HostEvents &events) {
  TraceLog log;
  log.lost = events.lost;
  log.damaged = events.damaged;
  log.in_software = events.isInSoftware();
  for (const auto &[pid, process] : events.processes)
    if (!process.program.empty())
      log.processes.push_back(processLine(pid, process.program, process.hip_library));
  const LaunchedKernels kernels(events);
  for (std::size_t i = 0; i < events.calls.size(); ++i) {
    const Call &call = events.calls[i];
    LoggedCall &one = log.calls.emplace_back(loggedCall(call, log.texts));
    one.parent = events.callAt(call.parent);
    one.kernel = log.texts.keep(kernels.nameOf(i));
  }
  for (const Operation &operation : events.operations) {
    const OperationView view = viewOf(events, operation);
    if (view.call) markCause(log, *view.call);
    LoggedOperation &one = log.operations.emplace_back(loggedOperation(operation, view));
    one.kernel = log.texts.keep(view.kernel);
  }
  for (const Range &range : rangesOf(events)) // the arguments of messages are all different
    log.ranges.push_back(
        {log.texts.keep(isMessage(range) ? std::string(range.text) : range.whole()),
         range.thread.pid, range.thread.tid, range.start_ns, range.end_ns, range.is_nested});
  addStacks(log, events);
  log.facts = findFacts(events);
  log.findLayers();
  for (const LibraryRequest &request : events.requests)
    log.requests.push_back(
        {request.time_ns, request.thread.pid, std::string(request.file), std::string(request.who)});
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
  if (std::string_view(first, 15) == "SQLite format 3")
    return isRocpd(path) ? readRocpdLog(path) : readRpdLog(path);
  if (first[0] == '{') return readJsonLog(path);
  return Error{path, "", 0,
               "is neither JSON lines nor an RPD file nor a rocpd database nor host events"};
}

} // namespace fade::host_trace
