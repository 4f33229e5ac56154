// Calls of HIP that put commands into streams, order them, or wait for them (StreamOrder), and what
// they do to memory (OverlapCheck).
#pragma once

#include "checks/stream_order.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace fade::checks {

enum class StreamCallKind : uint8_t {
  none,
  command, ///< goes into its stream, or the null stream
  waits,   ///< goes into the null stream, and the host waits for it
  create,
  destroy,
  stream_saw, ///< the host knows that all of the stream is done
  event_saw,
  event_record,
  event_wait,
  event_destroy,
  all_saw,
  host_register,
  host_unregister,
  begin_capture,     ///< what comes into the stream is not done, but becomes part of a graph
  graph_node,        ///< adds one
  graph_node_change, ///< the node is another one from now on, or gone
  graph_instantiate,
  graph_change, ///< the same of an executable graph
  graph_destroy,
  doubt,
};

/// A function, by what is known of it when FADE is compiled.
struct StreamFunction {
  const char *name = "";
  StreamCallKind kind = StreamCallKind::none;
  int stream = -1, event = -1; ///< which argument; -1: none
  bool per_thread = false;     ///< without a stream it is the thread's own, not the null stream
};

constexpr bool hasPart(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

/// Which argument has a type. `parameters`: "dst:void*, stream:hipStream_t".
constexpr int argumentOf(std::string_view parameters, std::string_view type) {
  const auto at = parameters.find(type);
  if (at == parameters.npos) return -1;
  const auto behind = at + type.size();
  if (behind < parameters.size() && parameters[behind] != ',') return -1;
  int number = 0;
  for (const char c : parameters.substr(0, at)) number += c == ',';
  return number;
}

constexpr StreamCallKind streamCallKind(std::string_view name, std::string_view group,
                                        bool has_stream) {
  using enum StreamCallKind;
  for (const std::string_view part : {"AddCallback", "LaunchHostFunc", "WaitValue", "WriteValue",
                                      "BatchMemOp", "ExternalSemaphoresAsync", "IpcOpenEventHandle",
                                      "MultiDevice", "LaunchByPtr", "KernelExC", "LaunchKernelEx"})
    if (hasPart(name, part) && !hasPart(name, "hipGraphAdd") && !hasPart(name, "Node"))
      return doubt;
  if (name == "hipSetDevice") return doubt;
  // Nodes of a graph that record events, or wait for them; of any kind; for other processes.
  for (const std::string_view part :
       {"EventRecordNode", "EventWaitNode", "hipGraphAddNode", "ExternalSemaphoresSignalNode"})
    if (hasPart(name, part) && !hasPart(name, "Get")) return doubt;
  if (hasPart(name, "BeginCapture")) return begin_capture;
  if (hasPart(name, "hipGraphLaunch")) return command;
  if (name.starts_with("hipGraphAddMem") && name != "hipGraphAddMemFreeNode") return graph_node;
  if (name.starts_with("hipGraphInstantiate")) return graph_instantiate;
  if (name == "hipGraphDestroy") return graph_destroy;
  if (name == "hipGraphNodeSetEnabled") return graph_change;
  if (hasPart(name, "GraphExec") && !hasPart(name, "Get")) return graph_change;
  if (hasPart(name, "Graph") && (hasPart(name, "NodeSetParams") || name == "hipGraphDestroyNode"))
    return graph_node_change;
  if (name.starts_with("hipStreamCreate") || name == "hipExtStreamCreateWithCUMask") return create;
  if (name == "hipStreamDestroy") return destroy;
  if (name.starts_with("hipStreamSynchronize") || name.starts_with("hipStreamQuery"))
    return stream_saw;
  if (name == "hipEventSynchronize" || name == "hipEventQuery" || name == "hipEventElapsedTime")
    return event_saw;
  if (name.starts_with("hipEventRecord")) return event_record;
  if (name == "hipEventDestroy") return event_destroy;
  if (name.starts_with("hipStreamWaitEvent")) return event_wait;
  if (name == "hipHostRegister") return host_register;
  if (name == "hipHostUnregister") return host_unregister;
  for (const std::string_view one :
       {"hipDeviceSynchronize", "hipCtxSynchronize", "hipDeviceReset", "hipFree", "hipHostFree",
        "hipFreeHost", "hipFreeArray", "hipFreeMipmappedArray", "hipModuleUnload"})
    if (name == one) return all_saw;
  if (name.starts_with("hipStream") || hasPart(name, "Graph") || hasPart(name, "Get")) return none;
  if (has_stream) return command;
  return group == "copy" ? waits : none;
}

constexpr StreamFunction streamFunction(const char *name, const char *group,
                                        const char *parameters) {
  const std::string_view text = name;
  StreamFunction f{name, StreamCallKind::none, argumentOf(parameters, ":hipStream_t"),
                   argumentOf(parameters, ":hipEvent_t"), text.ends_with("_spt")};
  f.kind = streamCallKind(text, group, f.stream >= 0);
  return f;
}

/// One call, from before it until it has returned.
class StreamCall {
public:
  /// `words`: the arguments. They outlive the call.
  StreamCall(const StreamFunction &function, const uint64_t *words);
  ~StreamCall();
  StreamCall(const StreamCall &) = delete;
  StreamCall &operator=(const StreamCall &) = delete;
  /// `result`: HIP's; 0 is success.
  void done(uint32_t result);

  /// What this thread is putting into a stream at the moment.
  static StreamOrder::Ptr current();
  /// What it calls at the moment goes into a graph: nothing is copied, allocated or freed yet.
  static bool isCaptured();

private:
  StreamOrder::Key key() const;
  void noteUse(const StreamOrder::Key &stream);
  bool isIntoGraph() const;
  void noteCaptured() const;
  void noteGraph() const;
  void noteLaunch() const;

  const StreamFunction &function_;
  const uint64_t *words_;
  bool is_outermost_;
  StreamOrder::Ptr command_;
};

/// Functions of HIP that are needed to know more. Null: not there.
struct HipQueries {
  uint32_t (*stream_flags)(void *stream, uint32_t *flags) = nullptr;
  uint32_t (*symbol_address)(void **address, const void *symbol) = nullptr;
  uint32_t (*device_pointer)(void **address, void *host, uint32_t flags) = nullptr;
  uint32_t (*is_capturing)(void *stream, uint32_t *status) = nullptr;
};
void setHipQueries(const HipQueries &queries);

} // namespace fade::checks
