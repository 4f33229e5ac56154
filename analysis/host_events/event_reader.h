// A file of host events (fade/host_events.h), read: what processes have recorded, in order of time.
//
// The file may be of a process that was killed, or that still runs. Everything in it is checked
// before it is used; what makes no sense is left out and counted.
#pragma once

#include "analysis/host_events/position_index.h"
#include "base/result.h"
#include "fade/hip_api.h"
#include "fade/host_events.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fade::host_trace {

struct Thread {
  uint32_t pid = 0, tid = 0;
};

struct Call {
  uint64_t position = 0; ///< in the file; what other events call it
  const hip::FunctionInfo *function = nullptr;
  Thread thread;
  uint16_t flags = 0;
  uint16_t hip_major = 0; ///< 5, 6 or 7; 0: not known
  uint64_t parent = 0;    ///< a position, or 0
  uint64_t caller = 0;    ///< the address that it returns to; 0: not known
  uint64_t start_ns = 0, end_ns = 0, result = 0;
  /// The arguments and what follows them; empty if only the name is known.
  std::span<const uint64_t> words;
  uint64_t stack = 0; ///< from where it was made: see HostEvents::stacks; 0: nobody knows

  bool hasReturned() const { return (flags & events::kCallReturned) != 0; }
  bool isNameOnly() const { return (flags & events::kCallNameOnly) != 0; }
};

struct Operation {
  events::OperationEvent event{};
  uint32_t pid = 0;
  uint64_t position = 0;
  bool has_ended = false, has_failed = false, has_times = false;
  uint64_t start_ns = 0, end_ns = 0; ///< on the GPU; without times, when it was given to it

  bool isKernel() const { return event.kind == events::OperationKind::kernel; }
  bool isInSoftware() const { return (event.flags & events::kOperationSoftware) != 0; }
};

struct Marker {
  events::MarkerKind kind{};
  Thread thread;
  uint64_t time_ns = 0, range = 0;
  std::string_view text;
  uint64_t position = 0;
  /// Where RPD's functions were given more than a text, which is the name then.
  bool is_named = false;
  std::string_view domain, arguments;
};

/// A library, for as long as it was loaded.
struct Library {
  std::string_view path;
  uint64_t bias = 0, begin = 0, end = 0;
  uint64_t loaded_ns = 0, unloaded_ns = UINT64_MAX; ///< when it was noticed
};

struct Process {
  uint32_t parent_pid = 0;
  uint64_t start_ns = 0;
  std::string program, hip_library;
  unsigned hip_major = 0; ///< 0: not known
  std::unordered_map<uint64_t, std::string_view> texts;
  std::unordered_map<uint64_t, uint64_t> functions; ///< by address of a launch: the kernel's name
  std::unordered_map<uint64_t, events::KernelEvent> kernels; ///< by the id of the name
  std::vector<Library> libraries;                            ///< in order of loading
};

/// Somebody asked for a library.
struct LibraryRequest {
  Thread thread;
  uint64_t time_ns = 0;
  std::string_view file, who;
};

/// A place that calls a function of HIP.
struct Caller {
  uint32_t pid = 0;
  const hip::FunctionInfo *function = nullptr;
  uint64_t address = 0, stack = 0;
};

/// What was noticed while it was recorded.
struct Finding {
  events::FindingKind kind{};
  uint32_t pid = 0;
  uint64_t call = 0, time_ns = 0; ///< a position, or 0
  std::string_view text;
};

/// The time that a process had had from its processors by then.
struct Usage {
  uint32_t pid = 0;
  bool is_last = false;
  uint64_t time_ns = 0, cpu_ns = 0;
};

/// Recording was switched on or off.
struct Switch {
  uint32_t pid = 0;
  bool is_on = false;
  uint64_t time_ns = 0;
};

class HostEvents {
public:
  static Result<HostEvents> read(const std::string &path);

  // In order of start or time; the times of a thread never go back.
  std::vector<Call> calls;
  std::vector<Operation> operations;
  std::vector<Marker> markers;
  std::vector<Switch> switches;
  std::vector<LibraryRequest> requests;
  std::vector<Caller> callers; ///< in no order
  std::vector<Finding> findings;
  std::vector<Usage> usages;
  std::unordered_map<uint64_t, std::span<const uint64_t>> stacks; ///< by id: see events::StackEvent
  std::map<uint32_t, Process> processes;                          ///< by pid
  uint64_t lost = 0;    ///< events that could not be recorded
  uint64_t damaged = 0; ///< places that make no sense: the rest of their block was left out
  int64_t monotonic_ns = 0, realtime_ns = 0;
  /// Of a slice (host_trace/event_slices.h), by process: the last event so far, also of earlier
  /// ones.
  std::map<uint32_t, uint64_t> ended_ns;

  /// Processes and what is known of the file.
  HostEvents withoutEvents() const;
  /// After calls were added, in order: for callAt().
  void index();
  /// The index in `calls` of a position, or nothing.
  std::optional<std::size_t> callAt(uint64_t position) const;
  /// Of a name in an operation; empty if it is not known.
  std::string_view textOf(uint32_t pid, uint64_t id) const;
  /// Of the kernel whose name that is, as 16 hexadecimal digits; empty if it is not known.
  std::string moduleOf(uint32_t pid, uint64_t name) const;
  /// The symbol of the kernel that a launch names by this address; empty if it is not known.
  std::string_view functionAt(uint32_t pid, uint64_t address) const;

  /// Whether the software GPU did it, or a part of it: times on the GPU say nothing about a card.
  bool isInSoftware() const;
  /// What is to be said wherever times are shown; empty: they are a card's.
  std::string_view aboutTimes() const;
  bool has_modeled_times = false; ///< kernels have times of a model, and all others follow

  /// Of the process; 0: not known.
  unsigned hipMajor(uint32_t pid) const;

private:
  class Reader;
  std::shared_ptr<const char> bytes_; ///< the file: texts and words are there
  PositionIndex by_position_;
};

/// What all that shows times of the software GPU says of them.
inline constexpr std::string_view kSoftwareTimes =
    "software GPU: times on the GPU are those of the emulation on this machine, not of a card";
inline constexpr std::string_view kModeledTimes =
    "kernel times are those of a model of the card; everything else took as long on this machine";

inline constexpr std::string_view kModeledRunTimes =
    "times of kernels, copies and HIP calls are those of a model of the card; the program itself "
    "took as long on this machine";

/// 5, 6 or 7 of ".../libamdhip64.so.5.2.21153"; 0 if the name does not say it.
unsigned hipMajorOf(const std::string &library);

} // namespace fade::host_trace
