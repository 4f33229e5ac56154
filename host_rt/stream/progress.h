// What the progress line says of a run or of the analysis of a recorded one.
#pragma once

#include "base/progress_line.h"
#include "stream/analysis.h"

namespace fade {

class Collector;

/// `collector` is null when nothing runs. Both must outlive the line.
ProgressLine::Text describeProgress(const Analysis &analysis, const Collector *collector);

} // namespace fade
