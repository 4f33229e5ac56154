// A file that is made beside an application that fadeprobe has started, once there is much of it.
#pragma once

#include "analysis/host_events/event_reader.h"
#include "base/result.h"
#include "host_trace/event_slices.h"
#include "host_trace/flush_requests.h"
#include "host_trace/follower.h"

#include <optional>
#include <string>

namespace fade::host_trace {

/// Follows the events in a thread of its own. What is short is left to whoever reads it as a whole,
/// and so are events with stacks.
class LiveFile {
public:
  LiveFile(std::string events, std::string path, std::string form);

  /// When the application has ended. Nothing: the file was not begun. Else it is there; the numbers
  /// of processes and what is missing.
  std::optional<Result<HostEvents>> finish();

private:
  void follow();
  void write();
  /// A moment, or until the application has ended or somebody wants to read the file.
  EventSource::Next wait();
  void openRequests();

  const std::string events_, path_, form_;
  std::optional<Result<HostEvents>> made_;
  FlushRequests requests_;
  Follower follower_;
};

} // namespace fade::host_trace
