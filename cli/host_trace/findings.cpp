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
std::set<std::size_t> callsWithEffect(const HostEvents &events) {
  std::set<std::size_t> with_effect;
  for (const Operation &operation : events.operations)
    for (auto at = events.callAt(operation.event.call); at && with_effect.insert(*at).second;)
      at = events.callAt(events.calls[*at].parent);
  return with_effect;
}

/// Which streams are being captured, as calls go by: what is captured is done later, or never.
class Captures {
public:
  /// True if the process captures something after this call.
  bool see(const Call &call) {
    auto &of_process = streams_[call.thread.pid];
    const std::string_view name = call.function->name;
    const uint64_t stream = argument(call, "stream").value_or(0);
    if (name.starts_with("hipStreamBeginCapture")) of_process.insert(stream);
    if (name.starts_with("hipStreamEndCapture")) of_process.erase(stream);
    return !of_process.empty();
  }

private:
  std::map<uint32_t, std::set<uint64_t>> streams_; ///< by process
};

/// Where a thread of HIP's makes the packets, nobody knows what became of a call: then no launch
/// has a kernel. Single kernels without a call are those of the first one, in which FADE is loaded.
std::set<uint32_t> processesWithoutCauses(const HostEvents &events) {
  std::set<uint32_t> unknown;
  for (const Operation &operation : events.operations)
    if (operation.event.call == 0) unknown.insert(operation.pid);
  for (const Operation &operation : events.operations) {
    const auto call = events.callAt(operation.event.call);
    if (operation.isKernel() && call &&
        std::string_view(events.calls[*call].function->group) == "launch")
      unknown.erase(operation.pid);
  }
  return unknown;
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

class Facts {
public:
  explicit Facts(const HostEvents &events) : events_(events), names_(events) {}

  std::vector<FoundFact> find() {
    for (const Finding &finding : events_.findings)
      add(finding.kind == events::FindingKind::corrected ? "corrected" : "property", finding.pid,
          std::string(finding.text));
    findEffects();
    findErrors();
    findFallback();
    findRedirects();
    for (const auto &[pid, process] : events_.processes)
      if (!process.hip_library.empty())
        for (const std::string &line : layersBySymbols(process)) add("cuda_layer", pid, line);
    std::vector<FoundFact> all;
    for (const auto &[key, fact] : facts_) all.push_back(fact);
    return all;
  }

private:
  void add(const std::string &kind, uint32_t pid, const std::string &text, uint64_t count = 1) {
    FoundFact &fact = facts_[{kind, pid, text}];
    if (fact.kind.empty())
      fact = {kind, text, count, pid};
    else
      fact.count += count;
  }

  std::string errorText(const Call &call) const {
    return errorOf(call, events_.hipMajor(call.thread.pid)).value_or("");
  }

  /// Launches of single kernels.
  void findEffects() {
    const std::set<std::size_t> with_effect = callsWithEffect(events_);
    const std::set<uint32_t> unknown = processesWithoutCauses(events_);
    Captures captures;
    for (std::size_t i = 0; i < events_.calls.size(); ++i) {
      const Call &call = events_.calls[i];
      if (call.isNameOnly()) continue;
      const bool is_captured = captures.see(call);
      if (!isLaunch(call) || !call.hasReturned() || is_captured || with_effect.contains(i) ||
          std::string_view(call.function->group) == "graph" || unknown.contains(call.thread.pid) ||
          errorText(call) != "hipSuccess")
        continue;
      if (isRecorded(call)) add("no_effect", call.thread.pid, call.function->name);
    }
  }

  /// Recording may have been switched off before the packet was seen.
  bool isRecorded(const Call &call) const {
    bool is_on = true;
    for (const Switch &change : events_.switches)
      if (change.pid == call.thread.pid && change.time_ns <= call.end_ns) is_on = change.is_on;
    return is_on;
  }

  /// An error is looked at by its name or text, or by asking for the last one; a program that goes
  /// on with another call has only its own return value, which may have been thrown away. Of a
  /// launch by the compiler that is certain.
  void findErrors() {
    std::map<std::pair<uint32_t, uint32_t>, const Call *> open; // by thread
    const auto is_question = [](std::string_view name) {
      return name == "hipGetLastError" || name == "hipPeekAtLastError" ||
             name == "hipGetErrorString" || name == "hipGetErrorName" ||
             name == "hipExtGetLastError" || name == "hipDrvGetErrorName" ||
             name == "hipDrvGetErrorString";
    };
    for (const Call &call : events_.calls) {
      if (call.parent != 0 || call.isNameOnly()) continue;
      const Call *&last = open[{call.thread.pid, call.thread.tid}];
      const std::string_view name = call.function->name;
      if (is_question(name)) {
        last = nullptr;
        continue;
      }
      if (std::string_view(call.function->group) == "compiler") continue;
      if (last) reportUnseen(*last);
      last = nullptr;
      if (!call.hasReturned() || isFine(errorOf(call, events_.hipMajor(call.thread.pid)))) continue;
      last = &call;
      if (errorText(call) == "hipErrorOutOfMemory") {
        const auto bytes = bytesWanted(call);
        add("no_memory", call.thread.pid,
            bytes ? fmt::format("{} of {} bytes", name, *bytes) : std::string(name));
      }
    }
    for (const auto &[thread, last] : open)
      if (last && isLaunch(*last)) reportUnseen(*last);
  }

  void reportUnseen(const Call &call) {
    add("unseen_error", call.thread.pid,
        fmt::format("{}: {}", call.function->name, errorText(call)));
  }

  /// Much processor time between two kernels, or after the last, in a process that has a GPU.
  void findFallback() {
    std::map<uint32_t, std::vector<const Usage *>> usages;
    for (const Usage &usage : events_.usages) usages[usage.pid].push_back(&usage);
    for (const auto &[pid, all] : usages) {
      const auto process = events_.processes.find(pid);
      if (process == events_.processes.end() || process->second.hip_library.empty()) continue;
      bool has_kernels = false;
      for (const Operation &operation : events_.operations)
        has_kernels = has_kernels || (operation.pid == pid &&
                                      viewOf(events_, operation).purpose == Purpose::kernel);
      const Usage zero{pid, false, process->second.start_ns, 0};
      const Usage *before = &zero;
      for (const Usage *usage : all) {
        reportFallback(*before, *usage, has_kernels);
        before = usage;
      }
    }
  }

  void reportFallback(const Usage &before, const Usage &after, bool has_kernels) {
    if (after.time_ns <= before.time_ns || after.cpu_ns <= before.cpu_ns) return;
    const uint64_t cpu = after.cpu_ns - before.cpu_ns, wall = after.time_ns - before.time_ns;
    if (cpu < kFallbackCpu || static_cast<double>(cpu) < kFallbackShare * static_cast<double>(wall))
      return;
    // With a GPU that is busy all the time the host may compute as well.
    for (const Operation &operation : events_.operations)
      if (operation.pid == after.pid && operation.start_ns < after.time_ns - wall / 10 &&
          operation.end_ns > before.time_ns + wall / 10)
        return;
    add("fallback", after.pid,
        fmt::format("{:.1f} s of processor time in {:.1f} s without work for the GPU{}",
                    static_cast<double>(cpu) / 1e9, static_cast<double>(wall) / 1e9,
                    has_kernels ? "" : ", and no kernel at all"));
  }

  /// Who called on behalf of whom: the frame of a CUDA layer that is nearest to the application. A
  /// place that calls tells its stack once; each call says from which place it came.
  void findRedirects() {
    using Place = std::tuple<uint32_t, const hip::FunctionInfo *, uint64_t>;
    std::map<Place, uint64_t> calls;
    for (const Call &call : events_.calls) // but for those that HIP makes itself
      if (call.parent == 0) ++calls[{call.thread.pid, call.function, call.caller}];
    for (const Caller &caller : events_.callers) {
      const auto count = calls.find({caller.pid, caller.function, caller.address});
      if (count == calls.end()) continue;
      if (const std::string way = redirectOf(caller); !way.empty())
        add("redirect", caller.pid, way, count->second);
    }
  }

  /// "app -> libcudart.so cudaMalloc -> hipMalloc"; empty: there is no layer.
  std::string redirectOf(const Caller &caller) {
    const auto frames = names_.framesOf(caller.pid, caller.stack, UINT64_MAX);
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

  const HostEvents &events_;
  StackNames names_;
  std::map<std::tuple<std::string, uint32_t, std::string>, FoundFact> facts_;
};

} // namespace

std::vector<FoundFact> findFacts(const HostEvents &events) { return Facts(events).find(); }

std::set<std::size_t> findHostCopies(const HostEvents &events) {
  std::set<std::size_t> copies;
  const std::set<std::size_t> with_effect = callsWithEffect(events);
  const std::set<uint32_t> unknown = processesWithoutCauses(events);
  Captures captures;
  for (std::size_t i = 0; i < events.calls.size(); ++i) {
    const Call &call = events.calls[i];
    if (call.isNameOnly()) continue;
    const bool is_captured = captures.see(call);
    if (is_captured || !call.hasReturned() || with_effect.contains(i) ||
        unknown.contains(call.thread.pid) || call.result != 0)
      continue;
    if (const auto copy = copyOf(call); copy && copy->bytes.value_or(0) != 0) copies.insert(i);
  }
  return copies;
}

} // namespace fade::host_trace
