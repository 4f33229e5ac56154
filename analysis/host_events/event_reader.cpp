#include "analysis/host_events/event_reader.h"

#include "analysis/host_events/event_parser.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fade::host_trace {
namespace {

using events::EventKind;

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
      : events_(events), bytes_(bytes), size_(size), parser_(events) {}

  Status run(const std::string &path) {
    events::FileHeader header{};
    std::memcpy(&header, bytes_, sizeof header);
    if (header.magic != events::kMagic) return Error{path, "", 0, "is no file of host events"};
    if (header.version != events::kVersion || header.block_bytes != events::kBlockBytes)
      return Error{path, "", 8, "was written by another version of FADE"};
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
    parser_.thread = {};
    const uint64_t used = std::min<uint64_t>(header.used, size_ - block); // a copy may be cut off
    for (uint64_t at = sizeof header; at < used;) {
      events::EventHeader event{};
      if (used - at < sizeof event) return void(++events_.damaged);
      std::memcpy(&event, bytes_ + block + at, sizeof event);
      const uint64_t size = uint64_t{event.words} * 8;
      if (size == 0 || size > used - at ||
          !parser_.read(event.kind, bytes_ + block + at, block + at, size))
        return void(++events_.damaged);
      at += size;
    }
  }

  /// What became of the operations; those that the runtime has refused never were.
  void endOperations() {
    std::unordered_map<uint64_t, Operation *> by_position;
    for (Operation &operation : events_.operations) by_position[operation.position] = &operation;
    for (const events::OperationEndEvent &end : parser_.ends) {
      const auto at = by_position.find(end.operation);
      if (at != by_position.end()) setEnd(*at->second, end);
    }
    std::erase_if(events_.operations, [](const Operation &operation) {
      return (operation.event.flags & events::kOperationRefused) != 0;
    });
  }

  void sort() {
    parser_.placeLibraries();
    for (Call &call : events_.calls) {
      if (const auto at = parser_.call_stacks.find(call.position); at != parser_.call_stacks.end())
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
    events_.index();
    std::ranges::sort(events_.operations, {}, by(&Operation::start_ns));
    std::ranges::sort(events_.markers, {}, by(&Marker::time_ns));
    std::ranges::sort(events_.switches, {}, &Switch::time_ns);
  }

  HostEvents &events_;
  const char *const bytes_;
  const std::size_t size_;
  EventParser parser_;
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

HostEvents HostEvents::withoutEvents() const {
  HostEvents events;
  events.processes = processes;
  events.lost = lost;
  events.damaged = damaged;
  events.monotonic_ns = monotonic_ns;
  events.realtime_ns = realtime_ns;
  return events;
}

void HostEvents::index() {
  by_position_ = PositionIndex(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i)
    by_position_.set(calls[i].position, static_cast<uint32_t>(i));
}

bool HostEvents::isInSoftware() const {
  return std::ranges::any_of(operations, &Operation::isInSoftware);
}

std::string_view HostEvents::aboutTimes() const {
  if (has_modeled_times) return isInSoftware() ? kModeledRunTimes : kModeledTimes;
  return isInSoftware() ? kSoftwareTimes : std::string_view();
}

std::optional<std::size_t> HostEvents::callAt(uint64_t position) const {
  return by_position_.find(position);
}

std::string_view HostEvents::textOf(uint32_t pid, uint64_t id) const {
  const auto process = processes.find(pid);
  if (process == processes.end()) return {};
  const auto text = process->second.texts.find(id);
  return text == process->second.texts.end() ? std::string_view() : text->second;
}

std::string HostEvents::moduleOf(uint32_t pid, uint64_t name) const {
  const auto process = processes.find(pid);
  if (process == processes.end()) return "";
  const auto kernel = process->second.kernels.find(name);
  if (kernel == process->second.kernels.end() || kernel->second.module == 0) return "";
  return fmt::format("{:016x}", kernel->second.module);
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
