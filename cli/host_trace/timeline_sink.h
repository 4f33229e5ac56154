// What a timeline is made of, for those who write it: slices on tracks, counters, and names of
// processes and tracks.
#pragma once

#include "fade/json_writer.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fade::host_trace {

struct TimelineSlice {
  std::string_view category, name;
  uint32_t pid = 0, tid = 0;
  uint64_t start_ns = 0, end_ns = 0;
  /// Arrows that begin where it begins, and that end there, by number.
  std::span<const uint64_t> arrows_from, arrows_to;
};

class TimelineSink {
public:
  TimelineSink() = default;
  TimelineSink(const TimelineSink &) = delete;
  TimelineSink &operator=(const TimelineSink &) = delete;
  virtual ~TimelineSink() = default;

  /// Before the first slice there: the number is a thread's, or that of a row of a GPU.
  virtual void announceProcess(uint32_t pid, std::string_view title) = 0;
  virtual void announceTrack(uint32_t pid, uint32_t tid, std::string_view title,
                             bool is_thread) = 0;
  /// The members of an object that describes it.
  using Members = std::function<void(JsonWriter &json)>;
  virtual void slice(const TimelineSlice &slice, const Members &arguments) = 0;
  /// One end of an arrow ('s' or 'f'), where a slice begins.
  virtual void arrowEnd(char phase, const char *what, uint64_t id, uint32_t pid, uint32_t tid,
                        uint64_t time_ns) = 0;
  virtual void counter(const char *name, uint32_t pid, uint64_t time_ns, int64_t value) = 0;
  /// Everything so far shall be readable. `about`: what is to be said of the times.
  virtual void flush(std::string_view about) = 0;
  /// After the last slice: all titles once more. Without `tid`: of the process.
  virtual void title(uint32_t pid, std::optional<uint32_t> tid, std::string_view text) = 0;
};

} // namespace fade::host_trace
