// The clocks of the hosts of a run, brought together.
//
// Processes of one host share CLOCK_MONOTONIC, whose zero is the host's start. Hosts are compared
// by CLOCK_REALTIME if all of them keep it synchronized, and by the clock of the file server where
// they do not, or where it contradicts them.
#pragma once

#include "analysis/host_events/event_reader.h"
#include "host_trace/run.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fade::host_trace {

struct CommonClock {
  /// What is added to the times of each member, to have them by the clock of the first one's host.
  std::vector<int64_t> offsets_ns;
  std::optional<int64_t> error_ns; ///< nothing: not known
  std::string text;                ///< how it was done, and with which error
  std::vector<std::string> warnings;
};
CommonClock commonClock(const Run &run);

/// Moves all times of a process.
void shiftTimes(HostEvents &events, int64_t by_ns);

} // namespace fade::host_trace
