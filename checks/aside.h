// What the checks do besides a runtime's own work.
#pragma once

#include "checks/finding_log.h"

namespace fade::checks {

/// Runs it if findings are wanted; what goes wrong there stays there.
template <typename F> void aside(F &&f) noexcept {
  try {
    if (FindingLog::instance().isOpen()) f();
  } catch (...) {
  }
}

} // namespace fade::checks
