#include "analysis/critical_path/program_dag.h"

#include "analysis/critical_path/queue_room.h"
#include "analysis/critical_path/stream_order.h"
#include "analysis/critical_path/thread_order.h"
#include "analysis/host_events/api_text.h"
#include "analysis/host_events/operation_view.h"
#include "base/hip_helpers.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace fade::profile {
namespace {

using host_trace::Call;
using host_trace::HostEvents;
using host_trace::Operation;

constexpr uint64_t kShortestGap = 1'000;  ///< ns between two calls that are worth a node
constexpr uint64_t kClocksDiffer = 2'000; ///< ns, of host and GPU

/// Its work is done when it returns, if that is what was seen.
bool mayBlock(const Call &call) { return std::string_view(call.function->group) == "copy"; }

/// Nobody has promised that it waits.
bool mayReturnAtOnce(const Call &call) {
  return std::string_view(call.function->name).find("Async") != std::string_view::npos;
}

/// A module is given back when the process ends. What comes between the last call of the program
/// and that is the end of the process, with that of FADE in it.
bool endsProgram(const Call &call) {
  return std::string_view(call.function->name) == "__hipUnregisterFatBinary";
}

/// Whether its stream calls a function of the program.
bool addsCallback(const Call &call) {
  const std::string_view name = call.function->name;
  return name.starts_with("hipStreamAddCallback") || name.starts_with("hipLaunchHostFunc");
}

class Builder {
public:
  explicit Builder(const HostEvents &events)
      : events_(events), launched_(events), thread_order_(events), queue_room_(events),
        node_of_operation_(events.operations.size(), UINT32_MAX) {}

  ProgramDag build() {
    sortOperations();
    for (std::size_t i = 0; i < events_.calls.size(); ++i)
      if (events_.calls[i].parent == 0 && !endsProgram(events_.calls[i])) add(i);
    for (const uint32_t each : without_call_) addOperation(each, nullptr, {});
    return finish();
  }

private:
  struct ValueNodes {
    uint32_t written = UINT32_MAX;
    Nodes before;  ///< what the writing itself waits for
    Nodes waiting; ///< since then
  };
  struct HostThread {
    uint32_t node = UINT32_MAX; ///< the last
    uint64_t end_ns = 0;
  };

  /// By the outermost call that asked for them, each call's in order of submission.
  void sortOperations() {
    for (uint32_t i = 0; i < events_.operations.size(); ++i) {
      const Operation &operation = events_.operations[i];
      if (!operation.has_times || operation.end_ns < operation.start_ns) {
        ++result_.left_out;
        continue;
      }
      auto at = events_.callAt(operation.event.call);
      while (at && events_.calls[*at].parent != 0)
        if (const auto outer = events_.callAt(events_.calls[*at].parent))
          at = outer;
        else
          break;
      if (at)
        of_call_[*at].push_back(i);
      else
        without_call_.push_back(i);
    }
    for (auto &[call, all] : of_call_)
      std::ranges::sort(all, {}, [&](uint32_t i) {
        return std::pair(events_.operations[i].event.submitted_ns, i);
      });
  }

  uint32_t nameNumber(std::string name, std::string module = "") {
    const auto next = static_cast<uint32_t>(result_.names.size());
    const auto [at, is_new] = numbers_.try_emplace({std::move(name), std::move(module)}, next);
    if (is_new) {
      result_.names.push_back(at->first.first);
      result_.modules.push_back(at->first.second);
    }
    return at->second;
  }

  uint32_t newNode(const ProgramNode &node) {
    result_.nodes.push_back(node);
    return static_cast<uint32_t>(result_.nodes.size() - 1);
  }
  void connect(uint32_t from, uint32_t to, EdgeKind kind, bool is_guess = false) {
    if (from != UINT32_MAX)
      edges_.push_back({from, to, kind, is_guess || callbacks_.contains(from)});
  }
  /// What had not ended by then was not waited for, whatever the rules say.
  void connectIfBefore(uint32_t from, uint32_t to, EdgeKind kind) {
    endCallback(from, result_.nodes[to].start_ns);
    if (result_.nodes[from].end_ns <= result_.nodes[to].start_ns + kClocksDiffer)
      connect(from, to, kind);
  }

  /// What a thread does in a call from where it was until then. Returns the thread's last node,
  /// which is the one before if there is nothing new.
  uint32_t hostNode(HostThread &thread, const Call &call, uint64_t until_ns,
                    bool is_wanted = false) {
    if (until_ns <= thread.end_ns && !is_wanted && thread.node != UINT32_MAX) return thread.node;
    ProgramNode node;
    node.kind = NodeKind::call;
    node.name = nameNumber(call.function->name);
    node.call = call.position;
    return addTo(thread, {call.thread.pid, call.thread.tid}, node, until_ns);
  }
  /// The time between two calls, up to the second one or to the first call of a thread that was
  /// started meanwhile. Until other threads have ended it waits for them.
  void gapNode(HostThread &thread, const ThreadOrder::Key &key, uint64_t until_ns) {
    if (until_ns > thread.end_ns)
      gapNode(thread, key, until_ns, thread_order_.awaited(key, thread.end_ns, until_ns));
  }
  void gapNode(HostThread &thread, const ThreadOrder::Key &key, uint64_t until_ns,
               const std::vector<ThreadOrder::Key> &awaited) {
    ProgramNode node;
    node.kind = NodeKind::host;
    node.name = host_name_;
    const uint32_t number = addTo(thread, key, node, until_ns);
    for (const ThreadOrder::Key &each : awaited)
      connect(threads_[each].node, number, EdgeKind::thread, true);
  }
  uint32_t addTo(HostThread &thread, const ThreadOrder::Key &key, ProgramNode node,
                 uint64_t until_ns) {
    std::tie(node.pid, node.thread) = key;
    node.start_ns = thread.end_ns;
    node.end_ns = std::max(until_ns, thread.end_ns);
    const uint32_t number = newNode(node);
    const bool is_first = thread.node != UINT32_MAX &&
                          result_.nodes[thread.node].thread != node.thread; // who has started it?
    connect(thread.node, number, EdgeKind::thread, is_first);
    thread.node = number;
    thread.end_ns = node.end_ns;
    return number;
  }

  /// A thread begins with its first call, after what the one that started it had done by then. The
  /// main thread may have started and awaited others before.
  void begin(HostThread &thread, const ThreadOrder::Key &key, uint64_t start_ns) {
    thread.end_ns = start_ns;
    const auto awaited = thread_order_.awaited(key, 0, start_ns);
    if (!awaited.empty()) {
      thread.end_ns = 0;
      for (const ThreadOrder::Key &each : awaited)
        thread.end_ns = std::max(thread.end_ns, threads_[each].end_ns);
      return gapNode(thread, key, start_ns, awaited);
    }
    const auto starter = thread_order_.starterOf(key);
    if (!starter) return;
    HostThread &other = threads_[*starter];
    if (other.node == UINT32_MAX) return;
    gapNode(other, *starter, start_ns);
    thread.node = other.node;
  }

  void add(std::size_t index) {
    const Call &call = events_.calls[index];
    const ThreadOrder::Key key(call.thread.pid, call.thread.tid);
    HostThread &thread = threads_[key];
    if (thread.node == UINT32_MAX)
      begin(thread, key, call.start_ns);
    else if (call.start_ns >= thread.end_ns + kShortestGap)
      gapNode(thread, key, call.start_ns);
    const auto own = of_call_.find(index);
    const bool has_work = own != of_call_.end();
    Nodes started;
    if (has_work) {
      const Nodes before = order_.before(call);
      started = addWork(call, own->second, thread);
      connectValues(call, started.back(), before);
    }
    if (!call.hasReturned()) return;
    const Nodes waits = waitedFor(call, started);
    const uint32_t node = hostNode(thread, call, call.end_ns, true);
    const bool is_guess = waitsOf(call.function->name) == Waits::maybe_device ||
                          (mayBlock(call) && mayReturnAtOnce(call));
    for (const uint32_t each : waits) connect(each, node, EdgeKind::sync, is_guess);
    if (addsCallback(call) && call.result == 0 && !order_.isCaptured(call)) addCallback(call, node);
    order_.returned(call, has_work ? "" : capturedName(index));
  }

  /// A function of the program that a stream calls: after what was in the stream before. Nothing
  /// says when it ended; what waits for it does.
  void addCallback(const Call &call, uint32_t call_node) {
    const Nodes before = order_.before(call), waits = order_.takeWaits(call);
    ProgramNode node;
    node.kind = NodeKind::host;
    node.name = nameNumber("callback");
    node.pid = call.thread.pid;
    node.call = call.position;
    node.start_ns = call.end_ns;
    for (const Nodes *all : {&before, &waits})
      for (const uint32_t each : *all)
        node.start_ns = std::max(node.start_ns, result_.nodes[each].end_ns);
    node.end_ns = node.start_ns;
    const uint32_t number = newNode(node);
    connect(call_node, number, EdgeKind::launch);
    for (const uint32_t each : before) connect(each, number, EdgeKind::stream);
    for (const uint32_t each : waits) connect(each, number, EdgeKind::event);
    callbacks_.emplace(number, false);
    order_.submitted(call, {number});
  }
  /// Somebody who waits for this node went on then: if it is a callback, it had ended.
  void endCallback(uint32_t number, uint64_t ns) {
    const auto at = callbacks_.find(number);
    if (at == callbacks_.end()) return;
    ProgramNode &node = result_.nodes[number];
    const uint64_t end_ns = std::max(node.start_ns, ns);
    node.end_ns = std::exchange(at->second, true) ? std::min(node.end_ns, end_ns) : end_ns;
  }

  /// HIP lets a kernel wait until another one has written a value: that is no work.
  void connectValues(const Call &call, uint32_t node, const Nodes &before) {
    const std::string_view name = call.function->name;
    const bool is_write = name.starts_with("hipStreamWriteValue");
    if (!is_write && !name.starts_with("hipStreamWaitValue")) return;
    ValueNodes &value = values_[{call.thread.pid, host_trace::argument(call, "ptr").value_or(0)}];
    if (is_write) {
      value.written = node;
      value.before = before;
      for (const uint32_t waiting : std::exchange(value.waiting, {})) connectValue(value, waiting);
    } else {
      connectValue(value, node);
      value.waiting.push_back(node);
    }
  }
  /// The value is there before the kernel that writes it has ended.
  void connectValue(const ValueNodes &value, uint32_t waiting) {
    if (value.written == UINT32_MAX) return;
    const auto isBefore = [&](uint32_t node) {
      return result_.nodes[node].end_ns <= result_.nodes[waiting].end_ns;
    };
    if (isBefore(value.written)) return connect(value.written, waiting, EdgeKind::event);
    for (const uint32_t node : value.before)
      if (isBefore(node)) connect(node, waiting, EdgeKind::event);
  }

  /// What a call that started nothing would have started: it was captured, maybe.
  std::string capturedName(std::size_t index) const {
    const Call &call = events_.calls[index];
    if (const auto copy = host_trace::copyOf(call)) return copy->is_fill ? "fill" : "copy";
    if (!host_trace::isLaunch(call) ||
        std::string_view(call.function->name).starts_with("hipGraphLaunch"))
      return "";
    return launched_.nameOf(index);
  }

  /// What a call does until it has given an operation to the GPU; it may have to wait for room.
  /// HIP waits on the host for what was in the stream before it submits many a copy.
  void submit(const Call &call, uint32_t operation, HostThread &thread, const Nodes &in_stream) {
    const uint64_t until_ns =
        std::clamp(events_.operations[operation].event.submitted_ns, thread.end_ns,
                   call.hasReturned() ? call.end_ns : UINT64_MAX);
    const auto awaited = queue_room_.awaited(operation, thread.end_ns);
    const uint32_t before = thread.node, node = hostNode(thread, call, until_ns);
    if (awaited && node != before && node_of_operation_[*awaited] != UINT32_MAX)
      connect(node_of_operation_[*awaited], node, EdgeKind::sync, true);
    if (!mayBlock(call) || node == before) return;
    for (const uint32_t each : in_stream) {
      // When a callback ended is said by what comes after it in the stream.
      if (!callbacks_.contains(each) && result_.nodes[each].end_ns <= until_ns)
        connect(each, node, EdgeKind::sync, mayReturnAtOnce(call));
    }
  }

  /// The operations that a call has asked for.
  Nodes addWork(const Call &call, const std::vector<uint32_t> &operations, HostThread &thread) {
    const bool is_graph = std::string_view(call.function->group) == "graph";
    const Nodes first = order_.before(call), waits = order_.takeWaits(call);
    Nodes in_stream = first;
    in_stream.insert(in_stream.end(), waits.begin(), waits.end());
    const std::optional<Nodes> parts = graphParts(call, operations);
    Nodes started, node_of_part(parts ? parts->size() : 0);
    std::vector<bool> is_waited_for(operations.size(), false);
    std::map<uint64_t, std::size_t>
        last_of_queue; // of a graph's branches, if nothing else is known
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const Operation &operation = events_.operations[operations[i]];
      submit(call, operations[i], thread, i == 0 ? in_stream : Nodes{});
      std::vector<std::size_t> within; // which of these it depends on
      if (parts) {
        for (const uint32_t part : order_.launchedGraph(call)->parts[(*parts)[i]].before)
          within.push_back(node_of_part[part]);
      } else if (!is_graph) {
        if (i > 0) within.push_back(i - 1);
      } else if (const auto at = last_of_queue.find(operation.event.queue);
                 at != last_of_queue.end()) {
        within.push_back(at->second);
      }
      Nodes before;
      for (const std::size_t each : within) {
        before.push_back(started[each]);
        is_waited_for[each] = true;
      }
      const uint32_t node =
          addOperation(operations[i], &thread, within.empty() ? first : before,
                       parts && !within.empty() ? EdgeKind::graph : EdgeKind::stream);
      if (within.empty())
        for (const uint32_t other : waits) connectIfBefore(other, node, EdgeKind::event);
      if (parts) node_of_part[(*parts)[i]] = static_cast<uint32_t>(i);
      last_of_queue[operation.event.queue] = i;
      started.push_back(node);
    }
    Nodes last;
    for (std::size_t i = 0; i < started.size(); ++i)
      if (!is_waited_for[i]) last.push_back(started[i]);
    order_.submitted(call, std::move(last));
    return started;
  }

  /// Which parts of a captured graph a launch of it has run.
  std::optional<Nodes> graphParts(const Call &call, const std::vector<uint32_t> &operations) const {
    const CapturedGraph *graph = order_.launchedGraph(call);
    if (!graph) return std::nullopt;
    std::vector<std::string> names;
    for (const uint32_t each : operations) {
      const auto view = host_trace::viewOf(events_, events_.operations[each]);
      const bool is_own = isHipHelper(view.kernel);
      names.push_back(
          view.purpose == host_trace::Purpose::fill || (is_own && isFillKernel(view.kernel))
              ? "fill"
          : view.purpose == host_trace::Purpose::copy || is_own ? "copy"
                                                                : std::string(view.kernel));
    }
    return partsOf(*graph, names);
  }
  static bool isFillKernel(std::string_view kernel) {
    return kernel.find("fill") != std::string_view::npos;
  }

  uint32_t addOperation(uint32_t index, HostThread *thread, const Nodes &before,
                        EdgeKind kind = EdgeKind::stream) {
    const Operation &operation = events_.operations[index];
    const auto view = host_trace::viewOf(events_, operation);
    ProgramNode node;
    node.kind = view.purpose == host_trace::Purpose::kernel ? NodeKind::kernel
                : view.purpose == host_trace::Purpose::fill ? NodeKind::fill
                                                            : NodeKind::copy;
    node.name = nameNumber(node.kind == NodeKind::kernel ? std::string(view.kernel)
                           : node.kind == NodeKind::fill
                               ? std::string("fill")
                               : fmt::format("copy {}", host_trace::nameOf(view.direction)),
                           node.kind == NodeKind::kernel ? view.module : std::string());
    node.pid = operation.pid;
    node.gpu = operation.event.gpu;
    node.queue = operation.event.queue;
    node.start_ns = operation.start_ns;
    node.end_ns = operation.end_ns;
    node.call = operation.event.call;
    node.operation = index;
    const uint32_t number = newNode(node);
    node_of_operation_[index] = number;
    if (thread) connect(thread->node, number, EdgeKind::launch);
    for (const uint32_t other : before) connectIfBefore(other, number, kind);
    if (operation.isKernel()) {
      uint32_t &last =
          queues_.try_emplace({operation.pid, operation.event.queue}, UINT32_MAX).first->second;
      if (last != UINT32_MAX && std::ranges::find(before, last) == before.end())
        connectIfBefore(last, number, EdgeKind::queue);
      last = number;
    }
    return number;
  }

  Nodes waitedFor(const Call &call, const Nodes &started) {
    const Waits waits = waitsOf(call.function->name);
    Nodes nodes = order_.waitedFor(call);
    if (mayBlock(call)) nodes = started;
    // Copied by the host itself, when the GPU had done what was in the stream before.
    if (mayBlock(call) && started.empty() && !mayReturnAtOnce(call) && !order_.isCaptured(call))
      nodes = order_.before(call);
    if (waits != Waits::maybe_device)
      for (const uint32_t node : nodes) endCallback(node, call.end_ns - 1);
    std::erase_if(nodes, [&](uint32_t node) {
      const uint64_t end = result_.nodes[node].end_ns;
      return end > call.end_ns || (waits == Waits::maybe_device && end <= call.start_ns);
    });
    return nodes;
  }

  /// Numbers the nodes in order, and says what of their time is their own.
  ProgramDag finish() {
    std::vector<ProgramNode> &nodes = result_.nodes;
    Nodes order(nodes.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(
        order, {}, [&](uint32_t i) { return std::tuple(nodes[i].end_ns, nodes[i].start_ns, i); });
    Nodes number(nodes.size());
    std::vector<ProgramNode> sorted;
    sorted.reserve(nodes.size());
    for (uint32_t i = 0; i < order.size(); ++i) {
      number[order[i]] = i;
      sorted.push_back(nodes[order[i]]);
    }
    nodes = std::move(sorted);
    if (!nodes.empty())
      result_.begin_ns = std::ranges::min_element(nodes, {}, &ProgramNode::start_ns)->start_ns;
    std::vector<uint64_t> ready(nodes.size(), result_.begin_ns);
    for (Edge &edge : edges_) {
      edge.from = number[edge.from];
      edge.to = number[edge.to];
      if (edge.from < edge.to) ready[edge.to] = std::max(ready[edge.to], nodes[edge.from].end_ns);
    }
    std::vector<Weight> weights(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const uint64_t begin = std::max(ready[i], nodes[i].start_ns);
      weights[i].work_ns = nodes[i].end_ns - std::min(begin, nodes[i].end_ns);
      weights[i].delay_ns = nodes[i].end_ns - ready[i] - weights[i].work_ns;
    }
    result_.dag = Dag(std::move(weights), std::move(edges_));
    return std::move(result_);
  }

  const HostEvents &events_;
  const host_trace::LaunchedKernels launched_;
  ProgramDag result_;
  std::vector<Edge> edges_;
  std::unordered_map<std::size_t, std::vector<uint32_t>> of_call_;
  std::vector<uint32_t> without_call_;
  std::map<std::pair<std::string, std::string>, uint32_t> numbers_; ///< of names and modules
  const uint32_t host_name_ = nameNumber("host");
  const ThreadOrder thread_order_;
  const QueueRoom queue_room_;
  Nodes node_of_operation_; ///< by index; UINT32_MAX: none yet
  std::map<ThreadOrder::Key, HostThread> threads_;
  StreamOrder order_;
  std::map<std::pair<uint32_t, uint64_t>, ValueNodes> values_; ///< by process and address
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> queues_;
  std::map<uint32_t, bool> callbacks_; ///< nodes, and whether their end is known
};

} // namespace

std::string_view nameOf(NodeKind kind) {
  constexpr std::string_view names[] = {"call", "host", "kernel", "copy", "fill"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view nameOf(EdgeKind kind) {
  constexpr std::string_view names[] = {"thread", "launch", "stream", "queue",
                                        "event",  "sync",   "graph"};
  return names[static_cast<std::size_t>(kind)];
}

ProgramDag programDagOf(const HostEvents &events) {
  ProgramDag program = Builder(events).build();
  program.times = events.aboutTimes();
  return program;
}

} // namespace fade::profile
