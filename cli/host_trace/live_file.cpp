#include "host_trace/live_file.h"

#include "fade/host_events.h"
#include "host_trace/trace_formats.h"

#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

namespace fade::host_trace {
namespace {

using LiveClock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kFilePause(500);
/// How often it is looked whether somebody wants to read it.
constexpr std::chrono::milliseconds kRequestPause(50);
/// While there are no events: who asks for them at once shall not be too early.
constexpr std::chrono::milliseconds kNoEventsPause(10);

} // namespace

LiveFile::LiveFile(std::string events, std::string path, std::string form)
    : events_(std::move(events)), path_(std::move(path)), form_(std::move(form)),
      follower_([this] { follow(); }) {}

EventSource::Next LiveFile::wait() {
  const auto until = LiveClock::now() + kFilePause;
  while (!follower_.isToEnd() && LiveClock::now() < until) {
    if (!requests_.isOpen()) openRequests();
    if (requests_.isWanted()) return EventSource::Next::flush;
    follower_.pause(requests_.isOpen() ? kRequestPause : kNoEventsPause);
  }
  return follower_.isToEnd() ? EventSource::Next::end : EventSource::Next::read;
}

void LiveFile::openRequests() {
  std::error_code error;
  if (std::filesystem::file_size(events_, error) > events::kHeaderBytes && !error)
    requests_.open(events_);
}

/// Who asks gets an answer until the application has ended.
void LiveFile::follow() {
  using Next = EventSource::Next;
  std::error_code error;
  Next next = Next::read;
  do
    if (next = wait(); next == Next::end) return;
  while (next == Next::read &&
         (std::filesystem::file_size(events_, error) <= EventSource::kWholeBytes || error));
  if (!EventSource::hasStacks(events_)) write();
  while ((next = wait()) != Next::end)
    if (next == Next::flush) requests_.answer();
}

void LiveFile::write() {
  HostEvents facts;
  const EventSource source(
      events_, [this] { return wait(); },
      [&](const HostEvents &known) {
        facts.lost = known.lost;
        facts.damaged = known.damaged;
        for (const auto &[pid, process] : known.processes)
          facts.processes[pid]; // texts are its own
      });
  Status status =
      FormWriter(path_, form_, false).write(source.whenFlushed([this] { requests_.answer(); }));
  if (status)
    made_.emplace(std::move(facts));
  else
    made_.emplace(std::move(status).error());
}

std::optional<Result<HostEvents>> LiveFile::finish() {
  follower_.end();
  requests_.close();
  return std::exchange(made_, std::nullopt);
}

} // namespace fade::host_trace
