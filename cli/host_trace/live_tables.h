// Parquet tables that are made beside an application that fadeprobe has started.
#pragma once

#include "base/result.h"
#include "host_trace/column_tables.h"
#include "host_trace/flush_requests.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace fade::host_trace {

/// Follows the events in a thread of its own, from when the application makes the file.
class LiveTables {
public:
  LiveTables(std::string events, std::string folder, std::string partition);
  ~LiveTables();
  LiveTables(const LiveTables &) = delete;
  LiveTables &operator=(const LiveTables &) = delete;

  /// When the application has ended: the tables are there. Processes and what is missing; null if
  /// nobody has recorded.
  Result<const HostEvents *> finish();

private:
  void follow();
  /// Nothing if there is no file yet.
  Status open();
  void end();

  const std::string events_, folder_, partition_;
  std::unique_ptr<ColumnTables> tables_;
  FlushRequests requests_;
  Status status_ = Done{};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool has_ended_ = false;
  std::thread thread_;
};

} // namespace fade::host_trace
