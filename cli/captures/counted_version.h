// A version of a captured kernel, run on the software GPU to count what it does: what the model of
// a kernel's time (analysis/time_model.h) works on.
#pragma once

#include "analysis/run_log.h"
#include "captures/listing.h"

#include <chrono>

namespace fade::cli {

/// `code`: a code object; empty: the captured one. JSON lines go to `file`, which is written anew.
/// Needs ROCr.
Result<report::RunLog> countVersion(const CaptureLine &capture, const std::string &code,
                                    const std::string &file, std::chrono::seconds patience);

/// The captured kernel and another version of it by the model, as fadeprobe diff says it: "better:
/// kernels take ...", one line without its end.
struct ModeledVersions {
  std::string verdict;
  double captured_ns = 0, ns = 0; ///< of a dispatch
};
Result<ModeledVersions> modelVersions(const CaptureLine &capture, const std::string &code);

} // namespace fade::cli
