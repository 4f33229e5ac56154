// Waits for the software GPU: they end as ROCr's do, and leave the processor to it.
#include "fake_hsa.h"
#include "hsa/signal_waits.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace fade {
namespace {

using namespace std::chrono_literals;

hsa_signal_t makeSignal(hsa_signal_value_t value) {
  hsa_signal_t signal{};
  EXPECT_EQ(hsaApi().core.hsa_signal_create_fn(value, 0, nullptr, &signal), HSA_STATUS_SUCCESS);
  return signal;
}

constexpr auto kWaits = {waitAsleepRelaxed, waitAsleepAcquire};

TEST(SignalWaits, AWaitEndsWhenItsConditionHoldsAndSleepsUntilThen) {
  for (const auto wait : kWaits) {
    FakeHsa hsa;
    const hsa_signal_t signal = makeSignal(1);
    hsa.polled = signal.handle;
    std::thread other([&] {
      std::this_thread::sleep_for(200ms);
      hsaApi().core.hsa_signal_store_screlease_fn(signal, 0);
    });
    EXPECT_EQ(wait(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_ACTIVE), 0);
    other.join();
    EXPECT_LT(hsa.polls,
              20'000); // 200 ms in sleeps of 20 us are 10,000; a loop looks millions of times
    hsaApi().core.hsa_signal_destroy_fn(signal);
  }
}

TEST(SignalWaits, EachConditionIsThatOfRocr) {
  FakeHsa hsa;
  const hsa_signal_t signal = makeSignal(5);
  for (const auto wait : kWaits)
    for (const auto [condition, value] :
         {std::pair(HSA_SIGNAL_CONDITION_EQ, 5), std::pair(HSA_SIGNAL_CONDITION_NE, 4),
          std::pair(HSA_SIGNAL_CONDITION_LT, 6), std::pair(HSA_SIGNAL_CONDITION_GTE, 5)})
      EXPECT_EQ(wait(signal, condition, value, UINT64_MAX, HSA_WAIT_STATE_BLOCKED), 5);
  hsaApi().core.hsa_signal_destroy_fn(signal);
}

TEST(SignalWaits, AWaitWithALimitIsRocrs) {
  FakeHsa hsa; // its wait is over at once
  const hsa_signal_t signal = makeSignal(5);
  for (const auto wait : kWaits)
    EXPECT_EQ(wait(signal, HSA_SIGNAL_CONDITION_LT, 1, 1000, HSA_WAIT_STATE_ACTIVE), 5);
  hsaApi().core.hsa_signal_destroy_fn(signal);
}

TEST(SignalWaits, OnACardTheApplicationsWaitsAreRocrs) {
  FakeHsa hsa; // no software GPU is in this process
  const auto relaxed = hsa.core().hsa_signal_wait_relaxed_fn;
  const auto acquire = hsa.core().hsa_signal_wait_scacquire_fn;
  hookWaits(hsa.tables());
  EXPECT_EQ(hsa.core().hsa_signal_wait_relaxed_fn, relaxed);
  EXPECT_EQ(hsa.core().hsa_signal_wait_scacquire_fn, acquire);
}

} // namespace
} // namespace fade
