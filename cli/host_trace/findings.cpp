#include "host_trace/findings.h"

#include "analysis/host_events/api_text.h"
#include "analysis/host_events/cuda_layers.h"
#include "analysis/host_events/operation_view.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace fade::host_trace {
namespace {

constexpr uint64_t kFallbackCpu = 5'000'000'000; ///< ns of processor time that are worth a word
constexpr double kFallbackShare = 0.1; ///< of a processor, in that time: it may be a busy machine
/// Between two operations, ns: a shorter one is none. Far below the time in which even a large
/// machine spends what is worth a word.
constexpr uint64_t kShortestPause = 10'000'000;

bool isFine(const std::optional<std::string> &error) {
  return !error || *error == "hipSuccess" || *error == "HIPRTC_SUCCESS" ||
         *error == "hipErrorNotReady"; // an answer
}

/// What Python calls C with: who calls is behind it.
bool isBridge(std::string_view library) {
  return library.starts_with("libffi") || library.starts_with("_ctypes") ||
         library.starts_with("_cffi");
}

/// Calls that an operation belongs to, with those that made them.
std::vector<bool> callsWithEffect(const HostEvents &events) {
  std::vector<bool> with_effect(events.calls.size());
  for (const Operation &operation : events.operations)
    for (auto at = events.callAt(operation.event.call); at && !with_effect[*at];) {
      with_effect[*at] = true;
      at = events.callAt(events.calls[*at].parent);
    }
  return with_effect;
}

/// Where a thread of HIP's makes the packets, nobody knows what became of a call: then no launch
/// has a kernel. Single kernels without a call are those of the first one, in which FADE is loaded.
void seeCauses(const HostEvents &events, std::set<uint32_t> &without_call,
               std::set<uint32_t> &with_causes) {
  for (const Operation &operation : events.operations) {
    const auto call = events.callAt(operation.event.call);
    if (operation.event.call == 0) without_call.insert(operation.pid);
    if (operation.isKernel() && call &&
        std::string_view(events.calls[*call].function->group) == "launch")
      with_causes.insert(operation.pid);
  }
}

/// How much an allocation was for, if it says so.
std::optional<uint64_t> bytesWanted(const Call &call) {
  for (const char *name : {"size", "sizeBytes", "bytesize", "pNodeParams.bytesize"})
    if (const auto bytes = argument(call, name)) return bytes;
  const auto width = argument(call, "width"), height = argument(call, "height");
  const bool is_array = std::string_view(call.function->name).find("Array") != std::string::npos;
  if (width && height && !is_array) return *width * std::max<uint64_t>(*height, 1);
  const auto extent = argumentWords(call, "extent");
  if (extent.size() == 3 && !is_array) return extent[0] * extent[1] * extent[2];
  return std::nullopt;
}

/// Questions about the last error, which is looked at by its name or text as well.
bool asksForError(std::string_view name) {
  return name == "hipGetLastError" || name == "hipPeekAtLastError" || name == "hipGetErrorString" ||
         name == "hipGetErrorName" || name == "hipExtGetLastError" ||
         name == "hipDrvGetErrorName" || name == "hipDrvGetErrorString";
}

/// Recording may have been switched off before the packet was seen.
bool isRecorded(const HostEvents &events, const Call &call) {
  bool is_on = true;
  for (const Switch &change : events.switches)
    if (change.pid == call.thread.pid && change.time_ns <= call.end_ns) is_on = change.is_on;
  return is_on;
}

std::string errorText(const Call &call) { return errorOf(call, call.hip_major).value_or(""); }

/// Who called on behalf of whom: the frame of a CUDA layer that is nearest to the application, as
/// "app -> libcudart.so cudaMalloc -> hipMalloc"; empty: there is no layer.
std::string redirectOf(StackNames &names, const Caller &caller) {
  const auto frames = names.framesOf(caller.pid, caller.stack, UINT64_MAX);
  const StackFrame *layer = nullptr;
  std::string from;
  for (const StackFrame *frame : frames) {
    const bool is_layer = isCudaLibrary(frame->library) || isCudaName(frame->function);
    if (is_layer)
      layer = frame;
    else if (layer && !isBridge(fileName(frame->library))) {
      from = frame->library.empty() ? frame->file : fileName(frame->library);
      break;
    }
  }
  if (!layer) return "";
  return fmt::format("{} -> {} {} -> {}", from.empty() ? "?" : from, fileName(layer->library),
                     layer->function.empty() ? "?" : layer->function, caller.function->name);
}

} // namespace

void CaptureTimes::see(const Call &call) {
  const std::string_view name = call.function->name;
  if (!name.starts_with("hipStream")) return;
  const bool begins = name.starts_with("hipStreamBeginCapture");
  if (!begins && !name.starts_with("hipStreamEndCapture")) return;
  OfProcess &of = processes_[call.thread.pid];
  const uint64_t stream = argument(call, "stream").value_or(0);
  const bool was_capturing = !of.streams.empty();
  if (begins)
    of.streams.insert(stream);
  else
    of.streams.erase(stream);
  if (!was_capturing && begins)
    of.times.emplace_back(call.start_ns, UINT64_MAX);
  else if (was_capturing && of.streams.empty())
    of.times.back().second = call.start_ns;
  if (of.times.size() > kMostTimes) of.times.pop_front();
}

bool CaptureTimes::isCapturing(uint32_t pid, uint64_t time_ns) const {
  const auto of = processes_.find(pid);
  if (of == processes_.end()) return false;
  return std::ranges::any_of(of->second.times, [&](const auto &time) {
    return time.first <= time_ns && time_ns < time.second;
  });
}

void FactFinder::add(const std::string &kind, uint32_t pid, const std::string &text,
                     uint64_t count) {
  FoundFact &fact = facts_[{kind, pid, text}];
  if (fact.kind.empty())
    fact = {kind, text, count, pid};
  else
    fact.count += count;
}

/// An error is looked at by its name or text, or by asking for the last one; a program that goes on
/// with another call has only its own return value, which may have been thrown away. Of a launch by
/// the compiler that is certain.
void FactFinder::onReturn(const Call &call) {
  // A place that calls tells its stack once; each call says from which place it came. HIP's own
  // calls do not count.
  if (call.parent == 0) ++calls_[{call.thread.pid, call.function, call.caller}];
  if (call.isNameOnly()) return;
  captures_.see(call);
  if (call.parent != 0) return;
  const std::string_view name = call.function->name;
  std::optional<Unseen> &last = unseen_[{call.thread.pid, call.thread.tid}];
  if (last || call.result != 0) {
    if (asksForError(name)) return last.reset();
    if (std::string_view(call.function->group) == "compiler") return;
    if (last) add("unseen_error", call.thread.pid, last->text);
    last.reset();
    const auto error = errorOf(call, call.hip_major);
    if (!call.hasReturned() || isFine(error)) return;
    last = {fmt::format("{}: {}", name, *error), isLaunch(call)};
    if (*error != "hipErrorOutOfMemory") return;
    const auto bytes = bytesWanted(call);
    add("no_memory", call.thread.pid,
        bytes ? fmt::format("{} of {} bytes", name, *bytes) : std::string(name));
  }
}

/// Much processor time between two kernels, or after the last, in a process that has a GPU.
void FactFinder::onUsage(const Usage &usage, const HostEvents &facts) {
  const auto process = facts.processes.find(usage.pid);
  if (process == facts.processes.end()) return;
  const auto [last, is_first] =
      usages_.try_emplace(usage.pid, Usage{usage.pid, false, process->second.start_ns, 0});
  const Usage before = std::exchange(last->second, usage);
  if (usage.time_ns <= before.time_ns || usage.cpu_ns <= before.cpu_ns) return;
  const uint64_t cpu = usage.cpu_ns - before.cpu_ns, wall = usage.time_ns - before.time_ns;
  if (cpu < kFallbackCpu || static_cast<double>(cpu) < kFallbackShare * static_cast<double>(wall))
    return;
  waiting_.push_back({usage.pid, before.time_ns, usage.time_ns, cpu});
}

void FactFinder::addBusy(const Operation &operation) {
  auto &all = busy_[operation.pid];
  if (!all.empty() && operation.start_ns >= all.back().first &&
      operation.start_ns <= all.back().second + kShortestPause)
    all.back().second = std::max(all.back().second, operation.end_ns);
  else
    all.emplace_back(operation.start_ns, operation.end_ns);
}

/// With a GPU that is busy all the time the host may compute as well.
void FactFinder::judgeUsage(uint64_t until) {
  std::erase_if(waiting_, [&](const CpuTime &one) {
    if (one.end_ns > until) return false;
    const uint64_t margin = (one.end_ns - one.begin_ns) / 10;
    if (std::ranges::none_of(busy_[one.pid], [&](const auto &time) {
          return time.first < one.end_ns - margin && time.second > one.begin_ns + margin;
        }))
      without_gpu_.push_back(one);
    return true;
  });
  for (auto &[pid, all] : busy_) {
    const auto last = usages_.find(pid);
    uint64_t needed = last == usages_.end() ? 0 : last->second.time_ns;
    for (const CpuTime &one : waiting_)
      if (one.pid == pid) needed = std::min(needed, one.begin_ns);
    std::erase_if(all, [&](const auto &time) { return time.second < needed; });
  }
}

/// Launches of single kernels that no operation belongs to.
void FactFinder::onSlice(const HostEvents &slice, uint64_t until) {
  for (const Operation &operation : slice.operations) {
    addBusy(operation);
    if (viewOf(slice, operation).purpose == Purpose::kernel) with_kernels_.insert(operation.pid);
  }
  seeCauses(slice, without_call_, with_causes_);
  judgeUsage(until);
  const std::vector<bool> with_effect = callsWithEffect(slice);
  for (std::size_t i = 0; i < slice.calls.size(); ++i) {
    const Call &call = slice.calls[i];
    if (with_effect[i] || call.isNameOnly() || !isLaunch(call) || !call.hasReturned() ||
        std::string_view(call.function->group) == "graph" ||
        captures_.isCapturing(call.thread.pid, call.start_ns) || errorText(call) != "hipSuccess" ||
        !isRecorded(slice, call))
      continue;
    ++without_effect_[{call.thread.pid, call.function}];
  }
}

std::vector<FoundFact> FactFinder::finish(const HostEvents &last) {
  for (const Finding &finding : last.findings)
    add(finding.kind == events::FindingKind::corrected ? "corrected" : "property", finding.pid,
        std::string(finding.text));
  for (const auto &[launch, count] : without_effect_)
    if (!without_call_.contains(launch.first) || with_causes_.contains(launch.first))
      add("no_effect", launch.first, launch.second->name, count);
  for (const auto &[thread, unseen] : unseen_)
    if (unseen && unseen->is_launch) add("unseen_error", thread.first, unseen->text);
  StackNames names(last);
  for (const Caller &caller : last.callers) {
    const auto count = calls_.find({caller.pid, caller.function, caller.address});
    if (count == calls_.end()) continue;
    if (const std::string way = redirectOf(names, caller); !way.empty())
      add("redirect", caller.pid, way, count->second);
  }
  const auto uses_hip = [&](uint32_t pid) {
    const auto process = last.processes.find(pid);
    return process != last.processes.end() && !process->second.hip_library.empty();
  };
  for (const CpuTime &one : without_gpu_)
    if (uses_hip(one.pid))
      add("fallback", one.pid,
          fmt::format("{:.1f} s of processor time in {:.1f} s without work for the GPU{}",
                      static_cast<double>(one.cpu_ns) / 1e9,
                      static_cast<double>(one.end_ns - one.begin_ns) / 1e9,
                      with_kernels_.contains(one.pid) ? "" : ", and no kernel at all"));
  for (const auto &[pid, process] : last.processes)
    if (uses_hip(pid))
      for (const std::string &line : layersBySymbols(process)) add("cuda_layer", pid, line);
  std::vector<FoundFact> all;
  for (auto &[key, fact] : facts_) all.push_back(std::move(fact));
  facts_.clear();
  return all;
}

std::vector<FoundFact> findFacts(const HostEvents &events) {
  FactFinder finder;
  for (const Call &call : events.calls) finder.onReturn(call);
  for (const Usage &usage : events.usages) finder.onUsage(usage, events);
  finder.onSlice(events, UINT64_MAX);
  return finder.finish(events);
}

std::set<std::size_t> HostCopies::in(const HostEvents &slice) {
  std::set<std::size_t> copies;
  const std::vector<bool> with_effect = callsWithEffect(slice);
  seeCauses(slice, without_call_, with_causes_);
  for (std::size_t i = 0; i < slice.calls.size(); ++i) {
    const Call &call = slice.calls[i];
    if (call.isNameOnly()) continue;
    captures_.see(call);
    const uint32_t pid = call.thread.pid;
    if (!call.hasReturned() || call.result != 0 || with_effect[i] ||
        captures_.isCapturing(pid, call.start_ns) ||
        (without_call_.contains(pid) && !with_causes_.contains(pid)))
      continue;
    if (const auto copy = copyOf(call); copy && copy->bytes.value_or(0) != 0) copies.insert(i);
  }
  return copies;
}

} // namespace fade::host_trace
