// fadeprobe check --schedules N: whether another order of waves and workgroups gives another
// result. Dispatches of an application are captured first.
#pragma once

#include "check/finding_reader.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace fade::cli {

/// What came of it.
struct TriedOrders {
  uint64_t tried = 0, different = 0, failed = 0;
  std::optional<FoundFinding> finding; ///< of the first order that gives another result
};

/// Runs the captured dispatch in `count` orders, with seeds from `seed` on, and compares memory
/// with what was captured after it. The first that differs is shrunk to the fewest switches.
/// Later than `until` no further order is begun.
TriedOrders tryOrders(
    const std::string &capture, uint64_t count, uint64_t seed, double timeout,
    std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max());

/// What is wanted of an application.
struct OrdersOfApplication {
  std::vector<std::string> application;
  std::string gpu, kernels, dispatches; ///< as given; empty: not
  uint64_t count = 0, seed = 1;
  double timeout = 0;
};

/// Runs the application once more, quietly, and captures dispatches: the first of each kernel
/// unless told otherwise, at most 16, each at most 1 GiB. Then each in other orders, as long as ten
/// minutes in all. Says what was done. Captures whose result depends on the order are kept.
std::vector<FoundFinding> tryOrdersOf(const OrdersOfApplication &wanted);

} // namespace fade::cli
