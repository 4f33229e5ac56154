#include "hsa/signal_waits.h"

#include "hsa/executed.h"
#include "hsa/signal_condition.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace fade {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kAwake = 20us;     ///< about what waking up takes
constexpr auto kLongest = 200us;  ///< between two looks
constexpr int kShareOfWaited = 8; ///< a sleep prolongs the wait by no more than this part of it

/// Whether ROCr need not be asked to wait.
bool canSleep(hsa_signal_condition_t condition, uint64_t timeout) {
  return timeout == UINT64_MAX && condition <= HSA_SIGNAL_CONDITION_GTE;
}

/// The value that ended the wait: somebody may change it again at once.
template <class Load>
hsa_signal_value_t sleepUntil(hsa_signal_t signal, hsa_signal_condition_t condition,
                              hsa_signal_value_t value, Load load) {
  const auto begin = Clock::now();
  for (;;) {
    if (const hsa_signal_value_t now = load(signal); holds(condition, now, value)) return now;
    const auto waited = Clock::now() - begin;
    if (waited >= kAwake)
      std::this_thread::sleep_for(
          std::clamp<Clock::duration>(waited / kShareOfWaited, kAwake, kLongest));
  }
}

} // namespace

hsa_signal_value_t waitAsleepRelaxed(hsa_signal_t signal, hsa_signal_condition_t condition,
                                     hsa_signal_value_t value, uint64_t timeout,
                                     hsa_wait_state_t state) {
  const auto &core = hsaApi().core;
  return canSleep(condition, timeout)
             ? sleepUntil(signal, condition, value, core.hsa_signal_load_relaxed_fn)
             : core.hsa_signal_wait_relaxed_fn(signal, condition, value, timeout, state);
}

hsa_signal_value_t waitAsleepAcquire(hsa_signal_t signal, hsa_signal_condition_t condition,
                                     hsa_signal_value_t value, uint64_t timeout,
                                     hsa_wait_state_t state) {
  const auto &core = hsaApi().core;
  return canSleep(condition, timeout)
             ? sleepUntil(signal, condition, value, core.hsa_signal_load_scacquire_fn)
             : core.hsa_signal_wait_scacquire_fn(signal, condition, value, timeout, state);
}

void hookWaits(HsaTables &tables) {
  if (!isSoftwareGpu()) return;
  tables.core().hsa_signal_wait_relaxed_fn = waitAsleepRelaxed;
  tables.core().hsa_signal_wait_scacquire_fn = waitAsleepAcquire;
}

} // namespace fade
