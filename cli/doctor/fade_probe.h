// --probe fade: does FADE work on this GPU? Runs a kernel whose accesses are known, in every mode
// and with every transport, and checks every record.
#pragma once

#include "doctor/probe.h"

#include <optional>
#include <string_view>

namespace fade::doctor {

/// As stages fade-off (no FADE), fade-times (durations), fade-host and fade-device (records),
/// fade-hip (the same through HIP) and fade-often (what a record costs). All are skipped because of
/// `obstacle` ("because the GPU is not usable"), unless that is empty.
std::vector<ProbeResult> probeFade(const ProbeOptions &options, const std::string &libfade,
                                   std::string obstacle);

/// What the kernel of doctor/probe/fade_kernels.cl says where its buffers are.
struct FadePlaces {
  uint64_t in = 0, out = 0, counter = 0;
};
/// Empty if the JSON lines of a run have exactly the records that the kernel must have; else what
/// is wrong.
std::string checkRecords(std::string_view json_lines, const FadePlaces &places);

/// What a record cost in a run with many, beside one without them.
struct RecordCost {
  double nanoseconds = 0;
  std::string text;
};
/// Nothing if the JSON lines have no complete dispatch with records.
std::optional<RecordCost> recordCost(std::string_view json_lines,
                                     std::optional<double> plain_milliseconds);

} // namespace fade::doctor
