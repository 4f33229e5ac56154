#include "profile/program_dag.h"

#include "trace/api_text.h"
#include "trace/operation_view.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <unordered_map>

namespace fade::profile {
namespace {

using host_trace::Call;
using host_trace::HostEvents;
using host_trace::Operation;

constexpr uint64_t kShortestGap = 1'000;  ///< ns between two calls that are worth a node
constexpr uint64_t kClocksDiffer = 2'000; ///< ns, of host and GPU

using Nodes = std::vector<uint32_t>;

/// Which work a call waits for before it returns.
enum class Waits { none, stream, event, device, maybe_device };

Waits waitsOf(std::string_view name) {
  const auto is = [&](std::initializer_list<std::string_view> all) {
    return std::ranges::any_of(all, [&](std::string_view each) { return name == each; });
  };
  if (name.ends_with("_spt")) name.remove_suffix(4);
  if (is({"hipStreamSynchronize", "hipStreamDestroy"})) return Waits::stream;
  if (name == "hipEventSynchronize") return Waits::event;
  if (is({"hipDeviceSynchronize", "hipCtxSynchronize", "hipDeviceReset"})) return Waits::device;
  if (is({"hipFree", "hipHostFree", "hipFreeHost", "hipFreeArray", "hipModuleUnload",
          "hipHostUnregister"}))
    return Waits::maybe_device;
  return Waits::none;
}

/// Its work is done when it returns, if that is what was seen.
bool mayBlock(const Call &call) { return std::string_view(call.function->group) == "copy"; }

class Builder {
public:
  explicit Builder(const HostEvents &events) : events_(events) {}

  ProgramDag build() {
    sortOperations();
    for (std::size_t i = 0; i < events_.calls.size(); ++i)
      if (events_.calls[i].parent == 0) add(i);
    for (const uint32_t each : without_call_) addOperation(events_.operations[each], nullptr, {});
    return finish();
  }

private:
  struct Stream {
    Nodes last;                  ///< what comes next depends on them
    Nodes waits;                 ///< for these as well, because of hipStreamWaitEvent
    bool is_independent = false; ///< of the default stream
  };
  struct HostThread {
    uint32_t node = UINT32_MAX; ///< the last
    uint64_t end_ns = 0;
  };
  using Key = std::pair<uint32_t, uint64_t>; ///< process and handle

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

  uint32_t nameNumber(std::string name) {
    const auto [at, is_new] =
        numbers_.try_emplace(std::move(name), static_cast<uint32_t>(result_.names.size()));
    if (is_new) result_.names.push_back(at->first);
    return at->second;
  }

  uint32_t newNode(const ProgramNode &node) {
    result_.nodes.push_back(node);
    return static_cast<uint32_t>(result_.nodes.size() - 1);
  }
  void connect(uint32_t from, uint32_t to, EdgeKind kind) {
    if (from != UINT32_MAX) edges_.push_back({from, to, kind});
  }

  /// What a thread does from where it was until then. Returns the thread's last node, which is the
  /// one before if there is nothing new.
  uint32_t hostNode(HostThread &thread, const Call &call, NodeKind kind, uint64_t until_ns,
                    bool is_wanted = false) {
    if (until_ns <= thread.end_ns && !is_wanted && thread.node != UINT32_MAX) return thread.node;
    ProgramNode node;
    node.kind = kind;
    node.name = kind == NodeKind::host ? host_name_ : nameNumber(call.function->name);
    node.pid = call.thread.pid;
    node.thread = call.thread.tid;
    node.start_ns = thread.end_ns;
    node.end_ns = std::max(until_ns, thread.end_ns);
    node.call = kind == NodeKind::call ? call.position : 0;
    const uint32_t number = newNode(node);
    connect(thread.node, number, EdgeKind::thread);
    thread.node = number;
    thread.end_ns = node.end_ns;
    return number;
  }

  void add(std::size_t index) {
    const Call &call = events_.calls[index];
    HostThread &thread = threads_[{call.thread.pid, call.thread.tid}];
    if (thread.node == UINT32_MAX)
      thread.end_ns = call.start_ns;
    else if (call.start_ns >= thread.end_ns + kShortestGap)
      hostNode(thread, call, NodeKind::host, call.start_ns);
    const auto own = of_call_.find(index);
    const bool has_work = own != of_call_.end();
    Nodes started;
    if (has_work) started = addWork(call, own->second, thread);
    if (!call.hasReturned()) return;
    const Nodes waits = waitedFor(call, started);
    const uint32_t node = hostNode(thread, call, NodeKind::call, call.end_ns, true);
    for (const uint32_t each : waits) connect(each, node, EdgeKind::sync);
    noteStreams(call);
  }

  /// The operations that a call has asked for.
  Nodes addWork(const Call &call, const std::vector<uint32_t> &operations, HostThread &thread) {
    Stream &stream = streamOf(call);
    const bool is_graph = std::string_view(call.function->group) == "graph";
    Nodes before = dependenciesOf(call, stream), last;
    std::map<uint64_t, uint32_t> last_of_queue; // of a graph's branches
    Nodes started;
    for (const uint32_t each : operations) {
      const Operation &operation = events_.operations[each];
      hostNode(thread, call, NodeKind::call,
               std::clamp(operation.event.submitted_ns, thread.end_ns,
                          call.hasReturned() ? call.end_ns : UINT64_MAX));
      const auto branch = last_of_queue.find(operation.event.queue);
      const bool is_first = !is_graph || branch == last_of_queue.end();
      const uint32_t node =
          addOperation(operation, &thread, is_first ? before : Nodes{branch->second});
      if (is_first)
        for (const uint32_t other : stream.waits) connect(other, node, EdgeKind::event);
      last_of_queue[operation.event.queue] = node;
      started.push_back(node);
      if (!is_graph) before = {node};
    }
    for (const auto &[queue, node] : last_of_queue)
      if (is_graph || node == started.back()) last.push_back(node);
    stream.waits.clear();
    becomesLast(call, stream, std::move(last));
    return started;
  }

  uint32_t addOperation(const Operation &operation, HostThread *thread, const Nodes &before) {
    const auto view = host_trace::viewOf(events_, operation);
    ProgramNode node;
    node.kind = view.purpose == host_trace::Purpose::kernel ? NodeKind::kernel
                : view.purpose == host_trace::Purpose::fill ? NodeKind::fill
                                                            : NodeKind::copy;
    node.name = nameNumber(node.kind == NodeKind::kernel ? std::string(view.kernel)
                           : node.kind == NodeKind::fill
                               ? std::string("fill")
                               : fmt::format("copy {}", host_trace::nameOf(view.direction)));
    node.pid = operation.pid;
    node.gpu = operation.event.gpu;
    node.queue = operation.event.queue;
    node.start_ns = operation.start_ns;
    node.end_ns = operation.end_ns;
    node.call = operation.event.call;
    const uint32_t number = newNode(node);
    if (thread) connect(thread->node, number, EdgeKind::launch);
    const auto is_before = [&](uint32_t other) {
      return result_.nodes[other].end_ns <= node.start_ns + kClocksDiffer;
    };
    for (const uint32_t other : before)
      if (is_before(other)) connect(other, number, EdgeKind::stream);
    if (operation.isKernel()) {
      uint32_t &last =
          queues_.try_emplace({operation.pid, operation.event.queue}, UINT32_MAX).first->second;
      if (last != UINT32_MAX && std::ranges::find(before, last) == before.end() && is_before(last))
        connect(last, number, EdgeKind::queue);
      last = number;
    }
    return number;
  }

  static uint64_t handleOf(const Call &call) {
    for (const char *name : {"stream", "hStream"})
      if (const auto handle = argument(call, name)) return *handle;
    return 0;
  }
  Stream &streamOf(const Call &call) { return streams_[{call.thread.pid, handleOf(call)}]; }

  /// The default stream waits for all others of the process that do not say otherwise, and they for
  /// it.
  template <typename F> void forOtherStreams(const Call &call, F f) {
    const uint32_t pid = call.thread.pid;
    for (auto at = streams_.lower_bound({pid, 1}); at != streams_.end() && at->first.first == pid;
         ++at)
      f(at->second);
  }

  Nodes dependenciesOf(const Call &call, const Stream &stream) {
    Nodes before = stream.last;
    const auto merge = [&](const Nodes &more) {
      for (const uint32_t node : more)
        if (std::ranges::find(before, node) == before.end()) before.push_back(node);
    };
    if (handleOf(call) == 0)
      forOtherStreams(call, [&](const Stream &other) {
        if (!other.is_independent) merge(other.last);
      });
    else if (!stream.is_independent)
      merge(streams_[{call.thread.pid, 0}].last);
    return before;
  }

  void becomesLast(const Call &call, Stream &stream, Nodes last) {
    // What comes next in the others depends on this, and by it on what they had before.
    if (handleOf(call) == 0)
      forOtherStreams(call, [&](Stream &other) {
        if (!other.is_independent) other.last.clear();
      });
    stream.last = std::move(last);
  }

  Nodes waitedFor(const Call &call, const Nodes &started) {
    Nodes nodes;
    const Waits waits = waitsOf(call.function->name);
    if (waits == Waits::stream) nodes = dependenciesOf(call, streamOf(call));
    if (waits == Waits::event) nodes = recorded_[{call.thread.pid, eventOf(call)}];
    if (waits == Waits::device || waits == Waits::maybe_device) {
      nodes = streams_[{call.thread.pid, 0}].last;
      forOtherStreams(call, [&](const Stream &other) {
        nodes.insert(nodes.end(), other.last.begin(), other.last.end());
      });
    }
    if (mayBlock(call)) nodes = started;
    std::erase_if(nodes, [&](uint32_t node) {
      const uint64_t end = result_.nodes[node].end_ns;
      return end > call.end_ns || (waits == Waits::maybe_device && end <= call.start_ns);
    });
    return nodes;
  }

  static uint64_t eventOf(const Call &call) { return argument(call, "event").value_or(0); }

  /// Streams that are made, and events between them.
  void noteStreams(const Call &call) {
    const std::string_view name = call.function->name;
    const uint32_t pid = call.thread.pid;
    if (name.starts_with("hipStreamCreateWith")) {
      constexpr uint64_t non_blocking = 1; // hipStreamNonBlocking
      Stream stream;
      stream.is_independent = (argument(call, "flags").value_or(0) & non_blocking) != 0;
      streams_[{pid, handleOf(call)}] = std::move(stream);
    } else if (name.starts_with("hipEventRecord")) {
      recorded_[{pid, eventOf(call)}] = dependenciesOf(call, streamOf(call));
    } else if (name.starts_with("hipStreamWaitEvent")) {
      const auto at = recorded_.find({pid, eventOf(call)});
      Stream &stream = streamOf(call);
      if (at != recorded_.end())
        stream.waits.insert(stream.waits.end(), at->second.begin(), at->second.end());
    } else if (name.starts_with("hipStreamDestroy")) {
      streams_.erase({pid, handleOf(call)});
    }
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
  ProgramDag result_;
  std::vector<Edge> edges_;
  std::unordered_map<std::size_t, std::vector<uint32_t>> of_call_;
  std::vector<uint32_t> without_call_;
  std::unordered_map<std::string, uint32_t> numbers_;
  const uint32_t host_name_ = nameNumber("host");
  std::map<std::pair<uint32_t, uint32_t>, HostThread> threads_;
  std::map<Key, Stream> streams_;
  std::map<Key, Nodes> recorded_; ///< by event
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> queues_;
};

} // namespace

std::string_view nameOf(NodeKind kind) {
  constexpr std::string_view names[] = {"call", "host", "kernel", "copy", "fill"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view nameOf(EdgeKind kind) {
  constexpr std::string_view names[] = {"thread", "launch", "stream", "queue", "event", "sync"};
  return names[static_cast<std::size_t>(kind)];
}

ProgramDag programDagOf(const HostEvents &events) { return Builder(events).build(); }

} // namespace fade::profile
