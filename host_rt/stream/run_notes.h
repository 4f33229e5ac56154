// Sentences about a whole run: which part of it the numbers stand for, and what to do when there is
// nothing to see.
#pragma once

#include "base/settings.h"
#include "fade/handler_abi.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fade {

/// Workgroups of a dispatch, and those of them in which records are written.
struct WorkgroupCounts {
  uint64_t all = 0, recorded = 0;
};
WorkgroupCounts countWorkgroups(const fade_dispatch &dispatch, const WorkgroupFilter &filter);

/// What the analyzers' numbers stand for. Empty if nothing was left out.
std::vector<std::string> samplingNotes(const WorkgroupFilter &filter,
                                       const WorkgroupCounts &workgroups);

/// The same of an automatic sample: dispatches and workgroups, all and recorded.
std::vector<std::string> automaticNotes(const WorkgroupCounts &dispatches,
                                        const WorkgroupCounts &workgroups);

/// Why most kernels are not instrumented that should be.
inline constexpr std::string_view kNoTwin = "it has no instrumented twin";

/// What the user asked for, as far as it can turn out to be nothing.
struct Wishes {
  bool instrumented = false;
  std::string kernels;        ///< the expression; empty: all
  std::string library_filter; ///< the same
  std::function<bool(const std::string &kernel)> wants_kernel;
  std::function<uint64_t()> dispatched; ///< how many dispatches there were in all
  std::function<bool()> lacks_queues;   ///< kernels were loaded, and no queue was seen
};
/// What came of it, without the kernels of the HIP runtime itself.
struct Outcome {
  std::vector<std::string> kernels; ///< that ran
  uint64_t instrumented = 0;        ///< dispatches
  bool lacks_twins = false;         ///< a kernel that was asked for has no instrumented twin
};
/// Nothing if the wishes were met, or if it is not known what to do about it.
std::optional<std::string> hintFor(const Wishes &wishes, const Outcome &outcome);

} // namespace fade
