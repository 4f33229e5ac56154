// FADE_GPU_STATS: one JSON object per dispatch and line, appended to a file.
#pragma once

#include "exec/executor.h"

#include <string>

namespace fade::sim {

class StatsLog {
public:
  explicit StatsLog(const std::string &path);
  ~StatsLog();
  StatsLog(const StatsLog &) = delete;
  StatsLog &operator=(const StatsLog &) = delete;

  bool ok() const { return fd_ >= 0; }
  // Each line is one write to a file opened for appending, so lines of several queues and processes
  // do not mix.
  void write(const std::string &kernel, const Dispatch &dispatch, const DispatchStats &stats);

  static std::string line(const std::string &kernel, const Dispatch &dispatch,
                          const DispatchStats &stats);

private:
  int fd_ = -1;
};

} // namespace fade::sim
