// A process that records host events, from outside: its switch is in the file that it writes.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fade::host_trace {

/// Holds as soon as a function has returned: the process looks at its switch at every call. No
/// signal is sent, and a process that does not record is left alone.
class RecordingProcess {
public:
  /// An error if there is no such process, or if it records nothing. One that was started with
  /// fadeprobe trace and has not used the GPU yet gets a switch, which it finds when it does.
  /// Root opens files with the rights of the process's user, who has chosen their names.
  static Result<RecordingProcess> find(uint32_t pid);
  RecordingProcess(RecordingProcess &&other) noexcept;
  RecordingProcess &operator=(RecordingProcess &&) = delete;
  ~RecordingProcess();

  /// It has begun to write: it has used the GPU, or has set markers.
  bool hasBegun() const { return has_begun_; }
  bool isOn() const;
  void setOn(bool on);
  /// What the process has done by now is in its file, also in the one that a writer makes of it.
  /// False if that writer has ended.
  bool flush();
  const std::string &file() const { return file_; }
  uint64_t blocks() const;
  uint64_t lost() const;

private:
  RecordingProcess(std::string file, char *header, uint32_t *is_on, bool has_begun)
      : file_(std::move(file)), header_(header), is_on_(is_on), has_begun_(has_begun) {}
  static Result<RecordingProcess> announce(uint32_t pid,
                                           const std::map<std::string, std::string> &variables);

  std::string file_;
  char *header_; ///< of the file, mapped
  uint32_t *is_on_;
  bool has_begun_;
};

/// Processes that run and may write more into a file of host events.
std::vector<uint32_t> recordersOf(const std::string &file);

} // namespace fade::host_trace
