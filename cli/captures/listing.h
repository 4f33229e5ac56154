// fadeprobe captures: what is in captures.
#pragma once

#include "base/result.h"
#include "capture/reader.h"

#include <string>
#include <vector>

namespace fade::cli {

struct CaptureLine {
  std::string path;
  capture::Description description;
  capture::Sizes sizes;
};

/// The folder itself, or those in it, by name.
std::vector<std::string> capturesIn(const std::string &folder);
Result<CaptureLine> describeCapture(const std::string &path);
std::string capturesTable(const std::vector<CaptureLine> &lines);
std::string capturesJson(const std::vector<CaptureLine> &lines);

} // namespace fade::cli
