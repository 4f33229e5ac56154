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
      follower_([this] { follow(); }) {}

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
  while (status_ && follower_.pause(tables_ ? kPause : kFirstPause)) {
    status_ = open();
    if (status_ && tables_) status_ = tables_->read();
    if (status_ && requests_.isWanted()) {
      status_ = tables_->flush();
      requests_.answer();
    }
  }
}

Result<const HostEvents *> LiveTables::finish() {
  follower_.end();
  if (status_) status_ = open();
  if (!status_) return status_.error();
  if (!tables_) return nullptr;
  if (Status status = tables_->finish(); !status) return std::move(status).error();
  requests_.close();
  return &tables_->stream().facts();
}

} // namespace fade::host_trace
