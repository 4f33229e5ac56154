#include "analysis/critical_path/stream_order.h"

#include "analysis/host_events/api_text.h"

#include <algorithm>

namespace fade::profile {

using host_trace::argument;
using host_trace::Call;

namespace {

// Handles that stand for streams without one; those of others are addresses.
constexpr uint64_t kLegacyStream = 1, kThreadStream = 2, kMostDevices = 1024;
constexpr uint64_t kOfThread = uint64_t{1} << 63;

bool isDefault(uint64_t key) { return key < kMostDevices; }

bool isOneOf(std::string_view name, std::initializer_list<std::string_view> all) {
  return std::ranges::find(all, name) != all.end();
}

void merge(Nodes &to, const Nodes &more) {
  for (const uint32_t node : more)
    if (std::ranges::find(to, node) == to.end()) to.push_back(node);
}

/// For lists that may become long: some may be there twice.
void append(Nodes &to, const Nodes &more) { to.insert(to.end(), more.begin(), more.end()); }

uint64_t eventOf(const Call &call) { return argument(call, "event").value_or(0); }

bool hasSucceeded(const Call &call) { return static_cast<uint32_t>(call.result) == 0; }

} // namespace

Waits waitsOf(std::string_view name) {
  if (name.ends_with("_spt")) name.remove_suffix(4);
  // Those who ask until the answer is yes have waited as well.
  if (isOneOf(name, {"hipStreamSynchronize", "hipStreamDestroy", "hipStreamQuery"}))
    return Waits::stream;
  if (isOneOf(name, {"hipEventSynchronize", "hipEventQuery"})) return Waits::event;
  if (isOneOf(name, {"hipDeviceSynchronize", "hipCtxSynchronize", "hipDeviceReset"}))
    return Waits::device;
  if (isOneOf(name, {"hipFree", "hipHostFree", "hipFreeHost", "hipFreeArray", "hipModuleUnload",
                     "hipHostUnregister"}))
    return Waits::maybe_device;
  return Waits::none;
}

std::optional<Nodes> partsOf(const CapturedGraph &graph, const std::vector<std::string> &names) {
  if (names.size() != graph.parts.size()) return std::nullopt;
  std::vector<bool> is_taken(names.size(), false);
  const auto isReady = [&](const CapturedGraph::Part &part) {
    return std::ranges::all_of(part.before, [&](uint32_t each) { return is_taken[each]; });
  };
  Nodes parts;
  std::size_t first = 0; // all before it are taken
  for (const std::string &name : names) {
    std::size_t part = first;
    while (part < graph.parts.size() &&
           (is_taken[part] || graph.parts[part].name != name || !isReady(graph.parts[part])))
      ++part;
    if (part == graph.parts.size()) return std::nullopt;
    is_taken[part] = true;
    while (first < is_taken.size() && is_taken[first]) ++first;
    parts.push_back(static_cast<uint32_t>(part));
  }
  return parts;
}

uint32_t StreamOrder::deviceOf(const Call &call) const {
  const auto at = devices_.find({call.thread.pid, call.thread.tid});
  return at == devices_.end() ? 0 : at->second;
}

/// Every GPU has a default stream, and every thread one of its own for each.
StreamOrder::Key StreamOrder::keyOf(const Call &call) const {
  uint64_t handle = 0;
  for (const char *name : {"stream", "hStream"})
    if (const auto given = argument(call, name)) handle = *given;
  const bool is_of_thread =
      handle == kThreadStream ||
      (handle == 0 && std::string_view(call.function->name).ends_with("_spt"));
  const uint64_t device = deviceOf(call);
  if (is_of_thread) return {call.thread.pid, kOfThread | (device << 40) | call.thread.tid};
  return {call.thread.pid, handle == 0 || handle == kLegacyStream ? device : handle};
}

StreamOrder::Stream &StreamOrder::streamOf(const Call &call) {
  const auto [at, is_new] = streams_.try_emplace(keyOf(call));
  if (is_new) at->second.device = deviceOf(call);
  return at->second;
}

/// All of the same GPU but the default stream.
template <typename F> void StreamOrder::forOtherStreams(const Call &call, F f) {
  const uint32_t pid = call.thread.pid, device = deviceOf(call);
  for (auto at = streams_.lower_bound({pid, kMostDevices});
       at != streams_.end() && at->first.first == pid; ++at)
    if (at->second.device == device) f(at->second);
}

/// The default stream waits for all others that do not say otherwise, and they for it.
Nodes StreamOrder::before(const Call &call) {
  Stream &stream = streamOf(call);
  Nodes nodes = stream.last;
  if (isDefault(keyOf(call).second)) {
    forOtherStreams(call, [&](const Stream &other) {
      if (!other.is_independent) merge(nodes, other.last);
    });
  } else if (!stream.is_independent) {
    const auto at = streams_.find({call.thread.pid, stream.device});
    if (at != streams_.end()) merge(nodes, at->second.last);
  }
  return nodes;
}

Nodes StreamOrder::takeWaits(const Call &call) {
  Nodes nodes = std::exchange(streamOf(call).waits, {});
  std::ranges::sort(nodes);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  return nodes;
}

void StreamOrder::submitted(const Call &call, Nodes last) {
  // What comes next in the others depends on this, and by it on what they had before.
  if (isDefault(keyOf(call).second))
    forOtherStreams(call, [&](Stream &other) {
      if (!other.is_independent) other.last.clear();
    });
  // Launches that record an event at their end.
  if (const auto event = argument(call, "stopEvent"); event && *event != 0)
    events_[{call.thread.pid, *event}] = {last, nullptr, {}};
  streamOf(call).last = std::move(last);
}

Nodes StreamOrder::waitedFor(const Call &call) {
  const Waits waits = waitsOf(call.function->name);
  if (waits == Waits::none || !hasSucceeded(call)) return {};
  Nodes nodes;
  if (waits == Waits::stream) {
    nodes = before(call);
    append(nodes, streamOf(call).waits);
  } else if (waits == Waits::event) {
    const auto at = events_.find({call.thread.pid, eventOf(call)});
    if (at != events_.end()) nodes = at->second.nodes;
  } else {
    const auto at = streams_.find({call.thread.pid, deviceOf(call)});
    if (at != streams_.end()) nodes = at->second.last;
    forOtherStreams(call, [&](const Stream &other) { merge(nodes, other.last); });
  }
  return nodes;
}

void StreamOrder::capture(Stream &stream, const std::string &name) {
  CapturedGraph::Part part{name, stream.last_parts};
  merge(part.before, std::exchange(stream.part_waits, {}));
  stream.last_parts = {static_cast<uint32_t>(stream.graph->parts.size())};
  stream.graph->parts.push_back(std::move(part));
}

void StreamOrder::record(const Call &call, uint64_t event) {
  Stream &stream = streamOf(call);
  Recorded recorded;
  if (stream.graph) {
    recorded.graph = stream.graph;
    recorded.parts = stream.last_parts;
    merge(recorded.parts, stream.part_waits);
  } else {
    recorded.nodes = before(call);
    append(recorded.nodes, stream.waits);
  }
  events_[{call.thread.pid, event}] = std::move(recorded);
}

void StreamOrder::waitForEvent(const Call &call) {
  const auto at = events_.find({call.thread.pid, eventOf(call)});
  if (at == events_.end()) return;
  Stream &stream = streamOf(call);
  const Recorded &recorded = at->second;
  if (recorded.graph) { // the stream takes part in the capture from now on
    if (stream.graph != recorded.graph) {
      stream.graph = recorded.graph;
      stream.last_parts.clear();
      stream.part_waits.clear();
    }
    merge(stream.part_waits, recorded.parts);
  } else {
    append(stream.waits, recorded.nodes);
  }
}

void StreamOrder::noteGraph(const Call &call, std::string_view name) {
  const uint32_t pid = call.thread.pid;
  if (name.starts_with("hipStreamBeginCapture")) {
    Stream &stream = streamOf(call);
    // One that is added to a graph has parts that nobody has seen.
    stream.graph = name.starts_with("hipStreamBeginCaptureToGraph")
                       ? nullptr
                       : std::make_shared<CapturedGraph>();
    stream.last_parts.clear();
    stream.part_waits.clear();
  } else if (name.starts_with("hipStreamEndCapture")) {
    const auto graph = streamOf(call).graph;
    if (!graph) return;
    graphs_[{pid, argument(call, "pGraph").value_or(0)}] = graph;
    for (auto &[key, stream] : streams_)
      if (stream.graph == graph) stream.graph = nullptr;
  } else if (name.starts_with("hipGraphInstantiate")) {
    const auto at = graphs_.find({pid, argument(call, "graph").value_or(0)});
    const Key key{pid, argument(call, "pGraphExec").value_or(0)};
    if (at == graphs_.end())
      executables_.erase(key);
    else
      executables_[key] = at->second;
  } else if (name.starts_with("hipGraphAdd") || name.starts_with("hipGraphRemove") ||
             name == "hipGraphDestroyNode" || name == "hipStreamUpdateCaptureDependencies") {
    // Changed by hand: what was captured does not describe it any more.
    const auto graph = argument(call, "graph");
    if (graph)
      graphs_.erase({pid, *graph});
    else
      std::erase_if(graphs_, [&](const auto &each) { return each.first.first == pid; });
  } else if (name.starts_with("hipGraphExec")) { // only arguments of its parts change
    if (name == "hipGraphExecDestroy")
      executables_.erase({pid, argument(call, "graphExec").value_or(0)});
  }
}

const CapturedGraph *StreamOrder::launchedGraph(const Call &call) const {
  if (!std::string_view(call.function->name).starts_with("hipGraphLaunch")) return nullptr;
  const auto at = executables_.find({call.thread.pid, argument(call, "graphExec").value_or(0)});
  return at == executables_.end() ? nullptr : at->second.get();
}

void StreamOrder::returned(const Call &call, const std::string &captured) {
  if (!hasSucceeded(call)) return;
  const std::string_view name = call.function->name;
  const uint32_t pid = call.thread.pid;
  if (!captured.empty()) {
    if (Stream &stream = streamOf(call); stream.graph) capture(stream, captured);
  } else if (name == "hipSetDevice") {
    devices_[{pid, call.thread.tid}] =
        static_cast<uint32_t>(std::min(argument(call, "deviceId").value_or(0), kMostDevices - 1));
  } else if (name.starts_with("hipStreamCreate") || name.starts_with("hipExtStreamCreate")) {
    constexpr uint64_t non_blocking = 1; // hipStreamNonBlocking
    Stream stream;
    stream.device = deviceOf(call);
    stream.is_independent = (argument(call, "flags").value_or(0) & non_blocking) != 0;
    streams_[keyOf(call)] = std::move(stream);
  } else if (name.starts_with("hipEventRecord")) {
    record(call, eventOf(call));
  } else if (name.starts_with("hipStreamWaitEvent")) {
    waitForEvent(call);
  } else if (name.starts_with("hipStreamWriteValue")) {
    Nodes nodes = before(call);
    append(nodes, streamOf(call).waits);
    Value &value = values_[{pid, argument(call, "ptr").value_or(0)}];
    for (const Key &waiting : std::exchange(value.waiting, {}))
      if (const auto at = streams_.find(waiting); at != streams_.end())
        append(at->second.waits, nodes);
    value.nodes = std::move(nodes);
  } else if (name.starts_with("hipStreamWaitValue")) {
    Value &value = values_[{pid, argument(call, "ptr").value_or(0)}];
    append(streamOf(call).waits, value.nodes);
    value.waiting.push_back(keyOf(call));
  } else if (name.starts_with("hipStreamDestroy")) {
    streams_.erase(keyOf(call));
  } else {
    noteGraph(call, name);
  }
}

} // namespace fade::profile
