// A file that is made beside an application that fadeprobe has started, once there is much of it.
#pragma once

#include "analysis/host_events/event_reader.h"
#include "base/result.h"
#include "host_trace/event_slices.h"
#include "host_trace/flush_requests.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace fade::host_trace {

/// Follows the events in a thread of its own. What is short is left to whoever reads it as a whole,
/// and so are events with stacks.
class LiveFile {
public:
  LiveFile(std::string events, std::string path, std::string form);
  ~LiveFile();
  LiveFile(const LiveFile &) = delete;
  LiveFile &operator=(const LiveFile &) = delete;

  /// When the application has ended. Nothing: the file was not begun. Else it is there; the numbers
  /// of processes and what is missing.
  std::optional<Result<HostEvents>> finish();

private:
  void follow();
  void write();
  /// A moment, or until the application has ended or somebody wants to read the file.
  EventSource::Next wait();
  void openRequests();
  void end();

  const std::string events_, path_, form_;
  std::optional<Result<HostEvents>> made_;
  FlushRequests requests_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool has_ended_ = false;
  std::thread thread_;
};

} // namespace fade::host_trace
