// One event of a file of host events (fade/host_events.h), checked and put where it belongs.
#pragma once

#include "analysis/host_events/event_reader.h"
#include "fade/host_events.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace fade::host_trace {

class EventParser {
public:
  explicit EventParser(HostEvents &to) : events_(to) {}

  /// `position`: in the file. Texts and words that come of it lie in `bytes`. False if it makes no
  /// sense.
  bool read(events::EventKind kind, const char *bytes, uint64_t position, uint64_t size);

  /// Once everything was read: threads have told of libraries in blocks of their own.
  void placeLibraries();

  struct LibraryChange {
    uint32_t pid;
    bool is_gone;
    Library library;
  };

  Thread thread; ///< whose events these are
  std::vector<events::OperationEndEvent> ends;
  std::unordered_map<uint64_t, uint64_t> call_stacks; ///< by call
  std::vector<LibraryChange> libraries;

private:
  Marker markerOf(const events::MarkerEvent &event, const char *bytes, uint64_t position) const;
  bool readStack(const char *bytes, uint64_t size);
  bool readLibrary(const char *bytes, uint64_t size);
  bool readProcess(const char *bytes, uint64_t size);
  bool readCall(const char *bytes, uint64_t position, uint64_t size);

  HostEvents &events_;
};

/// Of an operation that has ended.
void setEnd(Operation &operation, const events::OperationEndEvent &end);

} // namespace fade::host_trace
