#include "kfd/events.h"
#include "thread_state.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace fade::sim::kfd {
namespace {

using namespace std::chrono_literals;

using threads::isAsleep;
using threads::waitUntilTwice;

class EventsTest : public testing::Test {
protected:
  Events events;
  uint32_t signal() { return *events.create(KFD_IOC_EVENT_SIGNAL, true); }

  // Result of WAIT_EVENTS; -errno when it fails.
  int wait(std::vector<EventData> &data, bool all = false, uint32_t milliseconds = 0) {
    kfd_ioctl_wait_events_args args{};
    args.events_ptr = reinterpret_cast<uint64_t>(data.data());
    args.num_events = static_cast<uint32_t>(data.size());
    args.wait_for_all = all;
    args.timeout = milliseconds;
    int error = events.wait(args);
    return error ? -error : static_cast<int>(args.wait_result);
  }
  int wait(std::initializer_list<uint32_t> ids, bool all = false, uint32_t milliseconds = 0) {
    std::vector<EventData> data(ids.size());
    size_t i = 0;
    for (uint32_t id : ids) data[i++].event_id = id;
    return wait(data, all, milliseconds);
  }
  static constexpr int complete = KFD_IOC_WAIT_RESULT_COMPLETE,
                       timeout = KFD_IOC_WAIT_RESULT_TIMEOUT;
};

TEST_F(EventsTest, WaitTimesOutWhenNothingHappens) {
  EXPECT_EQ(wait({signal()}, false, 5), timeout);
}

TEST_F(EventsTest, EventSetBeforeTheWaitIsSeenOnce) {
  uint32_t id = signal();
  EXPECT_TRUE(events.set(id));
  EXPECT_EQ(wait({id}), complete);
  EXPECT_EQ(wait({id}), timeout);
}

TEST_F(EventsTest, SetWakesASleeper) {
  uint32_t id = signal();
  std::thread setter([&, sleeper = gettid()] {
    waitUntilTwice([&] { return isAsleep(sleeper); });
    events.set(id);
  });
  EXPECT_EQ(wait({id}, false, 60000), complete);
  setter.join();
}

TEST_F(EventsTest, EveryThreadWakesForOneSetOfAnAutoResetEvent) {
  uint32_t id = signal();
  std::atomic<int> woken{0};
  std::atomic<pid_t> ids[4] = {};
  std::vector<std::thread> threads;
  for (std::atomic<pid_t> &own : ids)
    threads.emplace_back([&] {
      own = gettid();
      woken += wait({id}, false, 60000) == complete;
    });
  // One that comes late would wait for another set.
  waitUntilTwice([&] {
    return std::ranges::all_of(ids, [](const auto &own) { return own != 0 && isAsleep(own); });
  });
  events.set(id);
  for (auto &t : threads) t.join();
  EXPECT_EQ(woken, 4);
}

TEST_F(EventsTest, ThreadThatComesLateStillSeesTheSet) {
  uint32_t id = signal();
  events.set(id);
  EXPECT_EQ(wait({id}), complete); // this thread took it
  int late = timeout;
  std::thread([&] { late = wait({id}); }).join();
  EXPECT_EQ(late, complete);
}

// Exit handlers and the ends of threads come after the destructors of thread-local objects, and
// runtimes wait for signals there.
TEST_F(EventsTest, ThreadStillKnowsWhatItSawWhenItsObjectsAreGone) {
  uint32_t id = signal();
  struct AtTheEnd {
    std::function<void()> action;
    ~AtTheEnd() { action(); }
  };
  int again = -1, fresh = -1;
  std::thread([&] {
    thread_local AtTheEnd last{[&] { // made first, so destroyed last
      again = wait({id});
      events.set(id);
      fresh = wait({id});
    }};
    events.set(id);
    EXPECT_EQ(wait({id}), complete);
  }).join();
  EXPECT_EQ(again, timeout);
  EXPECT_EQ(fresh, complete);
}

TEST_F(EventsTest, AgeOfTheCallerDecides) {
  uint32_t id = signal();
  events.set(id);
  std::vector<EventData> data(1);
  data[0].event_id = id;
  data[0].last_event_age = 1 << 20; // not the present one
  EXPECT_EQ(wait(data), complete);
  uint64_t age = data[0].last_event_age;
  EXPECT_EQ(wait(data), timeout);
  events.set(id);
  EXPECT_EQ(wait(data), complete);
  EXPECT_NE(data[0].last_event_age, age);
}

TEST_F(EventsTest, NewEventHasTheAgeThatRuntimesStartWith) {
  std::vector<EventData> data(1);
  data[0].event_id = signal();
  data[0].last_event_age = 1;
  EXPECT_EQ(wait(data), timeout);
}

TEST_F(EventsTest, WaitForAllNeedsAll) {
  uint32_t a = signal(), b = signal();
  events.set(a);
  EXPECT_EQ(wait({a, b}, true, 5), timeout);
  events.set(b);
  EXPECT_EQ(wait({a, b}, true, 5), complete);
}

TEST_F(EventsTest, WaitForAnyNeedsOne) {
  uint32_t a = signal(), b = signal();
  events.set(b);
  EXPECT_EQ(wait({a, b}), complete);
}

TEST_F(EventsTest, ManualEventStaysSetUntilReset) {
  uint32_t id = *events.create(KFD_IOC_EVENT_SIGNAL, false);
  events.set(id);
  EXPECT_EQ(wait({id}), complete);
  EXPECT_EQ(wait({id}), complete);
  events.reset(id);
  EXPECT_EQ(wait({id}), timeout);
}

TEST_F(EventsTest, ResetForgetsAnUnseenSet) {
  uint32_t id = signal();
  events.set(id);
  events.reset(id);
  EXPECT_EQ(wait({id}), timeout);
}

TEST_F(EventsTest, MemoryExceptionCarriesItsAddress) {
  uint32_t id = *events.create(KFD_IOC_EVENT_MEMORY, true), other = signal();
  kfd_hsa_memory_exception_data fault{};
  fault.va = 0xdead0000;
  fault.gpu_id = 9;
  fault.failure.NotPresent = 1;
  events.raise_memory_exception(fault);
  std::vector<EventData> data(2);
  data[0].event_id = id;
  data[1].event_id = other;
  EXPECT_EQ(wait(data), complete);
  EXPECT_EQ(data[0].memory.va, 0xdead0000u);
  EXPECT_EQ(data[0].memory.gpu_id, 9u);
  EXPECT_EQ(data[0].memory.failure.NotPresent, 1u);
  EXPECT_EQ(wait({id}), timeout);
}

TEST_F(EventsTest, AResetIsAHardwareExceptionAndAnErrorOfMemoryAMemoryExceptionToo) {
  uint32_t hardware = *events.create(KFD_IOC_EVENT_HW_EXCEPTION, true);
  uint32_t memory = *events.create(KFD_IOC_EVENT_MEMORY, true);
  events.raise_reset(9, false);
  EXPECT_EQ(wait({memory}), timeout);
  std::vector<EventData> data(2);
  data[0].event_id = hardware;
  data[1].event_id = memory;
  EXPECT_EQ(wait(data), complete);
  EXPECT_EQ(data[0].hardware.reset_cause, uint32_t{KFD_HW_EXCEPTION_GPU_HANG});
  EXPECT_EQ(data[0].hardware.gpu_id, 9u);
  EXPECT_EQ(data[0].hardware.memory_lost, 1u);
  events.raise_reset(9, true);
  EXPECT_EQ(wait(data), complete);
  EXPECT_EQ(data[0].hardware.reset_cause, uint32_t{KFD_HW_EXCEPTION_ECC});
  EXPECT_EQ(data[1].memory.ErrorType, uint32_t{KFD_MEM_ERR_SRAM_ECC});
  EXPECT_EQ(data[1].memory.gpu_id, 9u);
  EXPECT_EQ(wait({hardware}), timeout);
}

TEST_F(EventsTest, UnknownEventIsAnError) {
  EXPECT_EQ(wait({12345}), -EINVAL);
  EXPECT_FALSE(events.set(12345));
  EXPECT_FALSE(events.destroy(12345));
}

TEST_F(EventsTest, DestroyedEventReleasesItsWaiter) {
  uint32_t id = signal();
  std::thread destroyer([&, sleeper = gettid()] {
    waitUntilTwice([&] { return isAsleep(sleeper); });
    events.destroy(id);
  });
  EXPECT_EQ(wait({id}, false, 60000), complete);
  destroyer.join();
}

TEST_F(EventsTest, IdsAreReusedAndStayInsideTheSharedPage) {
  std::vector<uint32_t> ids;
  while (auto id = events.create(KFD_IOC_EVENT_SIGNAL, true)) ids.push_back(*id);
  EXPECT_EQ(ids.size(), Events::limit - 1);
  for (uint32_t id : ids) ASSERT_LT(id, Events::limit);
  events.destroy(100);
  EXPECT_EQ(events.create(KFD_IOC_EVENT_SIGNAL, true), 100u);
}

TEST_F(EventsTest, ReusedIdDoesNotInheritASet) {
  uint32_t id = signal();
  events.set(id);
  events.destroy(id);
  ASSERT_EQ(signal(), id);
  EXPECT_EQ(wait({id}), timeout);
}

} // namespace
} // namespace fade::sim::kfd
