#include "host_trace/live_tables.h"

#include "host_trace/writer.h"

#include <atomic>
#include <chrono>
#include <climits>
#include <fcntl.h>
#include <filesystem>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fade::host_trace {
namespace {

constexpr std::chrono::milliseconds kPause(200);
/// While there is no file: who asks for it at once shall not be too early.
constexpr std::chrono::milliseconds kFirstPause(10);

} // namespace

LiveTables::LiveTables(std::string events, std::string folder, std::string partition)
    : events_(std::move(events)), folder_(std::move(folder)), partition_(std::move(partition)),
      thread_([this] { follow(); }) {}

LiveTables::~LiveTables() {
  end();
  if (header_) munmap(header_, events::kHeaderBytes);
}

void LiveTables::end() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

Status LiveTables::open() {
  std::error_code ignored;
  if (tables_ || std::filesystem::file_size(events_, ignored) <= events::kHeaderBytes || ignored)
    return Done{}; // who makes it has not begun
  auto tables = ColumnTables::open(events_, folder_, partition_);
  if (!tables) return std::move(tables).error();
  tables_ = *std::move(tables);
  mapHeader();
  return Done{};
}

/// fadeprobe control asks there for what has been recorded.
void LiveTables::mapHeader() {
  const int fd = ::open(events_.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *page = mmap(nullptr, events::kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (page == MAP_FAILED) return;
  header_ = static_cast<char *>(page);
  std::atomic_ref(*reinterpret_cast<uint32_t *>(header_ + kWriterAt))
      .store(static_cast<uint32_t>(getpid()));
}

void LiveTables::answer() {
  auto *counts = reinterpret_cast<events::FlushCounts *>(header_ + events::kFlushCountsAt);
  const uint32_t wanted = std::atomic_ref(counts->wanted).load();
  if (wanted == std::atomic_ref(counts->done).load()) return;
  status_ = tables_->flush();
  std::atomic_ref(counts->done).store(wanted);
  (void)syscall(SYS_futex, &counts->done, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void LiveTables::follow() {
  std::unique_lock lock(mutex_);
  while (!has_ended_ && status_) {
    wake_.wait_for(lock, tables_ ? kPause : kFirstPause);
    if (has_ended_) return;
    lock.unlock();
    status_ = open();
    if (status_ && tables_) status_ = tables_->read();
    if (status_ && header_) answer();
    lock.lock();
  }
}

Result<const HostEvents *> LiveTables::finish() {
  end();
  if (status_) status_ = open();
  if (!status_) return status_.error();
  if (!tables_) return nullptr;
  if (Status status = tables_->finish(); !status) return std::move(status).error();
  if (header_) std::atomic_ref(*reinterpret_cast<uint32_t *>(header_ + kWriterAt)).store(0);
  return &tables_->stream().facts();
}

} // namespace fade::host_trace
