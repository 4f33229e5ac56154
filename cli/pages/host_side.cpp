#include "pages/host_side.h"

#include "base/json_text.h"
#include "host_trace/dot_picture.h"
#include "host_trace/nesting.h"
#include "host_trace/operators.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <tuple>

namespace fade::report {
namespace {

using host_trace::LoggedOperation;
using host_trace::Nesting;
using host_trace::Purpose;
using host_trace::TraceLog;

constexpr std::size_t kMostBars = 200'000; ///< of calls and markers, and of operations
constexpr uint64_t kSameTime = 1'000;      ///< ns: both sides round on their own
constexpr std::size_t kChainRows = 12;

/// Names once, by number.
class Names {
public:
  std::size_t operator()(std::string_view name) {
    const auto [at, is_new] = numbers_.try_emplace(std::string(name), all_.size());
    if (is_new) all_.push_back(std::string(name));
    return at->second;
  }
  const std::vector<std::string> &all() const { return all_; }

private:
  std::map<std::string, std::size_t, std::less<>> numbers_;
  std::vector<std::string> all_;
};

uint64_t firstTime(const TraceLog &host) {
  uint64_t first = UINT64_MAX;
  for (const auto &call : host.calls) first = std::min(first, call.start_ns);
  for (const auto &range : host.ranges) first = std::min(first, range.start_ns);
  for (const auto &operation : host.operations)
    if (operation.has_times) first = std::min(first, operation.start_ns);
  return first == UINT64_MAX ? 0 : first;
}

/// Columns of bars, as for dispatches.
class HostColumns {
public:
  HostColumns(const TraceLog &host, const RunLog &log)
      : host_(host), nesting_(host), dispatches_(dispatchesOf(host, log)), first_(firstTime(host)) {
  }

  Json make() {
    Json out;
    out["first_ns"] = std::to_string(first_);
    out["spans"] = spans();
    out["operations"] = operations();
    out["operators"] = operators();
    out["chain"] = chain();
    out["counters"] = counters();
    out["samples"] = samples();
    out["threads"] = threads_;
    out["names"] = names_.all();
    out["processes"] = host_.processes;
    out["software"] = host_.in_software;
    uint64_t errors = 0;
    for (const auto &call : host_.calls) errors += hasFailed(call) ? 1 : 0;
    out["totals"] = {{"calls", host_.calls.size()},
                     {"markers", host_.ranges.size()},
                     {"operations", host_.operations.size()},
                     {"errors", errors},
                     {"lost", host_.lost},
                     {"omitted", omitted_}};
    return out;
  }

private:
  static bool hasFailed(const host_trace::LoggedCall &call) {
    return !call.error.empty() && call.error != "hipSuccess" && call.error != "HIPRTC_SUCCESS" &&
           call.error != "hipErrorNotReady";
  }

  Json spans() {
    Json out;
    for (const char *key : {"name", "thread", "depth", "start", "duration", "marker", "error"})
      out[key] = Json::array();
    std::map<std::tuple<uint32_t, uint32_t, std::size_t>, std::size_t> threads;
    span_of_call_.assign(host_.calls.size(), kMostBars);
    const auto &items = nesting_.items();
    std::size_t made = 0;
    for (const Nesting::Item &item : items) {
      if (made == kMostBars) {
        omitted_ += items.size() - made;
        break;
      }
      uint32_t pid = 0, tid = 0;
      std::size_t own = 0;
      std::string_view error;
      if (item.is_call) {
        const auto &call = host_.calls[item.index];
        pid = call.pid;
        tid = call.tid;
        if (hasFailed(call)) error = call.error;
        span_of_call_[item.index] = made;
        out["name"].push_back(names_(call.function));
      } else {
        const auto &range = host_.ranges[item.index];
        pid = range.pid;
        tid = range.tid;
        if (!range.is_nested) own = item.index + 1;
        out["name"].push_back(names_(range.text));
      }
      const auto [thread, is_new] = threads.try_emplace({pid, tid, own}, threads_.size());
      if (is_new) threads_.push_back({{"pid", pid}, {"tid", tid}, {"free", own != 0}});
      out["thread"].push_back(thread->second);
      out["depth"].push_back(item.depth);
      out["start"].push_back(item.start_ns - first_);
      out["duration"].push_back(item.end_ns - item.start_ns);
      out["marker"].push_back(item.is_call ? 0 : 1);
      out["error"].push_back(error.empty() ? Json() : Json(error));
      ++made;
    }
    return out;
  }

  Json operations() {
    Json out;
    for (const char *key :
         {"name", "kind", "gpu", "queue", "start", "duration", "span", "dispatch", "bytes"})
      out[key] = Json::array();
    std::size_t made = 0;
    for (std::size_t i = 0; i < host_.operations.size(); ++i) {
      const LoggedOperation &operation = host_.operations[i];
      if (!operation.has_times) continue;
      if (made++ == kMostBars) {
        omitted_ += host_.operations.size() - i;
        break;
      }
      const bool is_kernel = operation.purpose == Purpose::kernel;
      const bool is_engine = operation.purpose == Purpose::copy && operation.kernel.empty();
      out["name"].push_back(names_(nameOf(operation)));
      out["kind"].push_back(is_kernel ? 0 : operation.purpose == Purpose::copy ? 1 : 2);
      out["gpu"].push_back(operation.gpu);
      out["queue"].push_back(is_engine ? Json() : Json(operation.queue));
      out["start"].push_back(operation.start_ns - first_);
      out["duration"].push_back(operation.duration());
      const std::size_t span = operation.call ? span_of_call_[*operation.call] : kMostBars;
      out["span"].push_back(span == kMostBars ? Json() : Json(span));
      out["dispatch"].push_back(dispatches_[i] ? Json(*dispatches_[i]) : Json());
      out["bytes"].push_back(is_kernel ? Json() : Json(operation.bytes));
    }
    return out;
  }

  Json operators() const {
    Json out = Json::array();
    for (const auto &use : operatorsOf(host_, nesting_))
      out.push_back({use.name, use.kernel, use.sizes, use.calls, use.ns});
    return out;
  }

  /// Of the hardware, as rocprofv3 has counted them.
  Json counters() const {
    Json out = Json::array();
    for (const auto &[key, counter] : host_.counters)
      out.push_back({key.first, key.second, counter.dispatches,
                     counter.sum / static_cast<double>(std::max<uint64_t>(counter.dispatches, 1)),
                     counter.least, counter.largest});
    return out;
  }

  Json samples() const {
    Json out = Json::array();
    for (const auto &[place, count] : host_.samples)
      out.push_back({place.kernel, place.source, place.instruction, place.stall, count});
    return out;
  }

  Json chain() const {
    const host_trace::Chain chain = chainOf(host_, kChainRows);
    const auto list = [](const host_trace::Weights &weights) {
      std::vector<std::pair<std::string, host_trace::Weight>> order(weights.begin(), weights.end());
      std::ranges::sort(order, std::greater(), [](const auto &one) {
        return std::tuple(one.second.ns, one.second.count, one.first);
      });
      Json out = Json::array();
      for (const auto &[name, weight] : order) out.push_back({name, weight.count, weight.ns});
      return out;
    };
    Json processes = Json::array();
    for (const auto &[pid, weight] : chain.processes)
      processes.push_back(
          {fmt::format("{} ({})", nameOfProcess(host_, pid), pid), weight.count, weight.ns});
    return {{"processes", std::move(processes)},
            {"layers", host_.layers},
            {"functions", list(chain.functions)},
            {"places", list(chain.places)},
            {"kernels", list(chain.kernels)}};
  }

  const TraceLog &host_;
  const Nesting nesting_;
  const std::vector<std::optional<std::size_t>> dispatches_;
  const uint64_t first_;
  Names names_;
  Json threads_ = Json::array();
  std::vector<std::size_t> span_of_call_;
  std::size_t omitted_ = 0;
};

} // namespace

bool isHostTrace(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  char first[16] = {};
  file.read(first, sizeof first);
  uint64_t magic = 0;
  std::memcpy(&magic, first, sizeof magic);
  if (magic == events::kMagic || std::string_view(first, 15) == "SQLite format 3") return true;
  file.clear();
  file.seekg(0);
  if (first[0] != '{' || !std::getline(file, line)) return false;
  const Json json = parsedJson(line);
  if (!json.is_object()) return false;
  const auto type = json.find("type");
  return type != json.end() && (*type == "trace" || *type == "call");
}

DispatchFinder::DispatchFinder(const RunLog &log) {
  for (std::size_t i = 0; i < log.dispatches.size(); ++i)
    if (const Dispatch &d = log.dispatches[i]; d.hasTimes())
      by_kernel_[{log.kernels[d.kernel].name, d.queue}].push_back(
          {*d.start_ns, static_cast<uint32_t>(i)});
  for (auto &[kernel, all] : by_kernel_)
    std::ranges::sort(all, {},
                      [](const Started &one) { return std::pair(one.start_ns, one.dispatch); });
}

std::vector<std::optional<std::size_t>> DispatchFinder::find(const TraceLog &host) {
  std::vector<std::optional<std::size_t>> found(host.operations.size());
  for (std::size_t i = 0; i < host.operations.size(); ++i)
    if (const LoggedOperation &one = host.operations[i]; one.has_times)
      found[i] = take(one.kernel, one.queue, one.start_ns);
  return found;
}

std::vector<std::optional<std::size_t>> DispatchFinder::find(const host_trace::HostEvents &host) {
  std::vector<std::optional<std::size_t>> found(host.operations.size());
  for (std::size_t i = 0; i < host.operations.size(); ++i)
    if (const host_trace::Operation &one = host.operations[i]; one.has_times)
      found[i] = take(one.isKernel() ? host.textOf(one.pid, one.event.name) : "", one.event.queue,
                      one.start_ns);
  return found;
}

std::optional<std::size_t> DispatchFinder::take(std::string_view name, uint64_t queue,
                                                uint64_t start_ns) {
  const auto kernel = by_kernel_.find({name, queue});
  if (kernel == by_kernel_.end()) return std::nullopt;
  auto &starts = kernel->second;
  const auto from = std::ranges::lower_bound(starts, start_ns, {}, &Started::start_ns);
  auto nearest = starts.end();
  uint64_t distance = kSameTime + 1; // what is at least as far away is another one
  for (auto at = from; at != starts.end() && at->start_ns - start_ns < distance; ++at)
    if (!at->is_taken) {
      nearest = at;
      distance = at->start_ns - start_ns;
    }
  for (auto at = from; at != starts.begin() && start_ns - std::prev(at)->start_ns < distance;)
    if (--at; !at->is_taken) {
      nearest = at;
      distance = start_ns - at->start_ns;
    }
  if (nearest == starts.end()) return std::nullopt;
  nearest->is_taken = true;
  return nearest->dispatch;
}

std::vector<std::optional<std::size_t>> dispatchesOf(const TraceLog &host, const RunLog &log) {
  return DispatchFinder(log).find(host);
}

Json hostData(const TraceLog &host, const RunLog &log) { return HostColumns(host, log).make(); }

} // namespace fade::report
