// Whether what HIP says is true: what was noticed while it was recorded, and what follows from all
// calls and operations together.
#pragma once

#include "analysis/host_events/event_reader.h"
#include "analysis/host_events/stack_names.h"

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace fade::host_trace {

struct FoundFact {
  /// property, corrected: a device's properties; no_effect: launches that returned success and
  /// reached no queue; unseen_error: errors that nobody asked about; no_memory: allocations that
  /// failed; fallback: work without the GPU that was found; redirect: calls through a CUDA layer;
  /// cuda_layer: who is linked with one.
  std::string kind;
  std::string text;
  uint64_t count = 1;
  uint32_t pid = 0;
};

std::vector<FoundFact> findFacts(const HostEvents &events);

/// When processes were capturing streams: what is captured is done later, or never.
class CaptureTimes {
public:
  void see(const Call &call); ///< in order of time
  bool isCapturing(uint32_t pid, uint64_t time_ns) const;

private:
  static constexpr std::size_t kMostTimes = 1024;
  struct OfProcess {
    std::set<uint64_t> streams;                      ///< being captured
    std::deque<std::pair<uint64_t, uint64_t>> times; ///< the latest
  };
  std::map<uint32_t, OfProcess> processes_;
};

/// The same of a file that is read in slices (event_slices.h). Memory depends on the number of
/// threads and of places that call, not on the number of calls.
class FactFinder {
public:
  /// In the order of each thread.
  void onReturn(const Call &call);
  void onUsage(const Usage &usage, const HostEvents &facts);
  /// No operation of a later slice began before `until`.
  void onSlice(const HostEvents &slice, uint64_t until);
  /// `last`: with all processes, findings and places that call.
  std::vector<FoundFact> finish(const HostEvents &last);

private:
  struct Unseen { ///< an error that nobody has asked about yet
    std::string text;
    bool is_launch = false;
  };
  struct CpuTime { ///< much of it
    uint32_t pid = 0;
    uint64_t begin_ns = 0, end_ns = 0, cpu_ns = 0;
  };
  using Place = std::tuple<uint32_t, const hip::FunctionInfo *, uint64_t>;

  void add(const std::string &kind, uint32_t pid, const std::string &text, uint64_t count = 1);
  void addBusy(const Operation &operation);
  void judgeUsage(uint64_t until);

  std::map<std::tuple<std::string, uint32_t, std::string>, FoundFact> facts_;
  std::map<Place, uint64_t> calls_; ///< by process, function and the address it returns to
  CaptureTimes captures_;
  std::map<std::pair<uint32_t, uint32_t>, std::optional<Unseen>> unseen_; ///< by thread
  std::map<uint32_t, Usage> usages_;                                      ///< the last of each
  std::vector<CpuTime> waiting_; ///< until all operations of that time are known
  std::vector<CpuTime> without_gpu_;
  std::map<uint32_t, std::vector<std::pair<uint64_t, uint64_t>>> busy_; ///< since the last usage
  std::set<uint32_t> with_kernels_, without_call_, with_causes_;
  std::map<std::pair<uint32_t, const hip::FunctionInfo *>, uint64_t> without_effect_;
};

/// Finds copies and fills that returned success and became no operation: HIP has done them with the
/// host's processor.
class HostCopies {
public:
  /// Their indexes in a slice, which comes behind those that were seen before.
  std::set<std::size_t> in(const HostEvents &slice);

private:
  CaptureTimes captures_;
  std::set<uint32_t> without_call_, with_causes_; ///< processes
};

} // namespace fade::host_trace
