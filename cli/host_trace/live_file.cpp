#include "host_trace/live_file.h"

#include "host_trace/event_slices.h"
#include "host_trace/trace_formats.h"

#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

namespace fade::host_trace {
namespace {

constexpr std::chrono::milliseconds kFilePause(500);

} // namespace

LiveFile::LiveFile(std::string events, std::string path, std::string form)
    : events_(std::move(events)), path_(std::move(path)), form_(std::move(form)),
      thread_([this] { follow(); }) {}

LiveFile::~LiveFile() { end(); }

void LiveFile::end() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool LiveFile::wait() {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, kFilePause, [this] { return has_ended_; });
  return !has_ended_;
}

void LiveFile::follow() {
  std::error_code error;
  do
    if (!wait()) return;
  while (std::filesystem::file_size(events_, error) <= EventSource::kWholeBytes || error);
  if (EventSource::hasStacks(events_)) return;
  HostEvents facts;
  const EventSource source(
      events_, [this] { return wait(); },
      [&](const HostEvents &known) {
        facts.lost = known.lost;
        facts.damaged = known.damaged;
        for (const auto &[pid, process] : known.processes)
          facts.processes[pid]; // texts are its own
      });
  Status status = FormWriter(path_, form_, false).write(source);
  if (status)
    made_.emplace(std::move(facts));
  else
    made_.emplace(std::move(status).error());
}

std::optional<Result<HostEvents>> LiveFile::finish() {
  end();
  return std::exchange(made_, std::nullopt);
}

} // namespace fade::host_trace
