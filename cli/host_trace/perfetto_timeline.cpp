#include "host_trace/perfetto_timeline.h"

#include "analysis/host_events/api_text.h"
#include "analysis/host_events/operation_view.h"
#include "analysis/host_events/thread_times.h"
#include "host_trace/event_slices.h"
#include "host_trace/line_file.h"
#include "host_trace/run_clocks.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace fade::host_trace {
namespace {

/// What the page calls processes: beyond every real one.
constexpr uint32_t kGpuPid = 1'000'000'000;
constexpr uint32_t kCopies = 1'000; ///< the first track of copies; queues have their numbers

/// How a process is told from the others of its timeline.
struct Place {
  uint32_t member = 0; ///< counts from 1; 0: it is alone, and has its own numbers
  std::string name;    ///< "rank 3"
  uint64_t origin_ns = 0;

  static constexpr uint32_t kNumbers = 1'000; ///< of each: the process, then its GPUs
  uint32_t pidOf(uint32_t pid) const {
    return member == 0 || pid == 0 ? pid
           : pid >= kGpuPid        ? member * kNumbers + 1 + (pid - kGpuPid)
                                   : member * kNumbers;
  }
  uint64_t idOf(uint64_t position) const { return position + (uint64_t{member} << 36); }
  std::string title(std::string text) const {
    return name.empty() ? text : fmt::format("{}: {}", name, text);
  }
};

class Timeline {
public:
  Timeline(LineFile &file, const OperationFacts &facts, const Place &place = {})
      : file_(file), facts_(facts), place_(place), is_first_(place.member <= 1) {}

  static void begin(LineFile &file) { file.put("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"); }
  static void end(LineFile &file, std::string_view about, std::string_view clocks) {
    file.put("\n]");
    JsonWriter others;
    others.object([&] {
      if (!about.empty()) others.field("times", about);
      if (!clocks.empty()) others.field("clocks", clocks);
    });
    std::string text = others.take();
    text.pop_back(); // the end of the line
    if (text != "{}") file.put(",\"otherData\":" + text);
    file.put("}\n");
  }

  /// All events, or a slice; no operation that is still to come began before `until`.
  void write(const HostEvents &events, uint64_t until) {
    events_ = &events;
    call_starts_.clear();
    writeCalls();
    for (std::size_t i = 0; i < events.operations.size(); ++i)
      if (events.operations[i].has_times) writeOperation(i);
    writeEventWaits();
    addChanges();
    writeCounters(until);
    for (const Call &call : events.calls) threads_.emplace(call.thread.pid, call.thread.tid);
    for (const auto &[pid, process] : events.processes) programs_[pid] = process.program;
    has_modeled_times_ = has_modeled_times_ || events.has_modeled_times;
    is_in_software_ = is_in_software_ || events.isInSoftware();
    if (const std::string_view about = events.aboutTimes(); !about.empty()) about_ = about;
    first_call_ += events.calls.size();
    events_ = nullptr;
  }
  /// After the last.
  void finish() { nameProcesses(); }
  std::string_view about() const { return about_; }

private:
  template <typename F> void event(F &&members) {
    if (!is_first_) file_.put(",");
    is_first_ = false;
    file_.json.object(members);
    file_.lineEnded();
  }

  void place(const char *phase, uint32_t pid, uint32_t tid, uint64_t time_ns) {
    file_.json.field("ph", phase);
    file_.json.field("pid", place_.pidOf(pid));
    file_.json.field("tid", tid);
    file_.json.field("ts",
                     static_cast<double>(static_cast<int64_t>(time_ns - place_.origin_ns)) / 1000);
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
    const std::vector<Range> ranges = rangesOf(*events_);
    std::vector<Interval> intervals;
    for (const Call &call : events_->calls)
      intervals.push_back({call.thread, call.start_ns,
                           call.end_ns != 0 ? call.end_ns : endOf(*events_, call.thread.pid) + 1,
                           call.position});
    for (const Range &range : ranges)
      intervals.push_back({range.thread, range.start_ns, range.end_ns, range.position});
    makeNested(intervals);
    for (std::size_t i = 0; i < events_->calls.size(); ++i) {
      const Call &call = events_->calls[i];
      const Interval &at = intervals[i];
      call_starts_.push_back(at.start_ns);
      slice("call", call.function->name, call.thread.pid, call.thread.tid, at.start_ns, at.end_ns,
            [&] {
              const unsigned major = events_->hipMajor(call.thread.pid);
              file_.json.field("id", first_call_ + i + 1);
              if (call.isNameOnly()) return;
              writeArguments(file_.json, call, major);
              writeResult(file_.json, call, major);
            });
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const Interval &at = intervals[events_->calls.size() + i];
      slice("marker", ranges[i].text, at.thread.pid, at.thread.tid, at.start_ns, at.end_ns, [&] {
        if (ranges[i].is_named) file_.json.field("args", ranges[i].arguments);
      });
    }
  }

  void writeOperation(std::size_t index) {
    const Operation &operation = events_->operations[index];
    const OperationView view = viewOf(*events_, operation);
    const events::OperationEvent &event_ = operation.event;
    const bool is_engine = view.kernel.empty();
    const uint32_t pid = kGpuPid + event_.gpu;
    const std::pair key(pid, is_engine ? kCopies : event_.queue);
    const uint32_t row = tracks_[key].place(operation.start_ns, operation.end_ns);
    const uint32_t tid = key.second * 100 + row;
    slice(view.purpose == Purpose::kernel ? "kernel" : "copy", nameOfOperation(view), pid, tid,
          operation.start_ns, operation.end_ns, [&] {
            if (view.call) {
              file_.json.field("call", first_call_ + *view.call + 1);
              if (const auto stream = streamOf(events_->calls[*view.call]))
                file_.json.field("stream",
                                 *stream == 0 ? "default" : fmt::format("{:#x}", *stream));
            }
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

  /// One end of an arrow between two slices that begin there.
  void arrowEnd(const char *phase, const char *what, uint64_t id, Thread at, uint64_t time) {
    event([&] {
      file_.json.field("cat", what);
      file_.json.field("name", what);
      file_.json.field("id", place_.idOf(id));
      place(phase, at.pid, at.tid, time);
      if (*phase == 'f') file_.json.field("bp", "e");
    });
  }

  void writeArrow(std::size_t call, const Operation &operation, uint32_t pid, uint32_t tid) {
    arrowEnd("s", "cause", operation.position, events_->calls[call].thread, call_starts_[call]);
    arrowEnd("f", "cause", operation.position, {pid, tid}, operation.start_ns);
  }

  /// From where an event was recorded to where a stream or the host waits for it.
  void writeEventWaits() {
    for (std::size_t i = 0; i < events_->calls.size(); ++i) {
      const Call &call = events_->calls[i];
      const std::string_view function = call.function->name;
      const auto of = argument(call, "event");
      if (!of || call.isNameOnly()) continue;
      if (function.starts_with("hipEventRecord"))
        recorded_[{call.thread.pid, *of}] = {call.thread, call_starts_[i]};
      if (function != "hipStreamWaitEvent" && function != "hipEventSynchronize") continue;
      const auto at = recorded_.find({call.thread.pid, *of});
      if (at == recorded_.end()) continue;
      arrowEnd("s", "event", call.position, at->second.first, at->second.second);
      arrowEnd("f", "event", call.position, call.thread, call_starts_[i]);
    }
  }

  void addChanges() {
    for (const Operation &operation : events_->operations) {
      if (!operation.has_times) continue;
      const bool is_kernel = viewOf(*events_, operation).purpose == Purpose::kernel;
      Changes &of_gpu = changes_[{operation.event.gpu, is_kernel}];
      of_gpu.list.emplace_back(operation.start_ns, 1);
      of_gpu.list.emplace_back(operation.end_ns, -1);
    }
  }

  /// Kernels and copies that each GPU has under way, as tracks of their own.
  void writeCounters(uint64_t until) {
    for (auto &[key, changes] : changes_) {
      auto &list = changes.list;
      std::ranges::sort(list); // what ends at a moment does so before others begin
      const char *name = key.second ? "kernels running" : "copies running";
      int64_t &count = changes.count;
      std::size_t i = 0;
      for (; i < list.size() && list[i].first < until; ++i) {
        count += list[i].second;
        if (i + 1 < list.size() && list[i + 1].first == list[i].first) continue;
        event([&] {
          file_.json.field("name", name);
          place("C", kGpuPid + key.first, 0, list[i].first);
          file_.json.object("args", [&] { file_.json.field("count", count); });
        });
      }
      list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  static std::optional<uint64_t> streamOf(const Call &call) {
    for (const char *name : {"stream", "hStream"})
      if (const auto stream = argument(call, name)) return stream;
    return std::nullopt;
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
      file_.json.field("pid", place_.pidOf(pid));
      if (tid) file_.json.field("tid", *tid);
      file_.json.object("args", [&] { file_.json.field("name", text); });
    });
  }

  void nameProcesses() {
    for (const auto &[pid, program] : programs_)
      if (!program.empty()) name("process_name", pid, std::nullopt, place_.title(program));
    for (const auto &[pid, tid] : threads_)
      name("thread_name", pid, tid, tid == pid ? "main thread" : fmt::format("thread {}", tid));
    uint32_t last = 0;
    for (const auto &[key, tracks] : tracks_) {
      const auto &[pid, queue] = key;
      if (pid != last)
        name("process_name", pid, std::nullopt,
             place_.title(fmt::format("GPU {}{}", pid - kGpuPid,
                                      has_modeled_times_ ? " (modeled times)"
                                      : is_in_software_  ? " (software GPU, times of this machine)"
                                                         : "")));
      last = pid;
      for (uint32_t row = 0; row < tracks.size(); ++row)
        name("thread_name", pid, queue * 100 + row,
             queue == kCopies ? "copies" : fmt::format("queue {}", queue));
    }
  }

  /// Of one GPU: when operations began (+1) and ended (-1), as far as it is not written.
  struct Changes {
    std::vector<std::pair<uint64_t, int>> list;
    int64_t count = 0;
  };

  const HostEvents *events_ = nullptr; ///< what is being written
  LineFile &file_;
  const OperationFacts &facts_;
  const Place place_;
  bool is_first_ = true, has_modeled_times_ = false, is_in_software_ = false;
  std::string_view about_;
  std::size_t first_call_ = 0; ///< calls of earlier slices
  std::vector<uint64_t> call_starts_;
  std::set<std::pair<uint32_t, uint32_t>> threads_;
  std::map<uint32_t, std::string> programs_;
  std::map<std::pair<uint32_t, bool>, Changes> changes_; ///< by GPU, and whether it is kernels
  /// By process and event: where it was recorded.
  std::map<std::pair<uint32_t, uint64_t>, std::pair<Thread, uint64_t>> recorded_;
  std::map<std::pair<uint32_t, uint32_t>, Tracks> tracks_; ///< by GPU and queue
};

} // namespace

Status writeTimeline(const HostEvents &events, const std::string &path) {
  return writeTimeline(events, path, {});
}

Status writeTimeline(const HostEvents &events, const std::string &path,
                     const OperationFacts &facts) {
  LineFile file(path);
  Timeline::begin(file);
  Timeline timeline(file, facts);
  timeline.write(events, UINT64_MAX);
  timeline.finish();
  Timeline::end(file, timeline.about(), "");
  return file.close();
}

Status writeTimeline(const EventSource &events, const std::string &path) {
  LineFile file(path);
  Timeline::begin(file);
  const OperationFacts none;
  Timeline timeline(file, none);
  Status status = events.forEach(
      [&](const HostEvents &slice, uint64_t until) { timeline.write(slice, until); });
  timeline.finish();
  Timeline::end(file, timeline.about(), "");
  Status written = file.close();
  return status ? std::move(written) : std::move(status);
}

Status writeRunTimeline(const Run &run, const std::string &path) {
  const CommonClock clock = commonClock(run);
  uint64_t origin = UINT64_MAX;
  for (std::size_t i = 0; i < run.members.size(); ++i)
    if (const uint64_t start = run.members[i].summary.start_ns; start != 0)
      origin = std::min(origin, start + static_cast<uint64_t>(clock.offsets_ns[i]));
  LineFile file(path);
  Timeline::begin(file);
  uint32_t member = 0;
  std::string about;
  const OperationFacts none;
  for (std::size_t i = 0; i < run.members.size(); ++i) {
    const Place place{++member, run.members[i].summary.process.name(), origin};
    Timeline timeline(file, none, place);
    const EventSource events(run.members[i].events(), clock.offsets_ns[i]);
    if (Status status = events.forEach(
            [&](const HostEvents &slice, uint64_t until) { timeline.write(slice, until); });
        !status)
      return status;
    timeline.finish();
    if (!timeline.about().empty()) about = timeline.about();
  }
  Timeline::end(file, about, clock.text);
  return file.close();
}

} // namespace fade::host_trace
