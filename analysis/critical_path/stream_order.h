// The order that HIP promises: what a stream has to do waits for what was given to it before, for
// the default stream, for events and values that it was told to wait for; and the parts of a graph
// for each other, as they were when the graph was captured.
//
// Goes through calls in order of time. Nodes are numbers of whoever makes the graph of the program.
#pragma once

#include "analysis/host_events/event_reader.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fade::profile {

using Nodes = std::vector<uint32_t>;

/// What was captured into a graph, in order; each part with the parts that it waits for.
struct CapturedGraph {
  struct Part {
    std::string name; ///< of the kernel; "copy", "fill"
    Nodes before;     ///< numbers of parts
  };
  std::vector<Part> parts;
};

/// Which part of the graph each of these is, in the order of submission, if all are parts of it:
/// by name, and not before what they wait for. `names`: as above.
std::optional<Nodes> partsOf(const CapturedGraph &graph, const std::vector<std::string> &names);

class StreamOrder {
public:
  /// What work that this call asks for has to wait for by the order of its stream, and besides.
  Nodes before(const host_trace::Call &call);
  Nodes takeWaits(const host_trace::Call &call);
  /// The work has these for its last.
  void submitted(const host_trace::Call &call, Nodes last);
  /// What the call itself waits for, if it does.
  Nodes waitedFor(const host_trace::Call &call);
  /// A call that has returned: streams, events and graphs are made and used. `captured`: the name
  /// of what it would have started; empty: nothing, or it has.
  void returned(const host_trace::Call &call, const std::string &captured);
  /// Whether the call's stream is being captured: then it does nothing now.
  bool isCaptured(const host_trace::Call &call) { return streamOf(call).graph != nullptr; }
  /// The graph that this call launches; nullptr: not known.
  const CapturedGraph *launchedGraph(const host_trace::Call &call) const;

private:
  using Key = std::pair<uint32_t, uint64_t>; ///< process and handle
  struct Stream {
    Nodes last;  ///< what comes next depends on them
    Nodes waits; ///< for these as well, because of events and values
    uint32_t device = 0;
    bool is_independent = false; ///< of the default stream
    // While it is captured: parts of the graph instead of nodes.
    std::shared_ptr<CapturedGraph> graph;
    Nodes last_parts, part_waits;
  };
  struct Recorded {
    Nodes nodes;
    std::shared_ptr<CapturedGraph> graph;
    Nodes parts;
  };
  /// A place in memory that streams write and wait for.
  struct Value {
    Nodes nodes;              ///< what was to be done before it was written
    std::vector<Key> waiting; ///< streams, since then
  };

  uint32_t deviceOf(const host_trace::Call &call) const;
  Key keyOf(const host_trace::Call &call) const;
  Stream &streamOf(const host_trace::Call &call);
  template <typename F> void forOtherStreams(const host_trace::Call &call, F f);
  void capture(Stream &stream, const std::string &name);
  void record(const host_trace::Call &call, uint64_t event);
  void waitForEvent(const host_trace::Call &call);
  void noteGraph(const host_trace::Call &call, std::string_view name);

  std::map<Key, Stream> streams_;
  std::map<Key, Recorded> events_;
  std::map<Key, Value> values_; ///< by address
  std::map<Key, std::shared_ptr<const CapturedGraph>> graphs_, executables_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> devices_; ///< of threads
};

/// Which work a call waits for before it returns.
enum class Waits { none, stream, event, device, maybe_device };
Waits waitsOf(std::string_view function);

} // namespace fade::profile
