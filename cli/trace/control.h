// A process that records host events, from outside: its switch is in the file that it writes.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>

namespace fade::host_trace {

/// Holds as soon as a function has returned: the process looks at its switch at every call. No
/// signal is sent, and a process that does not record is left alone.
class RecordingProcess {
public:
  /// An error if there is no such process, or if it records nothing.
  static Result<RecordingProcess> find(uint32_t pid);
  RecordingProcess(RecordingProcess &&other) noexcept;
  RecordingProcess &operator=(RecordingProcess &&) = delete;
  ~RecordingProcess();

  bool isOn() const;
  void setOn(bool on);
  const std::string &file() const { return file_; }
  uint64_t blocks() const;
  uint64_t lost() const;

private:
  RecordingProcess(std::string file, char *header, uint32_t *is_on)
      : file_(std::move(file)), header_(header), is_on_(is_on) {}

  std::string file_;
  char *header_; ///< of the file, mapped
  uint32_t *is_on_;
};

} // namespace fade::host_trace
