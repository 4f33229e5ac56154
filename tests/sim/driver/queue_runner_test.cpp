#include "device/queue_runner.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <system_error>
#include <thread>

namespace fade::sim {
namespace {

using namespace std::chrono_literals;
using Step = PacketProcessor::Step;

// A queue of numbers to count down, driven by the test.
struct Shared {
  std::atomic<int> submitted{0}, done{0}, running{0}, blocked{0};
  std::atomic<bool> hold{false}, halt{false}, halted{false};
  std::atomic<bool> is_changing{false}, was_seen_changing{false}; // its ring
  std::atomic<int> looks{0};                                      // for work
  std::atomic<int> waits{0};                                      // found blocked
  std::function<void()> body;
};

class CountingProcessor : public PacketProcessor {
public:
  explicit CountingProcessor(Shared &s) : shared_(s) {}
  Step step() override {
    if (shared_.halt) {
      shared_.halted = true;
      return Step::halted;
    }
    if (!has_work()) return Step::idle;
    if (shared_.blocked) {
      ++shared_.waits;
      return Step::waiting;
    }
    shared_.running = 1;
    while (shared_.hold) std::this_thread::sleep_for(1ms);
    if (shared_.body) shared_.body();
    ++shared_.done;
    shared_.running = 0;
    return Step::progressed;
  }
  bool has_work() const override {
    ++shared_.looks;
    if (shared_.is_changing) shared_.was_seen_changing = true;
    return shared_.done < shared_.submitted;
  }
  bool set_ring(uint64_t, uint64_t) override {
    shared_.is_changing = true;
    std::this_thread::sleep_for(20ms); // as long as somebody who looks often needs
    shared_.is_changing = false;
    return true;
  }

private:
  Shared &shared_;
};

template <class F> bool eventually(F condition) {
  for (int i = 0; i < 60000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

class QueueRunnerTest : public testing::Test {
protected:
  std::unique_ptr<QueueRunner> make() {
    return std::make_unique<QueueRunner>(poller, std::make_unique<CountingProcessor>(shared),
                                         "test");
  }
  Shared shared;
  DoorbellPoller poller;
};

TEST_F(QueueRunnerTest, WakesForWorkSubmittedWhileAsleep) {
  auto runner = make();
  std::this_thread::sleep_for(20ms);
  shared.submitted = 3;
  EXPECT_TRUE(eventually([&] { return shared.done == 3; }));
}

TEST_F(QueueRunnerTest, APacketThatThrowsStopsItsQueueOnly) {
  shared.body = [] { throw std::bad_alloc(); };
  Shared good;
  auto bad_runner = make();
  QueueRunner good_runner(poller, std::make_unique<CountingProcessor>(good), "good");
  shared.submitted = 1;
  EXPECT_TRUE(eventually([&] { return shared.running == 1; }));
  good.submitted = 2;
  EXPECT_TRUE(eventually([&] { return good.done == 2; }));
  EXPECT_TRUE(bad_runner->finish(5s)); // it waits for its end, as a halted one does
  EXPECT_EQ(shared.done, 0);
}

// Threads that can be started before the system has no more.
std::atomic<int> threads_left{0};
int create_few(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
               void *argument) {
  if (threads_left-- <= 0) return EAGAIN;
  return pthread_create(thread, attributes, body, argument);
}

// A queue needs a thread of its own, and the first one that of the doorbells.
TEST_F(QueueRunnerTest, AQueueWithoutAThreadIsRefused) {
  DeviceThread::create = create_few;
  for (int threads : {0, 1}) {
    threads_left = threads;
    EXPECT_THROW(make(), std::system_error) << threads;
  }
  threads_left = 2;
  auto runner = make();
  DeviceThread::create = pthread_create;
  shared.submitted = 1;
  EXPECT_TRUE(eventually([&] { return shared.done == 1; }));
}

TEST_F(QueueRunnerTest, KickWakesWithoutThePoller) {
  auto runner = make();
  std::this_thread::sleep_for(20ms);
  shared.submitted = 1;
  poller.kick();
  EXPECT_TRUE(eventually([&] { return shared.done == 1; }));
}

TEST_F(QueueRunnerTest, ContinuesWhenWhatThePacketWaitsForHappens) {
  shared.blocked = 1;
  shared.submitted = 1;
  auto runner = make();
  EXPECT_TRUE(eventually([&] { return shared.waits > 1; }));
  EXPECT_EQ(shared.done, 0);
  shared.blocked = 0;
  EXPECT_TRUE(eventually([&] { return shared.done == 1; }));
}

TEST_F(QueueRunnerTest, DestructionWaitsForTheRunningPacket) {
  shared.hold = true;
  shared.submitted = 1;
  auto runner = make();
  ASSERT_TRUE(eventually([&] { return shared.running == 1; }));
  std::thread release([&] {
    std::this_thread::sleep_for(30ms);
    shared.hold = false;
  });
  runner.reset();
  EXPECT_EQ(shared.done, 1);
  release.join();
}

TEST_F(QueueRunnerTest, DestructionDoesNotWaitForABlockedPacket) {
  shared.blocked = 1;
  shared.submitted = 1;
  auto runner = make();
  EXPECT_TRUE(eventually([&] { return shared.waits > 0; }));
  runner.reset();
  EXPECT_EQ(shared.done, 0);
}

TEST_F(QueueRunnerTest, FinishTellsWhetherThePacketEnded) {
  shared.hold = true;
  shared.submitted = 2;
  auto runner = make();
  ASSERT_TRUE(eventually([&] { return shared.running == 1; }));
  EXPECT_FALSE(runner->finish(10ms));
  shared.hold = false;
  EXPECT_TRUE(runner->finish(60s));
  EXPECT_EQ(shared.done, 1) << "no packet is taken after finish";
}

TEST_F(QueueRunnerTest, HaltedQueueTakesNoMorePacketsAndEnds) {
  shared.halt = true;
  shared.submitted = 1; // so that it is asked for
  auto runner = make();
  ASSERT_TRUE(eventually([&] { return shared.halted.load(); }));
  shared.halt = false;
  EXPECT_TRUE(runner->finish(60s)) << "it has ended";
  runner.reset();
  EXPECT_EQ(shared.done, 0);
}

TEST_F(QueueRunnerTest, NobodyLooksForWorkWhileTheRingIsChanged) {
  auto runner = make();
  for (int i = 0; i < 5; ++i) {
    const int before = shared.looks;
    ASSERT_TRUE(eventually([&] { return shared.looks > before; })) << "the poller is awake";
    runner->pause(true);
    EXPECT_TRUE(runner->set_ring(0, 0));
    runner->resume();
  }
  EXPECT_FALSE(shared.was_seen_changing);
}

TEST_F(QueueRunnerTest, PausedQueueTakesNothing) {
  auto runner = make();
  runner->pause(true);
  shared.submitted = 2;
  Shared other; // whoever looks for its work has looked for that of the paused one, too
  QueueRunner witness(poller, std::make_unique<CountingProcessor>(other), "witness");
  for (int i = 1; i <= 3; ++i) {
    other.submitted = i;
    EXPECT_TRUE(eventually([&] { return other.done == i; }));
  }
  EXPECT_EQ(shared.done, 0);
  runner->resume();
  EXPECT_TRUE(eventually([&] { return shared.done == 2; }));
}

TEST_F(QueueRunnerTest, IdleQueuesCostLittleTime) {
  std::vector<std::unique_ptr<QueueRunner>> runners;
  for (int i = 0; i < 8; ++i) runners.push_back(make());
  std::this_thread::sleep_for(1100ms); // until polling is slow
  // A look is what it costs: one per queue in 4 ms, however fast the machine is.
  const auto began = std::chrono::steady_clock::now();
  const int before = shared.looks;
  std::this_thread::sleep_for(200ms);
  const int looks = shared.looks - before;
  const auto rounds = (std::chrono::steady_clock::now() - began) / 4ms;
  EXPECT_LE(looks, 8 * (rounds + 2));
  EXPECT_GT(looks, 0);
}

TEST_F(QueueRunnerTest, DeviceThreadsBlockTheSignalsOfTheProgram) {
  sigset_t seen;
  sigemptyset(&seen);
  shared.body = [&] { pthread_sigmask(SIG_BLOCK, nullptr, &seen); };
  shared.submitted = 1;
  auto runner = make();
  ASSERT_TRUE(eventually([&] { return shared.done == 1; }));
  for (int s : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD})
    EXPECT_TRUE(sigismember(&seen, s)) << s;
  sigset_t mine;
  pthread_sigmask(SIG_BLOCK, nullptr, &mine);
  EXPECT_FALSE(sigismember(&mine, SIGINT));
}

} // namespace
} // namespace fade::sim
