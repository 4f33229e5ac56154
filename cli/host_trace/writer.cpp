#include "host_trace/writer.h"

#include "analysis/host_events/event_reader.h"
#include "base/run_folder.h"
#include "fade/host_events.h"
#include "host_trace/column_tables.h"
#include "host_trace/control.h"
#include "host_trace/process_totals.h"
#include "host_trace/run_summary.h"
#include "host_trace/trace_formats.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <linux/futex.h>
#include <memory>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace fade::host_trace {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// How often what is made in pieces is brought up to date.
constexpr int kPieceMilliseconds = 500;

/// What tells one state of the events from another.
struct Extent {
  std::size_t calls = 0, operations = 0, ended = 0, markers = 0, others = 0;
  bool operator==(const Extent &) const = default;

  static Extent of(const HostEvents &events) {
    Extent extent{events.calls.size(), events.operations.size(), 0, events.markers.size(),
                  events.switches.size() + events.processes.size()};
    for (const Call &call : events.calls) extent.ended += call.hasReturned() ? 1 : 0;
    for (const Operation &operation : events.operations) extent.ended += operation.has_ended;
    return extent;
  }
};

/// fadeprobe control has no socket: it counts up and wakes those who wait for that. Becomes
/// readable then; -1 if there is no such descriptor.
int watchCount(uint32_t *wanted) {
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) return fd;
  std::thread([fd, wanted] {
    for (uint32_t seen = std::atomic_ref(*wanted).load();;) {
      (void)syscall(SYS_futex, wanted, FUTEX_WAIT, seen, nullptr, nullptr, 0);
      const uint32_t now = std::atomic_ref(*wanted).load();
      if (std::exchange(seen, now) != now) (void)eventfd_write(fd, 1);
    }
  }).detach(); // it waits until the process ends
  return fd;
}

/// What is made of the events.
class Output {
public:
  Output() = default;
  Output(const Output &) = delete;
  Output &operator=(const Output &) = delete;
  virtual ~Output() = default;
  /// Whether it is made in pieces, which are read all the time.
  virtual bool isInPieces() const = 0;
  virtual Status read() = 0;              ///< what is new, if it is
  virtual Status write(bool is_last) = 0; ///< what others can read
};

/// A file that is made from all events each time, of many of them in slices.
class WholeFile final : public Output {
public:
  explicit WholeFile(const WriterOptions &options)
      : options_(options), writer_(options.output, options.format, true) {}

  bool isInPieces() const override { return false; }
  Status read() override { return Done{}; }
  Status write(bool) override {
    if (const EventSource source(options_.events); !source.isWhole()) return writer_.write(source);
    const auto events = HostEvents::read(options_.events);
    if (!events) return Error(events.error());
    const Extent extent = Extent::of(*events);
    if (extent == written_ && has_written_) return Done{};
    written_ = extent;
    has_written_ = true;
    return writer_.write(*events);
  }

private:
  const WriterOptions &options_;
  FormWriter writer_;
  Extent written_;
  bool has_written_ = false;
};

class TablesOutput final : public Output {
public:
  explicit TablesOutput(const WriterOptions &options) : options_(options) {}

  bool isInPieces() const override { return true; }
  Status read() override {
    if (Status status = open(); !status) return status;
    return tables_->read();
  }
  Status write(bool is_last) override {
    if (Status status = open(); !status) return status;
    return is_last ? tables_->finish() : tables_->flush();
  }

private:
  Status open() {
    if (tables_) return Done{};
    auto tables = ColumnTables::open(options_.events, options_.output, ownPartition());
    if (!tables) return std::move(tables).error();
    tables_ = *std::move(tables);
    return Done{};
  }

  const WriterOptions &options_;
  std::unique_ptr<ColumnTables> tables_;
};

/// The summary of a process in a run.
class SummaryOutput final : public Output {
public:
  explicit SummaryOutput(const WriterOptions &options) : options_(options) {}

  bool isInPieces() const override { return true; }
  Status read() override {
    if (Status status = open(); !status) return status;
    return totals_->read();
  }
  Status write(bool is_last) override {
    if (Status status = open(); !status) return status;
    if (!is_last) {
      if (Status status = totals_->read(); !status) return status;
      return writeTotals(*totals_, totals_->summary(), options_.output);
    }
    auto summary = totals_->finish();
    if (!summary) return std::move(summary).error();
    return writeTotals(*totals_, *std::move(summary), options_.output);
  }

private:
  Status open() {
    if (totals_) return Done{};
    auto process = readRunProcess(options_.output);
    if (!process) return std::move(process).error();
    auto totals = ProcessTotals::open(options_.events, *std::move(process));
    if (!totals) return std::move(totals).error();
    totals_ = *std::move(totals);
    return Done{};
  }

  const WriterOptions &options_;
  std::unique_ptr<ProcessTotals> totals_;
};

std::unique_ptr<Output> outputFor(const WriterOptions &options) {
  if (options.format == kRunForm) return std::make_unique<SummaryOutput>(options);
  if (isFolderForm(options.format)) return std::make_unique<TablesOutput>(options);
  return std::make_unique<WholeFile>(options);
}

class Follower {
public:
  explicit Follower(const WriterOptions &options)
      : options_(options), output_(outputFor(options)) {}
  ~Follower() = default; // the header stays mapped: somebody waits for a word of it
  Follower(const Follower &) = delete;
  Follower &operator=(const Follower &) = delete;

  Status run() {
    if (Status mapped = mapHeader(); !mapped) return mapped;
    Status status = Done{};
    // A socket that has ended means that everybody has, or that an application has closed files
    // that are not its own.
    for (bool has_socket = true; has_socket || !recordersOf(options_.events).empty();) {
      has_socket = has_socket && wait();
      if (!has_socket) usleep(50'000);
      if (const uint32_t wanted = counts().wanted; wanted != counts().done || isDue()) {
        status = write(false);
        answer(wanted);
      } else if (output_->isInPieces()) {
        (void)output_->read(); // what is wrong is said at the end
      }
    }
    const uint32_t wanted = counts().wanted;
    if (Status last = write(true); !last) status = std::move(last);
    answer(wanted);
    std::error_code ignored;
    if (status && !isRun()) std::filesystem::remove(options_.events, ignored);
    return status;
  }

private:
  Status mapHeader() {
    const int fd = open(options_.events.c_str(), O_RDWR | O_CLOEXEC);
    void *page =
        fd < 0 ? MAP_FAILED
               : mmap(nullptr, events::kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const int error = errno;
    if (fd >= 0) close(fd);
    if (page == MAP_FAILED) return Error{options_.events, "", 0, std::strerror(error)};
    header_ = static_cast<char *>(page);
    asked_ = watchCount(&flushCounts()->wanted);
    if (asked_ >= 0)
      std::atomic_ref(*reinterpret_cast<uint32_t *>(header_ + kWriterAt))
          .store(static_cast<uint32_t>(getpid()));
    return Done{};
  }

  events::FlushCounts counts() const {
    auto *words = flushCounts();
    return {std::atomic_ref(words->wanted).load(), std::atomic_ref(words->done).load()};
  }
  events::FlushCounts *flushCounts() const {
    return reinterpret_cast<events::FlushCounts *>(header_ + events::kFlushCountsAt);
  }
  void answer(uint32_t wanted) const {
    std::atomic_ref(flushCounts()->done).store(wanted);
    (void)syscall(SYS_futex, &flushCounts()->done, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

  /// False when the socket has ended.
  bool wait() const {
    pollfd places[] = {{options_.recorders, POLLIN, 0}, {asked_, POLLIN, 0}};
    int timeout = options_.flush_seconds == 0
                      ? -1
                      : static_cast<int>(std::clamp<int64_t>(
                            std::chrono::duration_cast<milliseconds>(next_ - Clock::now()).count(),
                            1, 60'000));
    if (output_->isInPieces())
      timeout = timeout < 0 ? kPieceMilliseconds : std::min(timeout, kPieceMilliseconds);
    if (poll(places, 2, timeout) <= 0) return true;
    eventfd_t ignored = 0;
    if (places[1].revents != 0) (void)eventfd_read(asked_, &ignored);
    if (places[0].revents == 0) return true;
    char bytes[256];
    const ssize_t size = read(options_.recorders, bytes, sizeof bytes);
    return size > 0 || (size < 0 && errno == EINTR);
  }

  /// The events are part of what is made.
  bool isRun() const { return options_.format == kRunForm; }
  bool isDue() const { return options_.flush_seconds != 0 && Clock::now() >= next_; }

  Status write(bool is_last) {
    const auto begin = Clock::now();
    Status status = output_->write(is_last);
    const auto end = Clock::now();
    next_ = end + pauseAfter(end - begin, std::chrono::seconds(options_.flush_seconds));
    return status;
  }

  const WriterOptions &options_;
  const std::unique_ptr<Output> output_;
  char *header_ = nullptr;
  int asked_ = -1;
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(1);
};

} // namespace

Status followEvents(const WriterOptions &options) { return Follower(options).run(); }

} // namespace fade::host_trace
