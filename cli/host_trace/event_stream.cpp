#include "host_trace/event_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <queue>
#include <sys/stat.h>
#include <unistd.h>

namespace fade::host_trace {
namespace {

using events::EventKind;

/// An event is in the file at most so long after its time, unless a thread was not run meanwhile.
constexpr uint64_t kSlackNs = 1'000'000'000;
/// Of ends whose operations nobody has told.
constexpr std::size_t kMostEnds = 1'000'000;
/// What a thread leaves of a block at its end may be for another one (hip/recorder.cpp).
constexpr uint64_t kLeastLeft = 1024;

uint64_t monotonicNow() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

/// As many bytes as there are.
std::size_t readAt(int fd, void *to, std::size_t size, uint64_t at) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t part =
        pread(fd, static_cast<char *>(to) + done, size - done, static_cast<off_t>(at + done));
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) break;
    done += static_cast<std::size_t>(part);
  }
  return done;
}

/// Where the time of an event is; 0: it has none.
std::size_t timeAt(EventKind kind) {
  switch (kind) {
  case EventKind::thread: return offsetof(events::ThreadEvent, time_ns);
  case EventKind::process: return offsetof(events::ProcessEvent, time_ns);
  case EventKind::call: return offsetof(events::CallEvent, start_ns);
  case EventKind::operation: return offsetof(events::OperationEvent, submitted_ns);
  case EventKind::operation_end: return offsetof(events::OperationEndEvent, end_ns);
  case EventKind::marker: return offsetof(events::MarkerEvent, time_ns);
  case EventKind::recording: return offsetof(events::RecordingEvent, time_ns);
  case EventKind::usage: return offsetof(events::UsageEvent, time_ns);
  default: return 0;
  }
}

/// Of places that call, stacks, libraries and findings, each.
constexpr std::size_t kMostContext = 100'000;

/// What only findings are made of.
bool isContext(EventKind kind) {
  return kind == EventKind::stack || kind == EventKind::library || kind == EventKind::caller ||
         kind == EventKind::finding;
}

void tellEnd(EventSink &sink, const Operation &operation) {
  if ((operation.event.flags & events::kOperationRefused) == 0)
    sink.onEnd(operation);
  else
    sink.onRefused(operation);
}

} // namespace

/// A block that is being read. `piece` is what was new when it was last looked at.
struct EventStream::Block {
  uint64_t position = 0;
  uint64_t read = sizeof(events::BlockHeader); ///< bytes of it
  std::vector<uint64_t> piece;                 ///< aligned, as events are
  uint64_t piece_at = 0, piece_end = 0;        ///< in the block
  Thread thread;
  uint64_t time = 0;          ///< of the next event, or the one before
  bool is_done = false;       ///< damaged
  bool is_superseded = false; ///< its thread has gone on to another one

  const char *next() const {
    return reinterpret_cast<const char *>(piece.data()) + (read - piece_at);
  }
  bool hasMore() const { return !is_done && read < piece_end; }
  bool isLeft() const {
    return is_done || (is_superseded && !hasMore() && events::kBlockBytes - read < kLeastLeft);
  }
  void findTime() {
    events::EventHeader header{};
    if (piece_end - read < sizeof header) return;
    std::memcpy(&header, next(), sizeof header);
    const std::size_t at = timeAt(header.kind);
    uint64_t found = 0;
    if (at == 0 || piece_end - read < at + sizeof found) return;
    std::memcpy(&found, next() + at, sizeof found);
    time = std::max(time, found);
  }
};

EventStream::EventStream(std::string path, int fd)
    : path_(std::move(path)), fd_(fd), parser_(facts_) {}
EventStream::~EventStream() { ::close(fd_); }

Result<std::unique_ptr<EventStream>> EventStream::open(const std::string &path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Error{path, "", 0, std::strerror(errno)};
  std::unique_ptr<EventStream> stream(new EventStream(path, fd));
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
    return Error{path, "", 0, "is not a regular file"};
  if (Status read = stream->readHeader(); !read) return std::move(read).error();
  return stream;
}

Status EventStream::readHeader() {
  events::FileHeader header{};
  struct stat status {};
  if (fstat(fd_, &status) != 0) return Error{path_, "", 0, std::strerror(errno)};
  size_ = static_cast<uint64_t>(status.st_size);
  if (size_ < events::kHeaderBytes || readAt(fd_, &header, sizeof header, 0) != sizeof header)
    return Error{path_, "", 0, "is too short for a file of host events"};
  if (header.magic != events::kMagic) return Error{path_, "", 0, "is no file of host events"};
  if (header.version != events::kVersion || header.block_bytes != events::kBlockBytes)
    return Error{path_, "", 8, "was written by another version of FADE"};
  facts_.lost = header.lost;
  facts_.monotonic_ns = header.monotonic_ns;
  facts_.realtime_ns = header.realtime_ns;
  const uint64_t room = size_ - events::kHeaderBytes;
  blocks_ = std::min(header.claimed, (room + events::kBlockBytes - sizeof(events::BlockHeader)) /
                                         events::kBlockBytes);
  return Done{};
}

bool EventStream::loadPiece(Block &block) {
  events::BlockHeader header{};
  if (block.is_done || readAt(fd_, &header, sizeof header, block.position) != sizeof header)
    return false;
  if (header.magic == 0 && header.used == 0) return false; // claimed, and nothing more
  if (header.magic != events::kBlockMagic || header.used > events::kBlockBytes) {
    ++facts_.damaged;
    block.is_done = true;
    return false;
  }
  if (header.used <= block.read) return false;
  const uint64_t size = header.used - block.read;
  block.piece.resize((size + 7) / 8);
  block.piece_at = block.read;
  block.piece_end = block.read + readAt(fd_, block.piece.data(), size, block.position + block.read);
  block.findTime();
  return block.hasMore();
}

std::unique_ptr<EventStream::Block> EventStream::openBlock(uint64_t number) {
  auto block = std::make_unique<Block>();
  block->position = events::kHeaderBytes + number * events::kBlockBytes;
  (void)loadPiece(*block);
  return block;
}

/// A thread has one block at a time.
void EventStream::beginsIn(const Block &block) {
  for (const auto &other : open_)
    if (other.get() != &block && other->thread.tid == block.thread.tid &&
        other->thread.pid == block.thread.pid)
      other->is_superseded = true;
}

/// Calls that had not returned when they were read.
void EventStream::readAgain(EventSink &sink) {
  for (auto at = calls_.begin(); at != calls_.end();) {
    std::vector<uint64_t> words(at->second.size / 8);
    parser_.thread = at->second.thread;
    const bool is_there =
        readAt(fd_, words.data(), at->second.size, at->first) == at->second.size &&
        parser_.read(EventKind::call, reinterpret_cast<const char *>(words.data()), at->first,
                     at->second.size);
    Call call;
    if (is_there) {
      call = facts_.calls.back();
      facts_.calls.clear();
    }
    if (!is_there || !call.hasReturned()) {
      ++at;
      continue;
    }
    call.hip_major = static_cast<uint16_t>(facts_.hipMajor(call.thread.pid));
    sink.onReturn(call);
    at = calls_.erase(at);
  }
}

void EventStream::takeCall(EventSink &sink, uint64_t size) {
  Call call = facts_.calls.back();
  facts_.calls.clear();
  call.hip_major = static_cast<uint16_t>(facts_.hipMajor(call.thread.pid));
  sink.onCall(call);
  if (call.hasReturned() || call.isNameOnly())
    sink.onReturn(call);
  else
    calls_[call.position] = {call.thread, static_cast<uint32_t>(size)};
}

void EventStream::takeOperation(EventSink &sink) {
  Operation operation = facts_.operations.back();
  facts_.operations.clear();
  in_software_ = in_software_ || operation.isInSoftware();
  sink.onOperation(operation);
  const auto end = ends_.find(operation.position);
  if (end == ends_.end()) {
    operations_.emplace(operation.position, operation);
    return;
  }
  setEnd(operation, end->second);
  ends_.erase(end);
  tellEnd(sink, operation);
}

void EventStream::takeEnd(EventSink &sink) {
  const events::OperationEndEvent end = parser_.ends.back();
  parser_.ends.clear();
  const auto at = operations_.find(end.operation);
  if (at == operations_.end()) {
    if (ends_.size() < kMostEnds) ends_[end.operation] = end;
    return;
  }
  setEnd(at->second, end);
  tellEnd(sink, at->second);
  operations_.erase(at);
}

/// Its texts and words are in what was read, which does not stay.
void EventStream::keepContextOf(EventKind kind, const char *bytes) {
  if (kind == EventKind::stack) {
    events::StackEvent event{};
    std::memcpy(&event, bytes, sizeof event);
    const auto at = facts_.stacks.find(event.id);
    if (stacks_.size() >= kMostContext && !stacks_.contains(event.id)) {
      facts_.stacks.erase(at);
      return;
    }
    at->second = stacks_.try_emplace(event.id, at->second.begin(), at->second.end()).first->second;
    return;
  }
  const auto bound = [](auto &all) {
    if (all.size() > kMostContext) all.pop_back();
    return all.empty() ? nullptr : &all.back();
  };
  (void)bound(facts_.callers);
  if (Finding *finding = bound(facts_.findings)) finding->text = texts_.keep(finding->text);
  if (LibraryRequest *request = bound(facts_.requests)) {
    request->file = texts_.keep(request->file);
    request->who = texts_.keep(request->who);
  }
  if (EventParser::LibraryChange *change = bound(parser_.libraries))
    change->library.path = texts_.keep(change->library.path);
}

bool EventStream::tell(Block &block, EventSink &sink) {
  events::EventHeader header{};
  const uint64_t left = block.piece_end - block.read;
  if (left < sizeof header) return false;
  const char *bytes = block.next();
  std::memcpy(&header, bytes, sizeof header);
  const uint64_t size = uint64_t{header.words} * 8;
  if (size == 0 || size > left) return false;
  const uint64_t position = block.position + block.read;
  block.read += size;
  if (header.kind == EventKind::call_stack || (isContext(header.kind) && !keeps_context_))
    return true;
  parser_.thread = block.thread;
  if (!parser_.read(header.kind, bytes, position, size)) return false;
  if (isContext(header.kind)) keepContextOf(header.kind, bytes);
  switch (header.kind) {
  case EventKind::thread:
    block.thread = parser_.thread;
    block.is_superseded = false;
    beginsIn(block);
    break;
  case EventKind::text: {
    events::TextEvent text{};
    std::memcpy(&text, bytes, sizeof text);
    std::string_view &kept = facts_.processes[block.thread.pid].texts[text.id];
    kept = texts_.keep(kept);
    break;
  }
  case EventKind::call: takeCall(sink, size); break;
  case EventKind::operation: takeOperation(sink); break;
  case EventKind::operation_end: takeEnd(sink); break;
  case EventKind::marker:
    sink.onMarker(facts_.markers.back());
    facts_.markers.clear();
    break;
  case EventKind::usage:
    sink.onUsage(facts_.usages.back());
    facts_.usages.clear();
    break;
  case EventKind::recording:
    sink.onSwitch(facts_.switches.back());
    facts_.switches.clear();
    break;
  default: break;
  }
  return true;
}

Status EventStream::progress(EventSink &sink, uint64_t known_until) const {
  uint64_t operations_until = known_until;
  for (const auto &[position, operation] : operations_)
    operations_until = std::min(operations_until, operation.event.submitted_ns);
  return sink.onProgress(known_until, operations_until);
}

Status EventStream::merge(EventSink &sink, uint64_t now) {
  using Next = std::pair<uint64_t, Block *>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
  for (const auto &block : open_)
    if (loadPiece(*block)) queue.emplace(block->time, block.get());
  std::unique_ptr<Block> coming; // blocks are claimed in order of time
  std::size_t told = 0;
  for (;;) {
    while (coming || opened_ < blocks_) {
      if (!coming) coming = openBlock(opened_++);
      if (coming->hasMore() && !queue.empty() && queue.top().first < coming->time) break;
      if (coming->hasMore()) queue.emplace(coming->time, coming.get());
      open_.push_back(std::move(coming));
    }
    if (queue.empty()) break;
    Block &block = *queue.top().second;
    queue.pop();
    const uint64_t until = std::min(queue.empty() ? UINT64_MAX : queue.top().first,
                                    coming ? coming->time : UINT64_MAX);
    const uint64_t time = block.time;
    while (block.hasMore() && block.time <= until) {
      if (!tell(block, sink)) {
        ++facts_.damaged;
        block.is_done = true;
      } else {
        block.findTime();
      }
      ++told;
    }
    if (block.hasMore())
      queue.emplace(block.time, &block);
    else
      block.piece = {};
    if (told < events_per_progress_) continue;
    told = 0;
    std::erase_if(open_, [](const auto &one) { return one->isLeft(); });
    const uint64_t reached = std::min(time, now);
    if (Status status = progress(sink, reached - std::min(reached, kSlackNs)); !status)
      return status;
  }
  std::erase_if(open_, [](const auto &one) { return one->isLeft(); });
  return Done{};
}

void EventStream::end(EventSink &sink) {
  for (const auto &[position, operation] : operations_) sink.onEnd(operation);
  operations_.clear();
  for (const auto &[position, open] : calls_) {
    std::vector<uint64_t> words(open.size / 8);
    parser_.thread = open.thread;
    if (readAt(fd_, words.data(), open.size, position) != open.size ||
        !parser_.read(EventKind::call, reinterpret_cast<const char *>(words.data()), position,
                      open.size))
      continue;
    Call call = facts_.calls.back();
    facts_.calls.clear();
    call.hip_major = static_cast<uint16_t>(facts_.hipMajor(call.thread.pid));
    sink.onReturn(call);
  }
  calls_.clear();
  parser_.placeLibraries();
  std::ranges::sort(facts_.findings, {}, &Finding::time_ns);
  std::ranges::sort(facts_.requests, {}, &LibraryRequest::time_ns);
}

Status EventStream::read(EventSink &sink, bool is_last) {
  const uint64_t now = is_last ? UINT64_MAX : monotonicNow(); // of what runs here
  if (Status status = readHeader(); !status) return status;
  readAgain(sink);
  if (Status status = merge(sink, now); !status) return status;
  if (is_last) {
    end(sink);
    return sink.onProgress(UINT64_MAX, UINT64_MAX);
  }
  return progress(sink, now - std::min(now, kSlackNs));
}

} // namespace fade::host_trace
