// Parquet tables that are made beside an application that fadeprobe has started.
#pragma once

#include "base/result.h"
#include "host_trace/column_tables.h"
#include "host_trace/flush_requests.h"
#include "host_trace/follower.h"

#include <memory>
#include <string>

namespace fade::host_trace {

/// Follows the events in a thread of its own, from when the application makes the file.
class LiveTables {
public:
  LiveTables(std::string events, std::string folder, std::string partition);

  /// When the application has ended: the tables are there. Processes and what is missing; null if
  /// nobody has recorded.
  Result<const HostEvents *> finish();

private:
  void follow();
  /// Nothing if there is no file yet.
  Status open();

  const std::string events_, folder_, partition_;
  std::unique_ptr<ColumnTables> tables_;
  FlushRequests requests_;
  Status status_ = Done{};
  Follower follower_;
};

} // namespace fade::host_trace
