#include "host_trace/live_tables.h"

#include "fade/host_events.h"

#include <chrono>
#include <filesystem>

namespace fade::host_trace {
namespace {

constexpr std::chrono::milliseconds kPause(200);
/// While there is no file: who asks for it at once shall not be too early.
constexpr std::chrono::milliseconds kFirstPause(10);

} // namespace

LiveTables::LiveTables(std::string events, std::string folder, std::string partition)
    : events_(std::move(events)), folder_(std::move(folder)), partition_(std::move(partition)),
      thread_([this] { follow(); }) {}

LiveTables::~LiveTables() { end(); }

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
  requests_.open(events_);
  return Done{};
}

void LiveTables::follow() {
  std::unique_lock lock(mutex_);
  while (!has_ended_ && status_) {
    wake_.wait_for(lock, tables_ ? kPause : kFirstPause);
    if (has_ended_) return;
    lock.unlock();
    status_ = open();
    if (status_ && tables_) status_ = tables_->read();
    if (status_ && requests_.isWanted()) {
      status_ = tables_->flush();
      requests_.answer();
    }
    lock.lock();
  }
}

Result<const HostEvents *> LiveTables::finish() {
  end();
  if (status_) status_ = open();
  if (!status_) return status_.error();
  if (!tables_) return nullptr;
  if (Status status = tables_->finish(); !status) return std::move(status).error();
  requests_.close();
  return &tables_->stream().facts();
}

} // namespace fade::host_trace
