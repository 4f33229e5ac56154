#include "trace/timeline.h"

#include "trace/api_text.h"
#include "trace/line_file.h"
#include "trace/operation_view.h"
#include "trace/thread_times.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace fade::host_trace {
namespace {

/// What the page calls processes: beyond every real one.
constexpr uint32_t kGpuPid = 1'000'000'000;
constexpr uint32_t kCopies = 1'000; ///< the first track of copies; queues have their numbers

class Timeline {
public:
  Timeline(const HostEvents &events, LineFile &file, const OperationFacts &facts)
      : events_(events), file_(file), facts_(facts) {}

  void write() {
    file_.put("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    writeCalls();
    for (std::size_t i = 0; i < events_.operations.size(); ++i)
      if (events_.operations[i].has_times) writeOperation(i);
    nameProcesses();
    file_.put("\n]}\n");
  }

private:
  template <typename F> void event(F &&members) {
    if (!is_first_) file_.put(",");
    is_first_ = false;
    file_.json.object(members);
    file_.lineEnded();
  }

  void place(const char *phase, uint32_t pid, uint32_t tid, uint64_t time_ns) {
    file_.json.field("ph", phase);
    file_.json.field("pid", pid);
    file_.json.field("tid", tid);
    file_.json.field("ts", static_cast<double>(time_ns) / 1000);
  }

  template <typename F>
  void slice(std::string_view category, std::string_view name, uint32_t pid, uint32_t tid,
             uint64_t start, uint64_t end, F &&arguments) {
    event([&] {
      file_.json.field("cat", category);
      file_.json.field("name", name);
      place("X", pid, tid, start);
      file_.json.field("dur", static_cast<double>(end - start) / 1000);
      file_.json.object("args", arguments);
    });
  }

  void writeCalls() {
    const std::vector<Range> ranges = rangesOf(events_);
    std::vector<Interval> intervals;
    for (const Call &call : events_.calls)
      intervals.push_back({call.thread, call.start_ns,
                           call.end_ns != 0 ? call.end_ns : endOf(events_, call.thread.pid) + 1,
                           call.position});
    for (const Range &range : ranges)
      intervals.push_back({range.thread, range.start_ns, range.end_ns, range.position});
    makeNested(intervals);
    for (std::size_t i = 0; i < events_.calls.size(); ++i) {
      const Call &call = events_.calls[i];
      const Interval &at = intervals[i];
      call_starts_.push_back(at.start_ns);
      slice("call", call.function->name, call.thread.pid, call.thread.tid, at.start_ns, at.end_ns,
            [&] {
              const unsigned major = events_.hipMajor(call.thread.pid);
              file_.json.field("id", i + 1);
              if (call.isNameOnly()) return;
              writeArguments(file_.json, call, major);
              writeResult(file_.json, call, major);
            });
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const Interval &at = intervals[events_.calls.size() + i];
      slice("marker", ranges[i].text, at.thread.pid, at.thread.tid, at.start_ns, at.end_ns, [] {});
    }
  }

  void writeOperation(std::size_t index) {
    const Operation &operation = events_.operations[index];
    const OperationView view = viewOf(events_, operation);
    const events::OperationEvent &event_ = operation.event;
    const bool is_engine = view.kernel.empty();
    const uint32_t pid = kGpuPid + event_.gpu;
    const std::pair key(pid, is_engine ? kCopies : event_.queue);
    const uint32_t row = tracks_[key].place(operation.start_ns, operation.end_ns);
    const uint32_t tid = key.second * 100 + row;
    slice(view.purpose == Purpose::kernel ? "kernel" : "copy", nameOfOperation(view), pid, tid,
          operation.start_ns, operation.end_ns, [&] {
            if (view.call) file_.json.field("call", *view.call + 1);
            if (view.bytes) file_.json.field("bytes", *view.bytes);
            if (operation.isKernel()) {
              file_.json.field("grid", sizes(event_.grid));
              file_.json.field("workgroup", sizes(event_.workgroup));
              file_.json.field("lds", event_.lds_bytes);
            }
            if (facts_) facts_(file_.json, index);
          });
    if (view.call) writeArrow(*view.call, operation, pid, tid);
  }

  void writeArrow(std::size_t call, const Operation &operation, uint32_t pid, uint32_t tid) {
    const auto end = [&](const char *phase, uint32_t to_pid, uint32_t to_tid, uint64_t time) {
      event([&] {
        file_.json.field("cat", "cause");
        file_.json.field("name", "cause");
        file_.json.field("id", operation.position);
        place(phase, to_pid, to_tid, time);
        if (*phase == 'f') file_.json.field("bp", "e");
      });
    };
    const Thread &thread = events_.calls[call].thread;
    end("s", thread.pid, thread.tid, call_starts_[call]);
    end("f", pid, tid, operation.start_ns);
  }

  static std::string sizes(const uint32_t (&values)[3]) {
    return fmt::format("{} x {} x {}", values[0], values[1], values[2]);
  }

  static std::string nameOfOperation(const OperationView &view) {
    if (view.purpose == Purpose::kernel) return std::string(view.kernel);
    if (view.purpose == Purpose::fill) return "fill";
    std::string name = "copy";
    if (view.direction != events::Direction::none) {
      name += ' ';
      name += nameOf(view.direction);
      std::ranges::replace(name, '_', ' ');
    }
    return name;
  }

  void name(const char *kind, uint32_t pid, std::optional<uint32_t> tid, const std::string &text) {
    event([&] {
      file_.json.field("ph", "M");
      file_.json.field("name", kind);
      file_.json.field("pid", pid);
      if (tid) file_.json.field("tid", *tid);
      file_.json.object("args", [&] { file_.json.field("name", text); });
    });
  }

  void nameProcesses() {
    for (const auto &[pid, process] : events_.processes)
      if (!process.program.empty()) name("process_name", pid, std::nullopt, process.program);
    uint32_t last = 0;
    for (const auto &[key, tracks] : tracks_) {
      const auto &[pid, queue] = key;
      if (pid != last)
        name("process_name", pid, std::nullopt, fmt::format("GPU {}", pid - kGpuPid));
      last = pid;
      for (uint32_t row = 0; row < tracks.size(); ++row)
        name("thread_name", pid, queue * 100 + row,
             queue == kCopies ? "copies" : fmt::format("queue {}", queue));
    }
  }

  const HostEvents &events_;
  LineFile &file_;
  const OperationFacts &facts_;
  bool is_first_ = true;
  std::vector<uint64_t> call_starts_;
  std::map<std::pair<uint32_t, uint32_t>, Tracks> tracks_; ///< by GPU and queue
};

} // namespace

Status writeTimeline(const HostEvents &events, const std::string &path) {
  return writeTimeline(events, path, {});
}

Status writeTimeline(const HostEvents &events, const std::string &path,
                     const OperationFacts &facts) {
  LineFile file(path);
  Timeline(events, file, facts).write();
  return file.close();
}

} // namespace fade::host_trace
