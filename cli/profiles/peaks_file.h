// What a GPU can do at most, as measured and kept for fadeprobe profile.
#pragma once

#include "analysis/gpu_model.h"
#include "base/result.h"

#include <string>
#include <vector>

namespace fade::profile {

/// Where they are kept unless somebody says otherwise: below XDG_CACHE_HOME or ~/.cache.
std::string usualPeaksFile();
/// JSON lines (docs/formats.md), one for each GPU.
Result<std::vector<MeasuredPeaks>> readPeaks(const std::string &path);
std::string lineOf(const MeasuredPeaks &peaks);
/// From the lines of the program that measures. What is no such line is left out.
std::vector<MeasuredPeaks> parsePeaks(const std::string &output);

} // namespace fade::profile
