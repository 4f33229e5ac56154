#include "trace/event_reader.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

struct Mapped {
  std::shared_ptr<const char> bytes;
  std::size_t size = 0;
};

Result<Mapped> mapWhole(const std::string &path) {
  const auto failure = [&] { return Error{path, "", 0, std::strerror(errno)}; };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failure();
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd);
    return Error{path, "", 0, "is not a regular file"};
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size < events::kHeaderBytes) {
    ::close(fd);
    return Error{path, "", 0, "is too short for a file of host events"};
  }
  void *at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const Error error = failure();
  ::close(fd);
  if (at == MAP_FAILED) return error;
  return Mapped{std::shared_ptr<const char>(
                    static_cast<const char *>(at),
                    [size](const char *bytes) { munmap(const_cast<char *>(bytes), size); }),
                size};
}

} // namespace

class HostEvents::Reader {
public:
  Reader(HostEvents &events, const char *bytes, std::size_t size)
      : events_(events), bytes_(bytes), size_(size) {}

  Status run(const std::string &path) {
    events::FileHeader header{};
    std::memcpy(&header, bytes_, sizeof header);
    if (header.magic != events::kMagic) return Error{path, "", 0, "is no file of host events"};
    if (header.version != events::kVersion || header.block_bytes != events::kBlockBytes)
      return Error{path, "", 8, "is of another version of FADE"};
    events_.lost = header.lost;
    events_.monotonic_ns = header.monotonic_ns;
    events_.realtime_ns = header.realtime_ns;
    for (uint64_t at = events::kHeaderBytes; at + sizeof(events::BlockHeader) <= size_;
         at += events::kBlockBytes)
      readBlock(at);
    endOperations();
    sort();
    return Done{};
  }

private:
  void readBlock(uint64_t block) {
    events::BlockHeader header{};
    std::memcpy(&header, bytes_ + block, sizeof header);
    if (header.magic == 0 && header.used == 0) return; // claimed, and nothing more
    if (header.magic != events::kBlockMagic || header.used > events::kBlockBytes) {
      ++events_.damaged;
      return;
    }
    thread_ = {};
    const uint64_t used = std::min<uint64_t>(header.used, size_ - block); // a copy may be cut off
    for (uint64_t at = sizeof header; at < used;) {
      events::EventHeader event{};
      if (used - at < sizeof event) return void(++events_.damaged);
      std::memcpy(&event, bytes_ + block + at, sizeof event);
      const uint64_t size = uint64_t{event.words} * 8;
      if (size == 0 || size > used - at || !readEvent(event.kind, block + at, size))
        return void(++events_.damaged);
      at += size;
    }
  }

  /// The fixed part of an event; false if it is not there.
  template <typename Event> bool get(Event &event, uint64_t at, uint64_t size) const {
    if (size < sizeof event) return false;
    std::memcpy(&event, bytes_ + at, sizeof event);
    return true;
  }

  Marker markerOf(const events::MarkerEvent &event, std::size_t at) const {
    using events::MarkerParts;
    Marker marker{event.kind,
                  thread_,
                  event.time_ns,
                  event.range,
                  {bytes_ + at + sizeof event, event.size},
                  at,
                  false,
                  {},
                  {}};
    if (!MarkerParts::isPacked(event.range) || event.kind > events::MarkerKind::push) return marker;
    const MarkerParts parts = MarkerParts::of(event.range);
    if (std::size_t{parts.domain} + parts.name > marker.text.size()) return marker; // cut off
    marker.is_named = true;
    marker.domain = marker.text.substr(0, parts.domain);
    marker.arguments = marker.text.substr(std::size_t{parts.domain} + parts.name);
    marker.text = marker.text.substr(parts.domain, parts.name);
    return marker;
  }

  bool readEvent(EventKind kind, uint64_t at, uint64_t size) {
    switch (kind) {
    case EventKind::thread: {
      events::ThreadEvent event{};
      if (!get(event, at, size)) return false;
      thread_ = {event.pid, event.tid};
      return true;
    }
    case EventKind::stack: return readStack(at, size);
    case EventKind::call_stack: {
      events::CallStackEvent event{};
      if (!get(event, at, size)) return false;
      call_stacks_[event.call] = event.stack;
      return true;
    }
    case EventKind::library: return readLibrary(at, size);
    case EventKind::caller: {
      events::CallerEvent event{};
      if (!get(event, at, size)) return false;
      const hip::FunctionInfo *function = functionOf(event.function);
      if (function) events_.callers.push_back({thread_.pid, function, event.address, event.stack});
      return function != nullptr;
    }
    case EventKind::finding: {
      events::FindingEvent event{};
      if (!get(event, at, size) || event.size > size - sizeof event) return false;
      events_.findings.push_back({event.kind,
                                  thread_.pid,
                                  event.call,
                                  event.time_ns,
                                  {bytes_ + at + sizeof event, event.size}});
      return true;
    }
    case EventKind::kernel: {
      events::KernelEvent event{};
      if (!get(event, at, size)) return false;
      events_.processes[thread_.pid].kernels[event.name] = event;
      return true;
    }
    case EventKind::usage: {
      events::UsageEvent event{};
      if (!get(event, at, size)) return false;
      events_.usages.push_back({thread_.pid, event.is_last != 0, event.time_ns, event.cpu_ns});
      return true;
    }
    case EventKind::process: return readProcess(at, size);
    case EventKind::call: return readCall(at, size);
    case EventKind::text: {
      events::TextEvent event{};
      if (!get(event, at, size) || event.size > size - sizeof event) return false;
      events_.processes[thread_.pid].texts[event.id] = {bytes_ + at + sizeof event, event.size};
      return true;
    }
    case EventKind::operation: {
      events::OperationEvent event{};
      if (!get(event, at, size)) return false;
      Operation operation;
      operation.event = event;
      operation.pid = thread_.pid;
      operation.position = at;
      operation.start_ns = operation.end_ns = event.submitted_ns;
      events_.operations.push_back(operation);
      return true;
    }
    case EventKind::operation_end: {
      events::OperationEndEvent event{};
      if (!get(event, at, size)) return false;
      ends_.push_back(event);
      return true;
    }
    case EventKind::function: {
      events::FunctionEvent event{};
      if (!get(event, at, size)) return false;
      events_.processes[thread_.pid].functions[event.address] = event.name;
      return true;
    }
    case EventKind::marker: {
      events::MarkerEvent event{};
      if (!get(event, at, size) || event.size > size - sizeof event ||
          event.kind > events::MarkerKind::stop)
        return false;
      events_.markers.push_back(markerOf(event, at));
      return true;
    }
    case EventKind::recording: {
      events::RecordingEvent event{};
      if (!get(event, at, size)) return false;
      events_.switches.push_back({thread_.pid, event.is_on != 0, event.time_ns});
      return true;
    }
    }
    return true; // of a later version
  }

  /// Two texts that end with a zero.
  bool getTexts(std::array<std::string_view, 2> &texts, uint64_t at, uint64_t size) const {
    std::string_view rest(bytes_ + at, size);
    for (std::string_view &text : texts) {
      const auto end = rest.find('\0');
      if (end == rest.npos) return false;
      text = rest.substr(0, end);
      rest.remove_prefix(end + 1);
    }
    return true;
  }

  bool readStack(uint64_t at, uint64_t size) {
    events::StackEvent event{};
    if (!get(event, at, size) || event.count > (size - sizeof event) / 8) return false;
    events_.stacks[event.id] = {reinterpret_cast<const uint64_t *>(bytes_ + at + sizeof event),
                                event.count};
    return true;
  }

  bool readLibrary(uint64_t at, uint64_t size) {
    events::LibraryEvent event{};
    std::array<std::string_view, 2> texts;
    if (!get(event, at, size) || !getTexts(texts, at + sizeof event, size - sizeof event))
      return false;
    if ((event.flags & events::kLibraryRequested) != 0) {
      events_.requests.push_back({thread_, event.time_ns, texts[0], texts[1]});
      return true;
    }
    const bool is_gone = (event.flags & events::kLibraryUnloaded) != 0;
    libraries_.push_back(
        {thread_.pid, is_gone, {texts[0], event.bias, event.begin, event.end, event.time_ns}});
    return true;
  }

  bool readProcess(uint64_t at, uint64_t size) {
    events::ProcessEvent event{};
    if (!get(event, at, size)) return false;
    std::array<std::string_view, 2> texts;
    if (!getTexts(texts, at + sizeof event, size - sizeof event)) return false;
    Process &process = events_.processes[event.pid];
    if (process.start_ns == 0) process.start_ns = event.time_ns;
    process.parent_pid = event.parent_pid;
    process.program = texts[0];
    if (texts[1].empty()) return true;
    process.hip_library = texts[1];
    process.hip_major = hipMajorOf(process.hip_library);
    return true;
  }

  bool readCall(uint64_t at, uint64_t size) {
    events::CallEvent event{};
    if (!get(event, at, size)) return false;
    Call call;
    call.position = at;
    call.function = functionOf(event.function);
    const uint64_t words = (size - sizeof event) / 8;
    const bool is_name_only = (event.flags & events::kCallNameOnly) != 0;
    if (!call.function || words != (is_name_only ? 0 : call.function->words)) return false;
    call.thread = thread_;
    call.flags = event.flags;
    call.parent = event.parent;
    call.caller = event.caller;
    call.start_ns = event.start_ns;
    call.end_ns = event.end_ns;
    call.result = event.result;
    // Blocks and events begin at multiples of 8.
    call.words = {reinterpret_cast<const uint64_t *>(bytes_ + at + sizeof event), words};
    events_.calls.push_back(call);
    return true;
  }

  /// What became of the operations; those that the runtime has refused never were.
  void endOperations() {
    std::unordered_map<uint64_t, Operation *> by_position;
    for (Operation &operation : events_.operations) by_position[operation.position] = &operation;
    for (const events::OperationEndEvent &end : ends_) {
      const auto at = by_position.find(end.operation);
      if (at == by_position.end()) continue;
      Operation &operation = *at->second;
      operation.has_ended = true;
      operation.has_failed = (end.flags & events::kOperationFailed) != 0;
      operation.event.flags |= end.flags & events::kOperationRefused;
      if ((end.flags & events::kOperationTimes) == 0 || end.end_ns < end.start_ns) continue;
      operation.has_times = true;
      operation.start_ns = end.start_ns;
      operation.end_ns = end.end_ns;
    }
    std::erase_if(events_.operations, [](const Operation &operation) {
      return (operation.event.flags & events::kOperationRefused) != 0;
    });
  }

  /// Threads have told of them in blocks of their own.
  void placeLibraries() {
    std::ranges::sort(libraries_, {}, [](const LibraryChange &change) {
      return std::pair(change.library.loaded_ns, !change.is_gone);
    });
    for (const LibraryChange &change : libraries_) {
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

  void sort() {
    placeLibraries();
    for (Call &call : events_.calls) {
      if (const auto at = call_stacks_.find(call.position); at != call_stacks_.end())
        call.stack = at->second;
      call.hip_major = static_cast<uint16_t>(events_.hipMajor(call.thread.pid));
    }
    std::ranges::sort(events_.findings, {}, &Finding::time_ns);
    std::ranges::sort(events_.usages, {}, &Usage::time_ns);
    std::ranges::sort(events_.requests, {}, &LibraryRequest::time_ns);
    const auto by = [](auto member) {
      return [member](const auto &item) { return std::pair(item.*member, item.position); };
    };
    std::ranges::sort(events_.calls, {}, by(&Call::start_ns));
    for (std::size_t i = 0; i < events_.calls.size(); ++i)
      events_.by_position_[events_.calls[i].position] = static_cast<uint32_t>(i);
    std::ranges::sort(events_.operations, {}, by(&Operation::start_ns));
    std::ranges::sort(events_.markers, {}, by(&Marker::time_ns));
    std::ranges::sort(events_.switches, {}, &Switch::time_ns);
  }

  HostEvents &events_;
  const char *const bytes_;
  const std::size_t size_;
  Thread thread_;
  std::vector<events::OperationEndEvent> ends_;
  std::unordered_map<uint64_t, uint64_t> call_stacks_; ///< by call
  struct LibraryChange {
    uint32_t pid;
    bool is_gone;
    Library library;
  };
  std::vector<LibraryChange> libraries_;
};

Result<HostEvents> HostEvents::read(const std::string &path) {
  auto mapped = mapWhole(path);
  if (!mapped) return std::move(mapped).error();
  HostEvents events;
  events.bytes_ = mapped->bytes;
  if (Status status = Reader(events, mapped->bytes.get(), mapped->size).run(path); !status)
    return std::move(status).error();
  return events;
}

bool HostEvents::isInSoftware() const {
  return std::ranges::any_of(operations, &Operation::isInSoftware);
}

std::string_view HostEvents::aboutTimes() const {
  if (has_modeled_times) return isInSoftware() ? kModeledRunTimes : kModeledTimes;
  return isInSoftware() ? kSoftwareTimes : std::string_view();
}

std::optional<std::size_t> HostEvents::callAt(uint64_t position) const {
  const auto at = by_position_.find(position);
  if (at == by_position_.end()) return std::nullopt;
  return at->second;
}

std::string_view HostEvents::textOf(uint32_t pid, uint64_t id) const {
  const auto process = processes.find(pid);
  if (process == processes.end()) return {};
  const auto text = process->second.texts.find(id);
  return text == process->second.texts.end() ? std::string_view() : text->second;
}

std::string_view HostEvents::functionAt(uint32_t pid, uint64_t address) const {
  const auto process = processes.find(pid);
  if (process == processes.end()) return {};
  const auto name = process->second.functions.find(address);
  return name == process->second.functions.end() ? std::string_view() : textOf(pid, name->second);
}

unsigned HostEvents::hipMajor(uint32_t pid) const {
  const auto process = processes.find(pid);
  return process == processes.end() ? 0 : process->second.hip_major;
}

unsigned hipMajorOf(const std::string &library) {
  const auto read = [](const std::string &path) {
    const std::string_view mark = ".so.";
    const auto at = path.rfind(mark);
    unsigned major = 0;
    if (at != path.npos)
      (void)std::from_chars(path.data() + at + mark.size(), path.data() + path.size(), major);
    return major;
  };
  if (const unsigned major = read(library)) return major;
  std::error_code error; // libamdhip64.so alone: where it leads
  const auto target = std::filesystem::weakly_canonical(library, error);
  return error ? 0 : read(target.string());
}

} // namespace fade::host_trace
