#include "host_trace/graphs.h"

#include "host_trace/log_text.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <unordered_map>

namespace fade::host_trace {
namespace {

using Handle = std::pair<uint32_t, uint64_t>; ///< of a process

/// What a capture has collected so far, or a graph that was made of it.
struct Captured {
  GraphCapture capture;
  std::vector<std::string> kernels;
};

/// Goes through the calls in order of time; a handle means what it was last given to.
class GraphFinder {
public:
  explicit GraphFinder(const TraceLog &log) : log_(log) {
    for (std::size_t i = 0; i < log.operations.size(); ++i)
      if (log.operations[i].call) operations_[*log.operations[i].call].push_back(i);
  }

  std::vector<Graph> find() {
    for (std::size_t i = 0; i < log_.calls.size(); ++i) {
      const LoggedCall &call = log_.calls[i];
      const std::string_view name = call.function;
      const bool is_fine = call.error.empty() || call.error == "hipSuccess";
      if (!is_fine) {
        // What was captured is gone.
        if (name.starts_with("hipStreamEndCapture")) open_.erase({call.pid, call.stream});
        continue;
      }
      if (name.starts_with("hipStreamBeginCapture")) begin(call);
      if (name.starts_with("hipStreamEndCapture")) end(call);
      // The next graph may have the same address.
      if (name == "hipGraphDestroy" || name == "hipGraphCreate")
        captured_.erase({call.pid, call.graph});
      if (name == "hipGraphClone") clone(call);
      if (name.starts_with("hipGraphInstantiate")) instantiate(call);
      if (name.starts_with("hipGraphLaunch"))
        launch(call, i);
      else if (isLaunch(name))
        addToCapture(call, i);
    }
    return std::move(graphs_);
  }

private:
  void begin(const LoggedCall &call) {
    Captured fresh;
    fresh.capture = {call.stream, call.pid, call.tid, call.start_ns, call.end_ns};
    open_[{call.pid, call.stream}] = std::move(fresh);
  }

  void end(const LoggedCall &call) {
    const auto at = open_.find({call.pid, call.stream});
    if (at == open_.end()) return;
    at->second.capture.end_ns = call.end_ns;
    captured_[{call.pid, call.graph}] = std::move(at->second);
    open_.erase(at);
  }

  void clone(const LoggedCall &call) {
    captured_.erase({call.pid, call.graph});
    if (const auto at = captured_.find({call.pid, call.from}); at != captured_.end())
      captured_[{call.pid, call.graph}] = at->second;
  }

  /// Streams join a capture by waiting for its events: then they belong to it as well.
  void addToCapture(const LoggedCall &call, std::size_t index) {
    if (operations_.contains(index)) return;
    auto at = open_.find({call.pid, call.stream});
    if (at == open_.end())
      at = std::ranges::find_if(open_, [&](const auto &one) {
        return one.second.capture.pid == call.pid && one.second.capture.tid == call.tid;
      });
    if (at != open_.end()) at->second.kernels.emplace_back(call.kernel);
  }

  void instantiate(const LoggedCall &call) {
    Graph graph;
    graph.pid = call.pid;
    graph.handle = call.graph;
    graph.exec = call.graph_exec;
    if (call.has_returned) graph.instantiate_ns = call.end_ns - call.start_ns;
    if (const auto at = captured_.find({call.pid, call.graph}); at != captured_.end()) {
      graph.captures.push_back(at->second.capture);
      graph.kernels = at->second.kernels;
      graph.is_captured_order = !graph.kernels.empty();
    }
    graphs_.push_back(std::move(graph));
    current_[{call.pid, call.graph_exec}] = graphs_.size() - 1;
  }

  void launch(const LoggedCall &call, std::size_t index) {
    const auto [at, is_new] = current_.try_emplace({call.pid, call.graph_exec}, graphs_.size());
    if (is_new) { // instantiated before the recording began
      graphs_.emplace_back();
      graphs_.back().pid = call.pid;
      graphs_.back().exec = call.graph_exec;
    }
    Graph &graph = graphs_[at->second];
    GraphLaunch one;
    one.call = index;
    one.api_ns = call.has_returned ? call.end_ns - call.start_ns : 0;
    if (const auto found = operations_.find(index); found != operations_.end())
      addTimes(one, found->second, graph);
    graph.launches.push_back(one);
  }

  void addTimes(GraphLaunch &launch, const std::vector<std::size_t> &operations, Graph &graph) {
    launch.operations = operations.size();
    std::vector<const LoggedOperation *> timed;
    for (const std::size_t i : operations)
      if (log_.operations[i].has_times) timed.push_back(&log_.operations[i]);
    if (timed.empty()) return;
    std::ranges::sort(timed, {}, [](const auto *operation) { return operation->start_ns; });
    uint64_t until = timed.front()->start_ns;
    for (const LoggedOperation *operation : timed) {
      const uint64_t from = std::max(until, operation->start_ns);
      until = std::max(until, operation->end_ns);
      launch.busy_ns += until - std::min(from, until);
    }
    launch.span_ns = until - timed.front()->start_ns;
    if (!graph.kernels.empty()) return;
    for (const LoggedOperation *operation : timed) graph.kernels.push_back(nameOf(*operation));
  }

  const TraceLog &log_;
  std::unordered_map<std::size_t, std::vector<std::size_t>> operations_; ///< by call
  std::map<Handle, Captured> open_;                                      ///< by stream
  std::map<Handle, Captured> captured_;                                  ///< by graph
  std::map<Handle, std::size_t> current_;
  std::vector<Graph> graphs_;
};

std::string madeFrom(const Graph &graph) {
  std::string text;
  for (const GraphCapture &capture : graph.captures)
    text += fmt::format("  captured from stream {:#x} by thread {} in {}\n", capture.stream,
                        capture.tid, durationText(capture.end_ns - capture.start_ns));
  if (graph.instantiate_ns && graph.captures.empty()) text += "  made node by node\n";
  if (graph.instantiate_ns)
    text += fmt::format("  instantiated in {}\n", durationText(*graph.instantiate_ns));
  else
    text += "  instantiated before the recording began\n";
  return text;
}

std::string kernelList(const Graph &graph) {
  if (graph.kernels.empty()) return "";
  std::string text = graph.is_captured_order ? "  kernels in order\n" : "  as it ran at first\n";
  for (std::size_t i = 0; i < graph.kernels.size();) {
    std::size_t same = 1; // one line for neighbors of the same name
    while (i + same < graph.kernels.size() && graph.kernels[i + same] == graph.kernels[i]) ++same;
    const std::string &name = graph.kernels[i];
    text += fmt::format("  {:>6}  {}{}\n", i + 1,
                        name.empty() ? "(name not known)" : nameCell(name, 80),
                        same > 1 ? fmt::format("  x {}", same) : "");
    i += same;
  }
  return text;
}

std::string launchTable(const TraceLog &log, const Graph &graph, std::size_t rows) {
  if (graph.launches.empty()) return "  never launched\n";
  std::string text = fmt::format("  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}\n", "launch", "API time",
                                 "on the GPU", "busy", "operations");
  const auto known = [&](const std::string &what) { return log.has_operations ? what : "-"; };
  const auto line = [&](const std::string &name, const GraphLaunch &launch) {
    text +=
        fmt::format("  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}\n", name, durationText(launch.api_ns),
                    known(durationText(launch.span_ns)), known(durationText(launch.busy_ns)),
                    known(std::to_string(launch.operations)));
  };
  GraphLaunch sum;
  for (std::size_t i = 0; i < graph.launches.size(); ++i) {
    const GraphLaunch &launch = graph.launches[i];
    if (i < rows) line(std::to_string(i + 1), launch);
    sum.api_ns += launch.api_ns;
    sum.span_ns += launch.span_ns;
    sum.busy_ns += launch.busy_ns;
    sum.operations += launch.operations;
  }
  const std::size_t count = graph.launches.size();
  if (count > rows) text += fmt::format("  ... and {} more\n", count - rows);
  if (count > 1) {
    line("mean",
         {0, sum.api_ns / count, sum.span_ns / count, sum.busy_ns / count, sum.operations / count});
    line("total", sum);
  }
  return text;
}

} // namespace

std::vector<Graph> graphsOf(const TraceLog &log) { return GraphFinder(log).find(); }

std::string graphText(const TraceLog &log, const std::vector<Graph> &graphs, std::size_t rows) {
  if (graphs.empty()) return "no graphs\n";
  std::string text;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const Graph &graph = graphs[i];
    text += fmt::format("{}graph {}: {:#x}{}, process {}, {} launches\n", i == 0 ? "" : "\n", i + 1,
                        graph.exec, graph.handle != 0 ? fmt::format(" of {:#x}", graph.handle) : "",
                        graph.pid, graph.launches.size());
    text += madeFrom(graph) + kernelList(graph) + launchTable(log, graph, rows);
  }
  return text;
}

} // namespace fade::host_trace
