#include "host_trace/perfetto_timeline.h"

#include "analysis/host_events/api_text.h"
#include "analysis/host_events/operation_view.h"
#include "analysis/host_events/thread_times.h"
#include "host_trace/event_slices.h"
#include "host_trace/line_file.h"
#include "host_trace/perfetto_packets.h"
#include "host_trace/run_clocks.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace fade::host_trace {
namespace {

/// What the page calls processes: beyond every real one.
constexpr uint32_t kGpuPid = 1'000'000'000;
constexpr uint32_t kCopies = 1'000; ///< the first track of copies; queues have their numbers

/// How a process is told from the others of its timeline.
struct Place {
  uint32_t member = 0; ///< counts from 1; 0: it is alone, and has its own numbers
  std::string name;    ///< "rank 3"

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

/// The format of Chrome's tracing page, which Perfetto reads as well.
class JsonTimeline final : public TimelineSink {
public:
  /// `origin_ns`: what times are counted from.
  JsonTimeline(const std::string &path, uint64_t origin_ns) : file_(path), origin_ns_(origin_ns) {
    file_.put("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  }

  Status close(std::string_view about, std::string_view clocks) {
    file_.put(endOf(about, clocks));
    return file_.close();
  }
  /// Before the end.
  void flush(std::string_view about) override { file_.flush(endOf(about, "")); }

  static std::string endOf(std::string_view about, std::string_view clocks) {
    JsonWriter others;
    others.object([&] {
      if (!about.empty()) others.field("times", about);
      if (!clocks.empty()) others.field("clocks", clocks);
    });
    std::string text = others.take();
    text.pop_back(); // the end of the line
    return fmt::format("\n]{}}}\n", text == "{}" ? "" : ",\"otherData\":" + text);
  }

  void announceProcess(uint32_t, std::string_view) override {}
  void announceTrack(uint32_t, uint32_t, std::string_view, bool) override {}

  void slice(const TimelineSlice &slice, const Members &arguments) override {
    event([&] {
      file_.json.field("cat", slice.category);
      file_.json.field("name", slice.name);
      place("X", slice.pid, slice.tid, slice.start_ns);
      file_.json.field("dur", static_cast<double>(slice.end_ns - slice.start_ns) / 1000);
      file_.json.object("args", [&] { arguments(file_.json); });
    });
  }

  void arrowEnd(char phase, const char *what, uint64_t id, uint32_t pid, uint32_t tid,
                uint64_t time_ns) override {
    event([&] {
      file_.json.field("cat", what);
      file_.json.field("name", what);
      file_.json.field("id", id);
      place(phase == 's' ? "s" : "f", pid, tid, time_ns);
      if (phase == 'f') file_.json.field("bp", "e");
    });
  }

  void counter(const char *name, uint32_t pid, uint64_t time_ns, int64_t value) override {
    event([&] {
      file_.json.field("name", name);
      place("C", pid, 0, time_ns);
      file_.json.object("args", [&] { file_.json.field("count", value); });
    });
  }

  void title(uint32_t pid, std::optional<uint32_t> tid, std::string_view text) override {
    event([&] {
      file_.json.field("ph", "M");
      file_.json.field("name", tid ? "thread_name" : "process_name");
      file_.json.field("pid", pid);
      if (tid) file_.json.field("tid", *tid);
      file_.json.object("args", [&] { file_.json.field("name", text); });
    });
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
    file_.json.field("ts", static_cast<double>(static_cast<int64_t>(time_ns - origin_ns_)) / 1000);
  }

  LineFile file_;
  const uint64_t origin_ns_;
  bool is_first_ = true;
};

class Timeline {
public:
  Timeline(TimelineSink &to, const OperationFacts &facts, const Place &place = {})
      : to_(to), facts_(facts), place_(place) {}

  /// All events, or a slice; no operation that is still to come began before `until`.
  void write(const HostEvents &events, uint64_t until) {
    events_ = &events;
    call_starts_.clear();
    has_modeled_times_ = has_modeled_times_ || events.has_modeled_times;
    is_in_software_ = is_in_software_ || events.isInSoftware();
    if (const std::string_view about = events.aboutTimes(); !about.empty()) about_ = about;
    if (events.operations.size() + events.calls.size() != 0 && begin_ns_ == 0)
      begin_ns_ = events.calls.empty() ? events.operations[0].start_ns : events.calls[0].start_ns;
    announce();
    findArrows();
    writeCalls();
    for (std::size_t i = 0; i < events.operations.size(); ++i)
      if (events.operations[i].has_times) writeOperation(i);
    writeEventWaits();
    addChanges();
    writeCounters(until);
    first_call_ += events.calls.size();
    events_ = nullptr;
  }
  /// After the last.
  void finish() { nameProcesses(); }
  std::string_view about() const { return about_; }
  uint64_t begin() const { return begin_ns_; }

private:
  template <typename F> void slice(const TimelineSlice &at, F &&arguments) {
    TimelineSlice placed = at;
    placed.pid = place_.pidOf(at.pid);
    to_.slice(placed, std::ref(arguments));
  }

  std::string threadTitle(uint32_t pid, uint32_t tid) const {
    return tid == pid ? "main thread" : fmt::format("thread {}", tid);
  }
  std::string gpuTitle(uint32_t pid) const {
    return place_.title(fmt::format("GPU {}{}", pid - kGpuPid,
                                    has_modeled_times_ ? " (modeled times)"
                                    : is_in_software_  ? " (software GPU, times of this machine)"
                                                       : ""));
  }
  static std::string queueTitle(uint32_t queue) {
    return queue == kCopies ? "copies" : fmt::format("queue {}", queue);
  }

  /// Processes and threads that are new.
  void announce() {
    for (const auto &[pid, process] : events_->processes) programs_[pid] = process.program;
    for (const Call &call : events_->calls)
      if (const auto [pid, tid] = call.thread; threads_.emplace(pid, tid).second) {
        to_.announceProcess(place_.pidOf(pid), place_.title(programs_[pid]));
        to_.announceTrack(place_.pidOf(pid), tid, threadTitle(pid, tid), true);
      }
  }

  /// Numbers of arrows from calls to what they caused, and from where an event was recorded to who
  /// waits for it.
  void findArrows() {
    from_.assign(events_->calls.size(), {});
    for (const Operation &operation : events_->operations)
      if (const auto call = events_->callAt(operation.event.call); call && operation.has_times)
        from_[*call].push_back(place_.idOf(operation.position));
    for (std::size_t i = 0; i < events_->calls.size(); ++i) {
      const Call &call = events_->calls[i];
      if (!isEventCall(call)) continue;
      const std::pair key(call.thread.pid, *argument(call, "event"));
      if (isRecord(call)) {
        event_arrows_[key] = place_.idOf(call.position);
        from_[i].push_back(place_.idOf(call.position));
      } else if (const auto at = event_arrows_.find(key); at != event_arrows_.end()) {
        from_[i].push_back(at->second); // others may wait for it as well
      }
    }
  }

  static bool isRecord(const Call &call) {
    return std::string_view(call.function->name).starts_with("hipEventRecord");
  }
  static bool isEventCall(const Call &call) {
    const std::string_view name = call.function->name;
    if (!isRecord(call) && name != "hipStreamWaitEvent" && name != "hipEventSynchronize")
      return false;
    return !call.isNameOnly() && argument(call, "event").has_value();
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
      const auto describe = [&](JsonWriter &json) {
        const unsigned major = events_->hipMajor(call.thread.pid);
        json.field("id", first_call_ + i + 1);
        if (call.isNameOnly()) return;
        writeArguments(json, call, major);
        writeResult(json, call, major);
      };
      slice({"call",
             call.function->name,
             call.thread.pid,
             call.thread.tid,
             at.start_ns,
             at.end_ns,
             from_[i],
             {}},
            describe);
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const Interval &at = intervals[events_->calls.size() + i];
      const auto describe = [&](JsonWriter &json) {
        if (ranges[i].is_named) json.field("args", ranges[i].arguments);
      };
      slice(
          {"marker", ranges[i].text, at.thread.pid, at.thread.tid, at.start_ns, at.end_ns, {}, {}},
          describe);
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
    if (rows_.emplace(pid, tid).second) {
      to_.announceProcess(place_.pidOf(pid), gpuTitle(pid));
      to_.announceTrack(place_.pidOf(pid), tid, queueTitle(key.second), false);
    }
    const auto describe = [&](JsonWriter &json) {
      if (view.call) {
        json.field("call", first_call_ + *view.call + 1);
        if (const auto stream = streamOf(events_->calls[*view.call]))
          json.field("stream", *stream == 0 ? "default" : fmt::format("{:#x}", *stream));
      }
      if (view.bytes) json.field("bytes", *view.bytes);
      if (operation.isKernel()) {
        json.field("grid", sizes(event_.grid));
        json.field("workgroup", sizes(event_.workgroup));
        json.field("lds", event_.lds_bytes);
      }
      if (facts_) facts_(json, index);
    };
    const uint64_t arrow = place_.idOf(operation.position);
    const std::string name = nameOfOperation(view);
    slice({view.purpose == Purpose::kernel ? "kernel" : "copy",
           name,
           pid,
           tid,
           operation.start_ns,
           operation.end_ns,
           {},
           {&arrow, view.call ? 1u : 0u}},
          describe);
    if (view.call) writeArrow(*view.call, operation, pid, tid);
  }

  void arrowEnd(char phase, const char *what, uint64_t id, Thread at, uint64_t time) {
    to_.arrowEnd(phase, what, place_.idOf(id), place_.pidOf(at.pid), at.tid, time);
  }

  void writeArrow(std::size_t call, const Operation &operation, uint32_t pid, uint32_t tid) {
    arrowEnd('s', "cause", operation.position, events_->calls[call].thread, call_starts_[call]);
    arrowEnd('f', "cause", operation.position, {pid, tid}, operation.start_ns);
  }

  /// From where an event was recorded to where a stream or the host waits for it.
  void writeEventWaits() {
    for (std::size_t i = 0; i < events_->calls.size(); ++i) {
      const Call &call = events_->calls[i];
      if (!isEventCall(call)) continue;
      const std::pair key(call.thread.pid, *argument(call, "event"));
      if (isRecord(call)) {
        recorded_[key] = {call.thread, call_starts_[i]};
        continue;
      }
      const auto at = recorded_.find(key);
      if (at == recorded_.end()) continue;
      arrowEnd('s', "event", call.position, at->second.first, at->second.second);
      arrowEnd('f', "event", call.position, call.thread, call_starts_[i]);
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
        to_.counter(name, place_.pidOf(kGpuPid + key.first), list[i].first, count);
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

  void nameProcesses() {
    for (const auto &[pid, program] : programs_)
      if (!program.empty()) to_.title(place_.pidOf(pid), std::nullopt, place_.title(program));
    for (const auto &[pid, tid] : threads_)
      to_.title(place_.pidOf(pid), tid, threadTitle(pid, tid));
    uint32_t last = 0;
    for (const auto &[key, tracks] : tracks_) {
      const auto &[pid, queue] = key;
      if (pid != last) to_.title(place_.pidOf(pid), std::nullopt, gpuTitle(pid));
      last = pid;
      for (uint32_t row = 0; row < tracks.size(); ++row)
        to_.title(place_.pidOf(pid), queue * 100 + row, queueTitle(queue));
    }
  }

  /// Of one GPU: when operations began (+1) and ended (-1), as far as it is not written.
  struct Changes {
    std::vector<std::pair<uint64_t, int>> list;
    int64_t count = 0;
  };

  const HostEvents *events_ = nullptr; ///< what is being written
  TimelineSink &to_;
  const OperationFacts &facts_;
  const Place place_;
  bool has_modeled_times_ = false, is_in_software_ = false;
  uint64_t begin_ns_ = 0;
  std::string_view about_;
  std::size_t first_call_ = 0; ///< calls of earlier slices
  std::vector<uint64_t> call_starts_;
  std::vector<std::vector<uint64_t>> from_;                        ///< by call: arrows
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> event_arrows_; ///< by process and event
  std::set<std::pair<uint32_t, uint32_t>> rows_;                   ///< of GPUs, that were announced
  std::set<std::pair<uint32_t, uint32_t>> threads_;
  std::map<uint32_t, std::string> programs_;
  std::map<std::pair<uint32_t, bool>, Changes> changes_; ///< by GPU, and whether it is kernels
  /// By process and event: where it was recorded.
  std::map<std::pair<uint32_t, uint64_t>, std::pair<Thread, uint64_t>> recorded_;
  std::map<std::pair<uint32_t, uint32_t>, Tracks> tracks_; ///< by GPU and queue
};

} // namespace

namespace {

/// Writes it to the file in the format that its name asks for: `write` makes the timelines, and
/// returns what is to be said of their times.
struct AboutTimes {
  std::string text;
  uint64_t begin_ns = 0;
};

template <typename F>
Status writeInto(const std::string &path, TimelineForm form, uint64_t origin_ns,
                 std::string_view clocks, F &&write) {
  AboutTimes about;
  if (form == TimelineForm::json) {
    JsonTimeline file(path, origin_ns);
    Status made = write(file, about);
    Status closed = file.close(about.text, clocks);
    return made ? std::move(closed) : std::move(made);
  }
  PerfettoPackets file(path);
  Status made = write(file, about);
  for (const std::string_view text : {std::string_view(about.text), clocks})
    if (!text.empty()) file.note(text, about.begin_ns);
  Status closed = file.close();
  return made ? std::move(closed) : std::move(made);
}

} // namespace

Status writeTimeline(const HostEvents &events, const std::string &path,
                     const OperationFacts &facts) {
  return writeInto(path, timelineFormOf(path), 0, "", [&](TimelineSink &file, AboutTimes &about) {
    Timeline timeline(file, facts);
    timeline.write(events, UINT64_MAX);
    timeline.finish();
    about = {std::string(timeline.about()), timeline.begin()};
    return Status(Done{});
  });
}

Status writeTimeline(const HostEvents &events, const std::string &path) {
  return writeTimeline(events, path, OperationFacts());
}

Status writeTimeline(const EventSource &events, const std::string &path, TimelineForm form) {
  return writeInto(path, form, 0, "", [&](TimelineSink &file, AboutTimes &about) {
    const OperationFacts none;
    Timeline timeline(file, none);
    Status status = events.forEach(
        [&](const HostEvents &slice, uint64_t until) { timeline.write(slice, until); }, nullptr,
        [&] {
          timeline.finish();
          file.flush(timeline.about());
        });
    timeline.finish();
    about = {std::string(timeline.about()), timeline.begin()};
    return status;
  });
}

Status writeRunTimeline(const Run &run, const std::string &path, TimelineForm form) {
  const CommonClock clock = commonClock(run);
  uint64_t origin = UINT64_MAX;
  for (std::size_t i = 0; i < run.members.size(); ++i)
    if (const uint64_t start = run.members[i].summary.start_ns; start != 0)
      origin = std::min(origin, start + static_cast<uint64_t>(clock.offsets_ns[i]));
  const auto write = [&](TimelineSink &file, AboutTimes &about) {
    uint32_t member = 0;
    const OperationFacts none;
    for (std::size_t i = 0; i < run.members.size(); ++i) {
      Timeline timeline(file, none, {++member, run.members[i].summary.process.name()});
      const EventSource events(run.members[i].events(), clock.offsets_ns[i]);
      if (Status status = events.forEach(
              [&](const HostEvents &slice, uint64_t until) { timeline.write(slice, until); });
          !status)
        return status;
      timeline.finish();
      if (!timeline.about().empty()) about = {std::string(timeline.about()), timeline.begin()};
    }
    return Status(Done{});
  };
  return writeInto(path, form, origin, clock.text, write);
}

TimelineForm timelineFormOf(std::string_view path) {
  return path.ends_with(".pftrace") || path.ends_with(".perfetto-trace") ? TimelineForm::packets
                                                                         : TimelineForm::json;
}

} // namespace fade::host_trace
