// fadeprobe check CAPTURE --schedules N: whether another order of waves and workgroups gives
// another result.
#pragma once

#include "check/finding_reader.h"

#include <optional>
#include <string>

namespace fade::cli {

/// What came of it.
struct TriedOrders {
  uint64_t tried = 0, different = 0, failed = 0;
  std::optional<FoundFinding> finding; ///< of the first order that gives another result
};

/// Runs the captured dispatch in `count` orders, with seeds from `seed` on, and compares memory
/// with what was captured after it. The first that differs is shrunk to the fewest switches.
TriedOrders tryOrders(const std::string &capture, uint64_t count, uint64_t seed, double timeout);

} // namespace fade::cli
