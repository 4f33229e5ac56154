// Host events for writers of files: as a whole, or of a large file in slices, so that memory does
// not depend on how many there are.
//
// A slice is a HostEvents of its own. Calls, those that made them and the operations that they
// caused are in the same slice, and so are both ends of a range: what is not complete yet waits for
// the next one. Slices have no stacks; what follows from all events together is told at the end.
#pragma once

#include "analysis/host_events/event_reader.h"
#include "base/result.h"
#include "host_trace/findings.h"
#include "host_trace/trace_log.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace fade::host_trace {

class EventSource {
public:
  /// Files up to this size are read as a whole, and those with stacks of calls, whatever size they
  /// have.
  static constexpr uint64_t kWholeBytes = uint64_t{4} << 20;
  static constexpr std::size_t kSlice = 65'536; ///< events

  explicit EventSource(const HostEvents &events) : whole_(&events) {}
  /// `shift_ns`: added to all times.
  explicit EventSource(std::string path, int64_t shift_ns = 0)
      : path_(std::move(path)), shift_ns_(shift_ns) {}
  /// In slices of about so many events, whatever size the file has.
  EventSource(std::string path, int64_t shift_ns, std::size_t events_per_slice)
      : path_(std::move(path)), shift_ns_(shift_ns), whole_bytes_(0),
        events_per_slice_(events_per_slice) {}

  /// A file that somebody records into: it is read in slices, whatever size it has, until `wait`,
  /// which takes its time, says that it has ended. `end` gets the processes and what is missing.
  /// When `wait` asks for it, everything that is complete becomes a slice.
  enum class Next { read, flush, end };
  using Wait = std::function<Next()>;
  using End = std::function<void(const HostEvents &facts)>;
  EventSource(std::string path, Wait wait, End end, std::size_t events_per_slice = kSlice)
      : path_(std::move(path)), wait_(std::move(wait)), end_(std::move(end)), whole_bytes_(0),
        events_per_slice_(events_per_slice) {}

  /// No operation of a later slice began before `operations_until`.
  using Take = std::function<void(const HostEvents &slice, uint64_t operations_until)>;
  /// What follows from all events together.
  struct Facts {
    std::vector<FoundFact> found;
    std::vector<LoggedRequest> requests;
  };
  /// `flush`: what was taken so far shall become readable.
  using Flush = std::function<void()>;
  Status forEach(const Take &take, Facts *facts = nullptr, const Flush &flush = {}) const;
  /// The same, with something more to be done after each flush.
  EventSource whenFlushed(Flush then) const {
    EventSource other = *this;
    other.flushed_.push_back(std::move(then));
    return other;
  }
  /// All at once, whatever size it has.
  Status forEachWhole(const Take &take, Facts *facts = nullptr) const;

  /// Whether it is one slice.
  bool isWhole() const;
  /// Whether there are stacks of calls, which slices do not have.
  static bool hasStacks(const std::string &path);

private:
  const HostEvents *whole_ = nullptr;
  std::string path_;
  int64_t shift_ns_ = 0;
  Wait wait_;
  End end_;
  std::vector<Flush> flushed_; ///< the last one first
  uint64_t whole_bytes_ = kWholeBytes;
  std::size_t events_per_slice_ = kSlice;
};

} // namespace fade::host_trace
