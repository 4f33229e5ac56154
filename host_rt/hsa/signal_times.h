// When the work that a signal stands for began and ended, as its memory says.
#pragma once

#include <atomic>
#include <hsa/amd_hsa_signal.h>

namespace fade {

/// Several operations may have the same signal, and end in different threads: the last one's stay.
inline void copyTimes(hsa_signal_t from, hsa_signal_t to) noexcept {
  const auto &ours = *reinterpret_cast<const amd_signal_t *>(from.handle);
  auto &theirs = *reinterpret_cast<amd_signal_t *>(to.handle);
  std::atomic_ref(theirs.start_ts).store(ours.start_ts, std::memory_order_relaxed);
  std::atomic_ref(theirs.end_ts).store(ours.end_ts, std::memory_order_relaxed);
}

} // namespace fade
