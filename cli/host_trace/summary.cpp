#include "host_trace/summary.h"

#include "fade/hip_api.h"
#include "host_trace/log_text.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <set>

namespace fade::host_trace {
namespace {

struct Total {
  uint64_t count = 0, ns = 0, most_ns = 0, bytes = 0;

  void add(uint64_t duration, uint64_t size = 0) {
    ++count;
    ns += duration;
    most_ns = std::max(most_ns, duration);
    bytes += size;
  }
};
using Totals = std::map<std::string, Total>;

/// The largest by time.
std::string table(const char *title, const Totals &totals, std::size_t rows, bool has_bytes) {
  if (totals.empty()) return "";
  std::vector<std::pair<std::string, Total>> all(totals.begin(), totals.end());
  std::ranges::sort(all, std::greater(), [](const auto &line) { return line.second.ns; });
  std::size_t width = std::string_view(title).size();
  for (std::size_t i = 0; i < std::min(rows, all.size()); ++i)
    width = std::max(width, nameCell(all[i].first).size());
  std::string text =
      fmt::format("\n{:<{}}  {:>8}  {:>10}  {:>10}  {:>10}{}\n", title, width, "count", "total",
                  "mean", "longest", has_bytes ? "       bytes" : "");
  for (std::size_t i = 0; i < std::min(rows, all.size()); ++i) {
    const auto &[name, total] = all[i];
    text += fmt::format("{:<{}}  {:>8}  {:>10}  {:>10}  {:>10}", nameCell(name), width, total.count,
                        durationText(total.ns), durationText(total.ns / total.count),
                        durationText(total.most_ns));
    if (has_bytes && total.bytes != 0) text += fmt::format("  {:>10}", total.bytes);
    text += '\n';
  }
  if (all.size() > rows) text += fmt::format("... and {} more\n", all.size() - rows);
  return text;
}

bool isFine(const LoggedCall &call) {
  return call.error == "hipSuccess" || call.error == "HIPRTC_SUCCESS";
}

/// That runs a kernel: graphs may hold nothing for the GPU.
bool launchesKernel(std::string_view function) {
  return isLaunch(function) && function.find("Graph") == function.npos;
}

bool isCopy(const LoggedCall &call) {
  return call.function.starts_with("hipMemcpy") || call.function.starts_with("hipDrvMemcpy");
}

/// "memory", "stream", ...: as --api names them.
std::string groupOf(std::string_view function) {
  static const auto groups = [] {
    std::map<std::string_view, const char *> all;
    for (const hip::FunctionInfo &info : hip::kFunctions) all.emplace(info.name, info.group);
    return all;
  }();
  const auto at = groups.find(function);
  return at == groups.end() ? "other" : at->second;
}

class Summary {
public:
  explicit Summary(const TraceLog &log) : log_(log) {}

  std::string write(const SummaryOptions &options) {
    for (const LoggedOperation &operation : log_.operations) read(operation);
    readCalls();
    std::string text = head();
    text += table("HIP calls", calls_, options.rows, false);
    text +=
        list("calls that HIP made itself, counted above with those of the application", by_hip_);
    if (groups_.size() > 1) text += table("groups of calls", groups_, options.rows, false);
    text += table("on the GPU", operations_, options.rows, true);
    text += devices();
    text += list("errors", errors_);
    text += list("launches without effect: they returned success, but nothing reached a queue",
                 unseen_);
    text += list("calls that did not return", hanging_);
    text += list("known by name only: FADE was loaded during the call", name_only_);
    text += facts();
    text += counters(options.rows);
    text += samples(options.rows);
    text += libraries(options.rows);
    const auto line = [&](uint64_t count, const char *what) {
      if (count != 0) text += fmt::format("\n{} {}\n", count, what);
    };
    line(host_copies_, "copies were done by the host itself, without the GPU");
    line(without_call_,
         "kernels or copies cannot be attributed to a call: a HIP thread submits the packets "
         "(AMD_DIRECT_DISPATCH=0)");
    line(unfinished_, "kernels or copies had not ended when the process did");
    line(log_.lost, "events were not recorded: no space for them");
    line(log_.damaged, "blocks are damaged or cut off; the rest of each was skipped");
    line(log_.bad_lines, "lines could not be read");
    return text;
  }

private:
  std::string head() const {
    uint64_t first = UINT64_MAX, last = 0;
    std::set<std::pair<uint32_t, uint32_t>> threads;
    for (const LoggedCall &call : log_.calls) {
      first = std::min(first, call.start_ns);
      last = std::max({last, call.start_ns, call.end_ns});
      threads.insert({call.pid, call.tid});
    }
    std::string text;
    for (const std::string &process : log_.processes) text += cli::printable(process) + '\n';
    text += fmt::format("{} calls in {} threads", log_.calls.size(), threads.size());
    if (log_.has_operations) text += fmt::format(", {} kernels and copies", log_.operations.size());
    if (last > first) text += fmt::format(", in {}", durationText(last - first));
    text += '\n';
    if (log_.in_software) text += fmt::format("{}\n", kSoftwareTimes);
    return text;
  }

  /// What each GPU had to do.
  std::string devices() const {
    if (devices_.empty()) return "";
    std::string text = fmt::format("\n{:<8}  {:>8}  {:>8}  {:>10}  {:>10}  {:>10}\n", "device",
                                   "kernels", "copies", "kernels", "copies", "queues");
    for (const auto &[gpu, device] : devices_)
      text +=
          fmt::format("{:<8}  {:>8}  {:>8}  {:>10}  {:>10}  {:>10}\n", fmt::format("GPU {}", gpu),
                      device.kernels.count, device.copies.count, durationText(device.kernels.ns),
                      durationText(device.copies.ns), device.queues.size());
    return text;
  }

  void read(const LoggedOperation &operation) {
    Device &device = devices_[operation.gpu];
    (operation.purpose == Purpose::kernel ? device.kernels : device.copies)
        .add(operation.duration());
    if (operation.purpose == Purpose::kernel) device.queues.insert(operation.queue);
    if (!operation.has_ended) ++unfinished_;
    if (operation.has_times)
      operations_[nameOf(operation)].add(operation.end_ns - operation.start_ns, operation.bytes);
  }

  /// Processes in which a thread of HIP makes the packets (AMD_DIRECT_DISPATCH=0): there are
  /// operations, and none of a launch.
  std::set<uint32_t> processesWithoutCauses() const {
    std::set<uint32_t> unknown;
    for (const LoggedOperation &operation : log_.operations)
      if (!operation.call) unknown.insert(operation.pid);
    if (unknown.contains(0)) // RPD files do not say whose an operation is
      for (const LoggedCall &call : log_.calls) unknown.insert(call.pid);
    for (const LoggedCall &call : log_.calls)
      if (call.has_operations && launchesKernel(call.function)) unknown.erase(call.pid);
    return unknown;
  }

  void readCalls() {
    const std::set<uint32_t> unknown = processesWithoutCauses();
    const bool is_any = std::ranges::any_of(unknown, [](uint32_t pid) { return pid != 0; });
    for (const LoggedOperation &operation : log_.operations)
      if (is_any && !operation.call && unknown.contains(operation.pid)) ++without_call_;
    int captures = 0; // what is captured is done later, or never
    for (const LoggedCall &call : log_.calls) {
      if (call.function.starts_with("hipStreamBeginCapture") && isFine(call)) ++captures;
      if (call.function.starts_with("hipStreamEndCapture") && captures > 0) --captures;
      if (call.is_name_only) {
        ++name_only_[std::string(call.function)];
        continue;
      }
      if (!call.has_returned) {
        ++hanging_[fmt::format("{} in thread {}", call.function, call.tid)];
        continue;
      }
      const uint64_t duration = call.end_ns - std::min(call.start_ns, call.end_ns);
      calls_[std::string(call.function)].add(duration);
      if (!call.parent)
        groups_[groupOf(call.function)].add(duration); // that of its own calls is part of it
      else
        ++by_hip_[fmt::format("{} in {}", call.function, log_.calls[*call.parent].function)];
      // That something is not ready yet is an answer, and so is what another call has failed with.
      if (!call.error.empty() && !isFine(call) && call.error != "hipErrorNotReady" &&
          !call.function.ends_with("LastError"))
        ++errors_[fmt::format("{}: {}", call.function, call.error)];
      if (!isFine(call) || call.has_operations || captures > 0 || unknown.contains(call.pid))
        continue;
      if (isCopy(call) && call.bytes.value_or(1) != 0) ++host_copies_;
      if (launchesKernel(call.function)) ++unseen_[std::string(call.function)];
    }
  }

  /// What HIP says and what is so.
  std::string facts() const {
    constexpr std::array<std::pair<const char *, const char *>, 7> titles = {
        {{"property", "wrong device properties"},
         {"corrected", "corrected device properties"},
         {"no_memory", "failed allocations: out of memory"},
         {"unseen_error", "unchecked errors: the next call did not query the error"},
         {"fallback", "a GPU was found, but work ran without it"},
         {"redirect", "calls through a CUDA layer"},
         {"cuda_layer", "libraries with CUDA's names"}}};
    std::string text;
    for (const auto &[kind, title] : titles) {
      std::map<std::string, uint64_t> counts;
      for (const FoundFact &fact : log_.facts)
        if (fact.kind == kind) counts[fact.text] += fact.count;
      text += list(title, counts);
    }
    return text;
  }

  std::string counters(std::size_t rows) const {
    if (log_.counters.empty()) return "";
    std::size_t width = std::string_view("counter of").size(), count = 0;
    for (const auto &[key, counter] : log_.counters)
      width = std::max(width, nameCell(key.first).size());
    std::string text = fmt::format("\n{:<{}}  {:>10}  {:>14}  {:>14}  {:>14}  {}\n", "counter of",
                                   width, "dispatches", "mean", "least", "largest", "counter");
    for (const auto &[key, counter] : log_.counters) {
      if (++count > rows) continue;
      text += fmt::format("{:<{}}  {:>10}  {:>14.6g}  {:>14.6g}  {:>14.6g}  {}\n",
                          nameCell(key.first), width, counter.dispatches,
                          counter.sum / static_cast<double>(counter.dispatches), counter.least,
                          counter.largest, nameCell(key.second));
    }
    return count > rows ? text + fmt::format("... and {} more\n", count - rows) : text;
  }

  /// Places with most samples of the program counter first.
  std::string samples(std::size_t rows) const {
    if (log_.samples.empty()) return "";
    std::vector<std::pair<const SampledPlace *, uint64_t>> order;
    uint64_t all = 0;
    for (const auto &[place, count] : log_.samples) {
      order.emplace_back(&place, count);
      all += count;
    }
    std::ranges::sort(order, [](const auto &a, const auto &b) {
      return a.second != b.second ? a.second > b.second : *a.first < *b.first;
    });
    std::string text = fmt::format("\n{:>10}  {:>6}  PC samples in\n", "samples", "share");
    for (std::size_t i = 0; i < std::min(rows, order.size()); ++i) {
      const SampledPlace &place = *order[i].first;
      text += fmt::format(
          "{:>10}  {:>5.1f}%  {}: {}{}{}{}\n", order[i].second,
          100 * static_cast<double>(order[i].second) / static_cast<double>(all),
          nameCell(place.kernel), nameCell(place.instruction),
          place.source.empty() ? "" : fmt::format(" at {}", cli::printable(place.source)),
          place.stall.empty() ? "" : ", waits for ", nameCell(place.stall));
    }
    if (order.size() > rows) text += fmt::format("... and {} more\n", order.size() - rows);
    return text;
  }

  std::string libraries(std::size_t rows) const {
    if (log_.requests.empty()) return "";
    uint64_t first = log_.requests[0].time_ns;
    for (const LoggedCall &call : log_.calls) first = std::min(first, call.start_ns);
    std::string text = "\nlibrary loads\n";
    for (std::size_t i = 0; i < std::min(rows, log_.requests.size()); ++i) {
      const LoggedRequest &request = log_.requests[i];
      text += fmt::format("{:>10}  {}  by {}\n",
                          durationText(request.time_ns - std::min(first, request.time_ns)),
                          request.file, request.who.empty() ? "?" : request.who);
    }
    if (log_.requests.size() > rows)
      text += fmt::format("... and {} more\n", log_.requests.size() - rows);
    return text;
  }

  static std::string list(const char *title, const std::map<std::string, uint64_t> &counts) {
    if (counts.empty()) return "";
    std::string text = fmt::format("\n{}\n", title);
    for (const auto &[what, count] : counts) text += fmt::format("{:>8}  {}\n", count, what);
    return text;
  }

  struct Device {
    Total kernels, copies; ///< fills are copies here
    std::set<uint32_t> queues;
  };

  const TraceLog &log_;
  Totals calls_, operations_, groups_;
  std::map<uint32_t, Device> devices_;
  std::map<std::string, uint64_t> errors_, unseen_, hanging_, name_only_, by_hip_;
  uint64_t host_copies_ = 0, unfinished_ = 0, without_call_ = 0;
};

} // namespace

std::string summarize(const TraceLog &log, const SummaryOptions &options) {
  return Summary(log).write(options);
}

} // namespace fade::host_trace
