#include "host_trace/run_clocks.h"

#include "host_trace/log_text.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <limits>
#include <map>

namespace fade::host_trace {
namespace {

constexpr int64_t kNoticed = 1'000'000;        ///< ns: a clock that was changed by more was set
constexpr int64_t kSuspicious = 5'000'000'000; ///< ns between the starts of a job's hosts

/// What is known of a host's clock, from all of its processes.
struct HostClock {
  std::string host;
  int64_t to_unix = 0;   ///< from CLOCK_MONOTONIC to CLOCK_REALTIME
  int64_t to_server = 0; ///< and to the clock of the file server
  int64_t changed = 0;   ///< while the run was recorded
  int64_t error = 0, server_error = 0;
  bool is_synchronized = true;
  int64_t first_start = std::numeric_limits<int64_t>::max(); ///< CLOCK_MONOTONIC

  void add(const ClockReading &reading, bool is_first) {
    const int64_t difference = reading.realtime_ns - reading.monotonic_ns;
    if (is_first) to_unix = difference;
    changed = std::max(changed, std::abs(difference - to_unix));
    error = std::max(error, reading.max_error_ns + reading.width_ns);
    is_synchronized = is_synchronized && reading.is_synchronized;
    if (reading.files_error_ns == 0) return;
    if (server_error != 0 && reading.files_error_ns >= server_error) return;
    server_error = reading.files_error_ns;
    to_server = difference + reading.files_ahead_ns;
  }

  bool contradictsServer() const {
    return server_error != 0 && std::abs(to_server - to_unix) > error + server_error;
  }
};
using HostClocks = std::map<std::string, HostClock>; // by boot id

HostClocks clocksOf(const Run &run) {
  HostClocks hosts;
  for (const RunMember &member : run.members) {
    const RunProcess &process = member.summary.process;
    const auto [at, is_first] = hosts.try_emplace(process.boot_id);
    HostClock &host = at->second;
    host.host = process.host;
    host.add(process.clocks, is_first);
    if (member.summary.end_clocks) host.add(*member.summary.end_clocks, false);
    host.first_start = std::min(host.first_start, process.clocks.monotonic_ns);
  }
  return hosts;
}

std::string durationOf(int64_t ns) { return durationText(static_cast<uint64_t>(std::abs(ns))); }

/// The two largest errors: what two hosts may differ by.
int64_t ofTwo(std::vector<int64_t> errors) {
  std::ranges::sort(errors, std::greater());
  return errors[0] + (errors.size() > 1 ? errors[1] : 0);
}

/// One clock that is off shows as one host whose processes seem to begin long before or after all
/// others.
void findSuspicious(const HostClocks &hosts, bool by_server, CommonClock &clock) {
  std::vector<int64_t> starts;
  const auto startOf = [&](const HostClock &host) {
    return host.first_start + (by_server ? host.to_server : host.to_unix);
  };
  for (const auto &[boot, host] : hosts) starts.push_back(startOf(host));
  std::ranges::sort(starts);
  const int64_t median = starts[(starts.size() - 1) / 2];
  for (const auto &[boot, host] : hosts)
    if (const int64_t late = startOf(host) - median; std::abs(late) > kSuspicious)
      clock.warnings.push_back(
          fmt::format("{} begins {} {} the others: its clock may be off by as much", host.host,
                      durationOf(late), late > 0 ? "after" : "before"));
}

} // namespace

CommonClock commonClock(const Run &run) {
  CommonClock clock;
  const HostClocks hosts = clocksOf(run);
  for (const auto &[boot, host] : hosts)
    if (host.changed > kNoticed)
      clock.warnings.push_back(fmt::format("the clock of {} was changed by {} during the run",
                                           host.host, durationOf(host.changed)));
  if (hosts.size() == 1) {
    clock.offsets_ns.assign(run.members.size(), 0);
    clock.error_ns = 0;
    clock.text = "one machine: all processes share one clock";
    return clock;
  }
  bool is_synchronized = true, has_server = true, is_contradicted = false;
  std::vector<int64_t> errors, server_errors;
  for (const auto &[boot, host] : hosts) {
    is_synchronized = is_synchronized && host.is_synchronized;
    has_server = has_server && host.server_error != 0;
    is_contradicted = is_contradicted || host.contradictsServer();
    errors.push_back(host.error + host.changed);
    server_errors.push_back(host.server_error + host.changed);
    if (host.contradictsServer())
      clock.warnings.push_back(fmt::format("the clock of {} differs from the file server's by {}",
                                           host.host, durationOf(host.to_server - host.to_unix)));
  }
  const bool by_server = has_server && (!is_synchronized || is_contradicted);
  if (by_server) {
    clock.error_ns = ofTwo(server_errors);
    clock.text = fmt::format("{} hosts, by the clock of the file server: error up to {}",
                             hosts.size(), durationOf(*clock.error_ns));
  } else if (is_synchronized) {
    clock.error_ns = ofTwo(errors);
    clock.text = fmt::format("{} hosts, by their synchronized clocks: error up to {}", hosts.size(),
                             durationOf(*clock.error_ns));
  } else {
    clock.text = fmt::format(
        "{} hosts whose clocks are not synchronized: times of different hosts cannot be compared",
        hosts.size());
  }
  findSuspicious(hosts, by_server, clock);
  const auto toCommon = [&](const RunMember &member) {
    const HostClock &host = hosts.at(member.summary.process.boot_id);
    return by_server ? host.to_server : host.to_unix;
  };
  for (const RunMember &member : run.members)
    clock.offsets_ns.push_back(toCommon(member) - toCommon(run.members[0]));
  return clock;
}

void shiftTimes(HostEvents &events, int64_t by_ns) {
  if (by_ns == 0) return;
  const auto move = [&](uint64_t &time) {
    if (time != 0 && time != UINT64_MAX) time += static_cast<uint64_t>(by_ns);
  };
  for (Call &call : events.calls) move(call.start_ns), move(call.end_ns);
  for (Operation &operation : events.operations) {
    move(operation.start_ns);
    move(operation.end_ns);
    move(operation.event.submitted_ns);
  }
  for (Marker &marker : events.markers) move(marker.time_ns);
  for (Switch &change : events.switches) move(change.time_ns);
  for (LibraryRequest &request : events.requests) move(request.time_ns);
  for (Finding &finding : events.findings) move(finding.time_ns);
  for (Usage &usage : events.usages) move(usage.time_ns);
  for (auto &[pid, time] : events.ended_ns) move(time);
  for (auto &[pid, process] : events.processes) {
    move(process.start_ns);
    for (Library &library : process.libraries) move(library.loaded_ns), move(library.unloaded_ns);
  }
  events.monotonic_ns += by_ns;
}

} // namespace fade::host_trace
