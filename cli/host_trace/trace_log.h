// A trace as fadeprobe log looks at it, from whichever file it was kept in: host events, JSON
// lines, an RPD database or AMD's rocpd. All that is shown of a trace is made from this.
#pragma once

#include "analysis/host_events/event_reader.h"
#include "analysis/host_events/operation_view.h"
#include "base/result.h"
#include "host_trace/findings.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace fade::host_trace {

struct LoggedCall {
  std::string_view function;
  std::string_view error;  ///< "hipSuccess"; empty: it has none, or has not returned
  std::string_view kernel; ///< of a launch; empty: not known
  uint32_t pid = 0, tid = 0;
  uint64_t start_ns = 0, end_ns = 0;
  bool has_returned = true, is_name_only = false;
  bool has_operations = false;       ///< its own, or of a call that it made
  std::optional<uint64_t> bytes;     ///< of a copy, fill or allocation, if they are known
  std::optional<std::size_t> parent; ///< index
  uint32_t stack = 0;                ///< index in TraceLog::stacks; 0: not recorded
  // Handles and addresses; 0: none.
  uint64_t stream = 0, graph = 0, graph_exec = 0;
  /// Of copies; `to` is also what is allocated or released, `from` the graph that is cloned.
  uint64_t to = 0, from = 0;
};

struct LoggedOperation {
  std::string_view kernel; ///< that did it; empty: a copy engine, or not known
  Purpose purpose = Purpose::kernel;
  bool knows_engine = true;   ///< whether a copy without a kernel was done by an engine
  std::string_view direction; ///< "host_to_device"; empty: not known
  bool has_ended = true, has_times = true;
  uint32_t pid = 0, gpu = 0, queue = 0;
  uint64_t start_ns = 0, end_ns = 0, bytes = 0;
  std::optional<std::size_t> call; ///< index of the call that asked for it

  uint64_t duration() const { return has_times ? end_ns - start_ns : 0; }
};

/// A marker.
struct LoggedRange {
  std::string_view text;
  uint32_t pid = 0, tid = 0;
  uint64_t start_ns = 0, end_ns = 0;
  bool is_nested = true; ///< within its thread
};

/// Texts that stay where they are, each once.
class Texts {
public:
  std::string_view keep(std::string_view text) {
    const auto at = all_.find(text);
    return at != all_.end() ? *at : *all_.emplace(text).first;
  }

private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_set<std::string, Hash, std::equal_to<>> all_;
};

/// Somebody asked for a library.
struct LoggedRequest {
  uint64_t time_ns = 0;
  uint32_t pid = 0;
  std::string file, who;
  uint32_t tid = 0; ///< 0: not known
};

/// A hardware counter, of all dispatches of a kernel.
struct LoggedCounter {
  uint64_t dispatches = 0;
  double sum = 0, least = 0, largest = 0; ///< of a dispatch the sum of all instances
};

/// Where in a kernel samples of the program counter were taken.
struct SampledPlace {
  std::string kernel, source, instruction;
  std::string stall; ///< why the wave did not issue; empty: it did, or nobody knows
  auto operator<=>(const SampledPlace &) const = default;
};

struct TraceLog {
  TraceLog() = default;
  TraceLog(TraceLog &&) = default;
  TraceLog &operator=(TraceLog &&) = default;

  std::vector<LoggedCall> calls; ///< in order of start
  std::vector<LoggedOperation> operations;
  std::vector<LoggedRange> ranges;
  std::vector<std::string> processes; ///< a line each
  /// Places in the program, the outermost first. Number 0 is empty.
  std::vector<std::vector<std::string_view>> stacks = {{}};
  /// What is between the application and HIP, as far as it is known: libraries that offer CUDA.
  std::vector<std::string> layers;
  bool in_software = false;   ///< times on the GPU are those of the software GPU
  bool has_operations = true; ///< a log of calls alone does not say what became of them
  uint64_t lost = 0, damaged = 0, bad_lines = 0;
  Texts texts; ///< what the views above are of
  std::vector<FoundFact> facts;
  std::vector<LoggedRequest> requests;
  std::map<std::pair<std::string, std::string>, LoggedCounter> counters; ///< by kernel and name
  std::map<SampledPlace, uint64_t> samples;                              ///< how many

  /// Fills `layers` from the facts.
  void findLayers();

  /// Whatever the file is. An error if it is none of those.
  static Result<TraceLog> read(const std::string &path);
  static TraceLog of(const HostEvents &events);
};

/// The same from one of the formats.
Result<TraceLog> readJsonLog(const std::string &path);
Result<TraceLog> readRpdLog(const std::string &path);
Result<TraceLog> readRocpdLog(const std::string &path);
/// Whether a database is AMD's rocpd.
bool isRocpd(const std::string &path);

/// What a call says by itself: neither its kernel nor the call that made it.
LoggedCall loggedCall(const Call &call, Texts &texts);
/// An operation, with the view's texts as they are.
LoggedOperation loggedOperation(const Operation &operation, const OperationView &view);

/// Calls that an operation belongs to, with those that made them.
void markCause(TraceLog &log, std::size_t call);

/// "process 12: /usr/bin/app, /usr/lib/libamdhip64.so.5".
std::string processLine(uint32_t pid, const std::string &program, const std::string &hip);

/// "scale(float*)", "copy host_to_device (engine)", "fill (kernel)".
std::string nameOf(const LoggedOperation &operation);

bool isLaunch(std::string_view function); ///< of a kernel or a graph
bool isAllocation(std::string_view function);
bool isRelease(std::string_view function);

} // namespace fade::host_trace
