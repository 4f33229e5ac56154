#include "host_trace/process_totals.h"

#include "host_trace/collectives.h"

#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <unistd.h>

namespace fade::host_trace {
namespace {

constexpr std::size_t kMostRanges = 1000; ///< names of markers; texts with numbers have no end
constexpr const char *kOtherRanges = "(others)";

/// "... bytes=4096".
uint64_t bytesOf(std::string_view arguments) {
  const std::size_t at = arguments.find("bytes=");
  uint64_t bytes = 0;
  if (at != arguments.npos)
    std::from_chars(arguments.data() + at + 6, arguments.data() + arguments.size(), bytes);
  return bytes;
}

/// That something is not ready yet is an answer, and so is what another call has failed with.
bool hasFailed(const CallRow &call) {
  return call.has_returned && !call.error.empty() && call.error != "hipSuccess" &&
         call.error != "HIPRTC_SUCCESS" && call.error != "hipErrorNotReady" &&
         !call.function.ends_with("LastError");
}

/// By name, found again without making a text of it.
Distribution &in(Distributions &all, std::string_view name) {
  const auto at = all.find(name);
  return at != all.end() ? at->second : all[std::string(name)];
}

} // namespace

class ProcessTotals::Totals final : public RowSink {
public:
  Totals(const EventStream &stream, RunProcess process) : stream_(stream) {
    to_.process = std::move(process);
  }

  void add(CallRow call) override {
    RunTotals &totals = to_.totals;
    ++totals.calls;
    extend(call.start_ns, call.end_ns);
    if (!call.has_returned) {
      if (call.parent == 0) unreturned_.push_back(call.start_ns);
      return;
    }
    const uint64_t end = std::max(call.end_ns, call.start_ns);
    if (call.parent == 0) addUsed(call.start_ns, end);
    in(totals.functions, call.function).add(end - call.start_ns);
    totals.failed_calls += hasFailed(call);
  }

  void add(OperationRow row) override {
    const LoggedOperation &operation = row.what;
    RunTotals &totals = to_.totals;
    ++totals.operations;
    extend(operation.start_ns, operation.end_ns);
    totals.unfinished += !operation.has_ended;
    if (!operation.has_times) return;
    busy_.add(operation.start_ns, operation.end_ns);
    addUsed(operation.start_ns, operation.end_ns);
    if (operation.purpose == Purpose::kernel)
      in(totals.kernels, operation.kernel).add(operation.duration(), operation.bytes);
    else
      in(totals.copies, nameOf(operation)).add(operation.duration(), operation.bytes);
  }

  void add(RangeRow range) override {
    const uint64_t length = range.end_ns - range.start_ns;
    if (!range.is_message) {
      Distributions &ranges = to_.totals.ranges;
      const bool is_one_too_many = ranges.size() >= kMostRanges && !ranges.contains(range.text);
      in(ranges, is_one_too_many ? kOtherRanges : range.text).add(length);
      return;
    }
    with_messages_.add(range.start_ns, range.end_ns);
    in(to_.totals.messages, range.text).add(length, bytesOf(range.arguments));
    if (collectives_.size() < kMostCollectives && isCollective(range.domain, range.arguments))
      collectives_.push_back(std::move(range));
  }

  void add(const Usage &usage) override {
    extend(usage.time_ns, 0);
    to_.has_exited = to_.has_exited || usage.is_last;
  }

  void launched(uint64_t, std::string_view) override {}

  Status progress(const RowProgress &now) override {
    // What is open has covered the time until now, however long it will go on.
    for (const uint64_t start : now.open_calls) addUsed(start, now.known_until);
    for (const uint64_t start : now.open_messages) with_messages_.add(start, now.known_until);
    settle(now);
    return Done{};
  }

  ProcessSummary summary() const {
    ProcessSummary summary = to_;
    CoveredTime busy = busy_, used = used_, with_messages = with_messages_;
    for (const auto &[pid, process] : stream_.facts().processes)
      extend(summary, process.start_ns, 0);
    for (const uint64_t start : unreturned_)
      for (CoveredTime *time : {&used, &with_messages}) time->add(start, summary.end_ns);
    for (CoveredTime *time : {&busy, &used, &with_messages}) time->settle(UINT64_MAX);
    summary.busy_ns = std::min(busy.length(), summary.span());
    const uint64_t in_use = std::min(used.length(), summary.span());
    summary.idle_in_hip_ns = in_use - std::min(summary.busy_ns, in_use);
    summary.idle_elsewhere_ns = summary.span() - summary.busy_ns - summary.idle_in_hip_ns;
    const uint64_t in_any = std::min(with_messages.length(), summary.span());
    summary.idle_in_messages_ns = in_any - std::min(in_use, in_any);
    summary.totals.calls += stream_.openCalls();
    summary.totals.operations += stream_.openOperations();
    summary.totals.unfinished += stream_.openOperations();
    summary.totals.lost = stream_.facts().lost;
    summary.totals.damaged = stream_.facts().damaged;
    summary.about_times = stream_.aboutTimes();
    return summary;
  }

  std::vector<Range> collectives() const {
    std::vector<Range> ranges;
    for (const RangeRow &row : collectives_) {
      Range &range = ranges.emplace_back();
      range.start_ns = row.start_ns;
      range.end_ns = row.end_ns;
      range.text = row.text;
      range.is_named = true;
      range.domain = row.domain;
      range.arguments = row.arguments;
    }
    std::ranges::sort(ranges, {}, &Range::start_ns);
    return ranges;
  }

private:
  static void extend(ProcessSummary &to, uint64_t start, uint64_t end) {
    if (start == 0) return;
    to.start_ns = to.start_ns == 0 ? start : std::min(to.start_ns, start);
    to.end_ns = std::max({to.end_ns, start, end});
  }
  void extend(uint64_t start, uint64_t end) { extend(to_, start, end); }

  void addUsed(uint64_t start, uint64_t end) {
    used_.add(start, end);
    with_messages_.add(start, end);
  }

  void settle(const RowProgress &now) {
    if (now.known_until == UINT64_MAX) return; // what has not returned is not in yet
    busy_.settle(now.operations_until);
    const uint64_t all = std::min(now.known_until, now.operations_until);
    used_.settle(all);
    with_messages_.settle(all);
  }

  const EventStream &stream_;
  ProcessSummary to_;
  CoveredTime busy_, used_, with_messages_;
  std::vector<uint64_t> unreturned_; ///< when the stream has ended
  std::deque<RangeRow> collectives_;
};

ProcessTotals::ProcessTotals(std::unique_ptr<EventStream> stream, RunProcess process)
    : stream_(std::move(stream)), totals_(std::make_unique<Totals>(*stream_, std::move(process))),
      rows_(*stream_, *totals_) {}
ProcessTotals::~ProcessTotals() = default;

Result<std::unique_ptr<ProcessTotals>> ProcessTotals::open(const std::string &events,
                                                           RunProcess process) {
  auto stream = EventStream::open(events);
  if (!stream) return std::move(stream).error();
  return std::unique_ptr<ProcessTotals>(new ProcessTotals(*std::move(stream), std::move(process)));
}

Status ProcessTotals::read() { return stream_->read(rows_, false); }
ProcessSummary ProcessTotals::summary() const { return totals_->summary(); }
std::vector<Range> ProcessTotals::collectives() const { return totals_->collectives(); }

Result<ProcessSummary> ProcessTotals::finish() {
  if (Status status = stream_->read(rows_, true); !status) return std::move(status).error();
  return totals_->summary();
}

Result<ProcessSummary> summaryOfEvents(const std::string &folder, RunProcess process) {
  auto totals = ProcessTotals::open(folder + "/events", std::move(process));
  if (!totals) return std::move(totals).error();
  return (*totals)->finish();
}

Status writeTotals(const ProcessTotals &totals, ProcessSummary summary, const std::string &folder) {
  const int fd = open((folder + "/process.json").c_str(), O_WRONLY | O_CLOEXEC);
  summary.end_clocks = readClocks(fd);
  if (fd >= 0) close(fd);
  // First: who finds the summary finds all.
  if (Status status = writeCollectives(totals.collectives(), folder); !status) return status;
  return writeSummary(summary, folder + "/summary.jsonl");
}

} // namespace fade::host_trace
