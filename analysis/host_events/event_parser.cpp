#include "analysis/host_events/event_parser.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace fade::host_trace {
namespace {

using events::EventKind;

const hip::FunctionInfo *functionOf(uint16_t number) {
  static const auto by_number = [] {
    std::unordered_map<uint16_t, const hip::FunctionInfo *> all;
    for (const hip::FunctionInfo &function : hip::kFunctions) all[function.number] = &function;
    return all;
  }();
  const auto at = by_number.find(number);
  return at == by_number.end() ? nullptr : at->second;
}

/// The fixed part of an event; false if it is not there.
template <typename Event> bool get(Event &event, const char *bytes, uint64_t size) {
  if (size < sizeof event) return false;
  std::memcpy(&event, bytes, sizeof event);
  return true;
}

/// Two texts that end with a zero.
bool getTexts(std::array<std::string_view, 2> &texts, const char *bytes, uint64_t size) {
  std::string_view rest(bytes, size);
  for (std::string_view &text : texts) {
    const auto end = rest.find('\0');
    if (end == rest.npos) return false;
    text = rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  return true;
}

} // namespace

Marker EventParser::markerOf(const events::MarkerEvent &event, const char *bytes,
                             uint64_t at) const {
  using events::MarkerParts;
  Marker marker{
      event.kind, thread, event.time_ns, event.range, {bytes + sizeof event, event.size}, at, false,
      {},         {}};
  if (!MarkerParts::isPacked(event.range) || event.kind > events::MarkerKind::push) return marker;
  const MarkerParts parts = MarkerParts::of(event.range);
  if (std::size_t{parts.domain} + parts.name > marker.text.size()) return marker; // cut off
  marker.is_named = true;
  marker.domain = marker.text.substr(0, parts.domain);
  marker.arguments = marker.text.substr(std::size_t{parts.domain} + parts.name);
  marker.text = marker.text.substr(parts.domain, parts.name);
  return marker;
}

bool EventParser::read(EventKind kind, const char *bytes, uint64_t at, uint64_t size) {
  switch (kind) {
  case EventKind::thread: {
    events::ThreadEvent event{};
    if (!get(event, bytes, size)) return false;
    thread = {event.pid, event.tid};
    return true;
  }
  case EventKind::stack: return readStack(bytes, size);
  case EventKind::call_stack: {
    events::CallStackEvent event{};
    if (!get(event, bytes, size)) return false;
    call_stacks[event.call] = event.stack;
    return true;
  }
  case EventKind::library: return readLibrary(bytes, size);
  case EventKind::caller: {
    events::CallerEvent event{};
    if (!get(event, bytes, size)) return false;
    const hip::FunctionInfo *function = functionOf(event.function);
    if (function) events_.callers.push_back({thread.pid, function, event.address, event.stack});
    return function != nullptr;
  }
  case EventKind::finding: {
    events::FindingEvent event{};
    if (!get(event, bytes, size) || event.size > size - sizeof event) return false;
    events_.findings.push_back(
        {event.kind, thread.pid, event.call, event.time_ns, {bytes + sizeof event, event.size}});
    return true;
  }
  case EventKind::kernel: {
    events::KernelEvent event{};
    if (size < events::kOldKernelEventBytes) return false;
    std::memcpy(&event, bytes, std::min<uint64_t>(size, sizeof event));
    events_.processes[thread.pid].kernels[event.name] = event;
    return true;
  }
  case EventKind::usage: {
    events::UsageEvent event{};
    if (!get(event, bytes, size)) return false;
    events_.usages.push_back({thread.pid, event.is_last != 0, event.time_ns, event.cpu_ns});
    return true;
  }
  case EventKind::process: return readProcess(bytes, size);
  case EventKind::call: return readCall(bytes, at, size);
  case EventKind::text: {
    events::TextEvent event{};
    if (!get(event, bytes, size) || event.size > size - sizeof event) return false;
    events_.processes[thread.pid].texts[event.id] = {bytes + sizeof event, event.size};
    return true;
  }
  case EventKind::operation: {
    events::OperationEvent event{};
    if (!get(event, bytes, size)) return false;
    Operation operation;
    operation.event = event;
    operation.pid = thread.pid;
    operation.position = at;
    operation.start_ns = operation.end_ns = event.submitted_ns;
    events_.operations.push_back(operation);
    return true;
  }
  case EventKind::operation_end: {
    events::OperationEndEvent event{};
    if (!get(event, bytes, size)) return false;
    ends.push_back(event);
    return true;
  }
  case EventKind::function: {
    events::FunctionEvent event{};
    if (!get(event, bytes, size)) return false;
    events_.processes[thread.pid].functions[event.address] = event.name;
    return true;
  }
  case EventKind::marker: {
    events::MarkerEvent event{};
    if (!get(event, bytes, size) || event.size > size - sizeof event ||
        event.kind > events::MarkerKind::stop)
      return false;
    events_.markers.push_back(markerOf(event, bytes, at));
    return true;
  }
  case EventKind::recording: {
    events::RecordingEvent event{};
    if (!get(event, bytes, size)) return false;
    events_.switches.push_back({thread.pid, event.is_on != 0, event.time_ns});
    return true;
  }
  }
  return true; // of a later version
}

bool EventParser::readStack(const char *bytes, uint64_t size) {
  events::StackEvent event{};
  if (!get(event, bytes, size) || event.count > (size - sizeof event) / 8) return false;
  events_.stacks[event.id] = {reinterpret_cast<const uint64_t *>(bytes + sizeof event),
                              event.count};
  return true;
}

bool EventParser::readLibrary(const char *bytes, uint64_t size) {
  events::LibraryEvent event{};
  std::array<std::string_view, 2> texts;
  if (!get(event, bytes, size) || !getTexts(texts, bytes + sizeof event, size - sizeof event))
    return false;
  if ((event.flags & events::kLibraryRequested) != 0) {
    events_.requests.push_back({thread, event.time_ns, texts[0], texts[1]});
    return true;
  }
  const bool is_gone = (event.flags & events::kLibraryUnloaded) != 0;
  libraries.push_back(
      {thread.pid, is_gone, {texts[0], event.bias, event.begin, event.end, event.time_ns}});
  return true;
}

void EventParser::placeLibraries() {
  std::ranges::sort(libraries, {}, [](const LibraryChange &change) {
    return std::pair(change.library.loaded_ns, !change.is_gone);
  });
  for (const LibraryChange &change : libraries) {
    auto &all = events_.processes[change.pid].libraries;
    if (!change.is_gone) {
      all.push_back(change.library);
      continue;
    }
    const auto at = std::find_if(all.rbegin(), all.rend(), [&](const Library &library) {
      return library.begin == change.library.begin && library.path == change.library.path;
    });
    if (at != all.rend()) at->unloaded_ns = change.library.loaded_ns;
  }
}

bool EventParser::readProcess(const char *bytes, uint64_t size) {
  events::ProcessEvent event{};
  if (!get(event, bytes, size)) return false;
  std::array<std::string_view, 2> texts;
  if (!getTexts(texts, bytes + sizeof event, size - sizeof event)) return false;
  Process &process = events_.processes[event.pid];
  if (process.start_ns == 0) process.start_ns = event.time_ns;
  process.parent_pid = event.parent_pid;
  process.program = texts[0];
  if (texts[1].empty()) return true;
  process.hip_library = texts[1];
  process.hip_major = hipMajorOf(process.hip_library);
  return true;
}

bool EventParser::readCall(const char *bytes, uint64_t at, uint64_t size) {
  events::CallEvent event{};
  if (!get(event, bytes, size)) return false;
  Call call;
  call.position = at;
  call.function = functionOf(event.function);
  const uint64_t words = (size - sizeof event) / 8;
  const bool is_name_only = (event.flags & events::kCallNameOnly) != 0;
  if (!call.function || words != (is_name_only ? 0 : call.function->words)) return false;
  call.thread = thread;
  call.flags = event.flags;
  call.parent = event.parent;
  call.caller = event.caller;
  call.start_ns = event.start_ns;
  call.end_ns = event.end_ns;
  call.result = event.result;
  // Blocks and events begin at multiples of 8.
  call.words = {reinterpret_cast<const uint64_t *>(bytes + sizeof event), words};
  events_.calls.push_back(call);
  return true;
}

void setEnd(Operation &operation, const events::OperationEndEvent &end) {
  operation.has_ended = true;
  operation.has_failed = (end.flags & events::kOperationFailed) != 0;
  operation.event.flags |= end.flags & events::kOperationRefused;
  if ((end.flags & events::kOperationTimes) == 0 || end.end_ns < end.start_ns) return;
  operation.has_times = true;
  operation.start_ns = end.start_ns;
  operation.end_ns = end.end_ns;
}

} // namespace fade::host_trace
