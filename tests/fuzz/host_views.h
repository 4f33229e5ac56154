// Everything that is made from a trace of the host side, for the fuzz targets that read one.
#pragma once

#include "host_trace/call_paths.h"
#include "host_trace/dot_picture.h"
#include "host_trace/graphs.h"
#include "host_trace/operators.h"
#include "host_trace/summary.h"

#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace fade::host_trace {

inline void makeAllViews(const TraceLog &log) {
  const Nesting nesting(log);
  const std::string texts[] = {summarize(log, {}),
                               graphText(log, graphsOf(log), 3),
                               operatorText(log, operatorsOf(log, nesting), 3),
                               callPathText(log, callPathsOf(log, nesting), 3),
                               chainPicture(log, 3),
                               dataPicture(log, 3)};
  for (const std::string &text : texts)
    if (text.empty() || text.back() != '\n') std::abort();
}

/// A file without a name; what was in it before is gone.
inline std::string fileOf(std::string_view bytes) {
  static const int fd = memfd_create("input", MFD_CLOEXEC);
  if (ftruncate(fd, 0) != 0 ||
      pwrite(fd, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    std::abort();
  return "/proc/self/fd/" + std::to_string(fd);
}

} // namespace fade::host_trace
