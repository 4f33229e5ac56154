// No memory in the hooks, which run on the application's threads, and in captures: each allocation
// fails in turn. The application is not harmed, what it asked for is done, and nothing is left
// behind.
#include "base/quiet_thread.h"
#include "failing_allocator.h"
#include "fake_hsa.h"
#include "hsa/capture_session.h"
#include "hsa/code_hooks.h"
#include "hsa/copy_hooks.h"
#include "hsa/memory_hooks.h"
#include "hsa/queue_hooks.h"
#include "hsa/runtime.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <thread>
#include <unistd.h>

// A runtime is never destroyed; its lock-free queues hide pointers in numbers.
extern "C" const char *__lsan_default_suppressions() { return "leak:boost::lockfree"; }

namespace {
thread_local bool is_in_hook = false;
} // namespace

bool fade::testing::isAllocationOfFade() {
  return (is_in_hook || fade::isOwnThread()) && !fade::FakeHsa::isInside();
}

namespace fade {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::failAllocations;
using testing::failNoAllocations;
using testing::failures;

const std::string kSample = FADE_TEST_DATA "/triton/gfx90a/vector_add.hsaco";

/// One life of the runtime.
class Life {
public:
  explicit Life(bool captures) {
    Settings settings;
    settings.log_location = folder_ / "report";
    settings.progress = false;
    settings.patience = 0.05;
    if (captures) settings.capture = (folder_ / "captures").string();
    settings.capture_limit = 1;
    fs::create_directories(folder_);
    Runtime::start(settings);
    static auto *all = new std::vector<const Runtime *>; // LeakSanitizer finds them there
    all->push_back(Runtime::active());
    hookCode(hsa.tables());
    hookQueues(hsa.tables());
    hookMemory(hsa.tables());
    hookCopies(hsa.tables(), true);
  }
  ~Life() {
    Runtime::finishAndRelease();
    fs::remove_all(folder_);
  }
  Life(const Life &) = delete;
  Life &operator=(const Life &) = delete;

  static hsa_signal_t signalOf(int64_t value) {
    hsa_signal_t signal{};
    (void)hsaApi().core.hsa_signal_create_fn(value, 0, nullptr, &signal);
    return signal;
  }
  static int64_t valueOf(hsa_signal_t signal) {
    return hsaApi().core.hsa_signal_load_scacquire_fn(signal);
  }
  static bool comesTo(hsa_signal_t signal, int64_t value) {
    for (int i = 0; i < 20000 && valueOf(signal) != value; ++i) std::this_thread::sleep_for(1ms);
    return valueOf(signal) == value;
  }
  /// As the application calls a hook.
  template <typename F> static auto call(F f) {
    is_in_hook = true;
    struct Out {
      ~Out() { is_in_hook = false; }
    } const out;
    return f();
  }

  FakeHsa hsa;

private:
  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("fade-hsa-failure-" + std::to_string(getpid()));
};

/// Runs `once(at)` with the at-th allocation failing, from the first on, until none has failed.
template <typename F> void forEachFailure(F once) {
  constexpr long most = FADE_LONG_TESTS ? 2000 : 12;
  long tried = 0;
  for (long at = 1; at <= most; ++at) {
    SCOPED_TRACE("allocation " + std::to_string(at));
    once(at);
    failNoAllocations();
    if (failures == 0 || ::testing::Test::HasFatalFailure()) break;
    ++tried;
  }
  EXPECT_GT(tried, 0) << "nothing was tried";
}

TEST(NoMemory, CopiesThatWaitAreStartedAndSoAreThoseBehindThem) {
  forEachFailure([](long at) {
    Life life(true);
    const std::vector<char> from(64, 'x');
    std::vector<char> one(64), two(64);
    const hsa_signal_t waits_for = Life::signalOf(1), nothing = Life::signalOf(0);
    const hsa_signal_t first = Life::signalOf(1), second = Life::signalOf(1);
    failAllocations(at, at);
    EXPECT_EQ(Life::call([&] {
                return life.hsa.copyOnEngine(one.data(), from.data(), 64, waits_for, first, 0);
              }),
              HSA_STATUS_SUCCESS);
    EXPECT_EQ(Life::call([&] {
                return life.hsa.copyOnEngine(two.data(), from.data(), 64, nothing, second, 0);
              }),
              HSA_STATUS_SUCCESS);
    Life::call([&] { life.hsa.complete(waits_for); });
    failNoAllocations();
    ASSERT_TRUE(Life::comesTo(first, 0));
    ASSERT_TRUE(Life::comesTo(second, 0)) << "it waits for ever";
    EXPECT_EQ(two, from);
  });
}

TEST(NoMemory, PacketsReachTheQueueAndTheirSignalsAreToldWhetherOrNotTheyAreCaptured) {
  forEachFailure([](long at) {
    Life life(true);
    hsa_queue_t *queue = life.hsa.createQueue(64);
    const auto code = codeobj::CodeObject::open(*codeobj::Blob::mapFile(kSample));
    const auto symbol = std::string((*code)->kernelName(0).name);
    const std::size_t signals_before = life.hsa.signals();
    hsa_kernel_dispatch_packet_t packet{};
    packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE;
    packet.setup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
    packet.workgroup_size_x = packet.grid_size_x = 64;
    packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_y = packet.grid_size_z = 1;
    packet.kernel_object = life.hsa.kernelObject(life.hsa.load(kSample), symbol);
    const hsa_signal_t theirs = Life::signalOf(1);
    packet.completion_signal = theirs;
    failAllocations(at, at);
    const auto packets = Life::call([&] { return life.hsa.ring(queue, &packet, 1); });
    std::size_t dispatches = 0;
    // What a GPU does, packet by packet.
    for (const auto &next : packets) {
      const int type = next.header >> HSA_PACKET_HEADER_TYPE & 0xff;
      dispatches += type == HSA_PACKET_TYPE_KERNEL_DISPATCH ? 1 : 0;
      if (type == HSA_PACKET_TYPE_BARRIER_AND) {
        hsa_barrier_and_packet_t barrier;
        std::memcpy(&barrier, &next, sizeof barrier);
        for (const hsa_signal_t signal : barrier.dep_signal)
          if (signal.handle != 0) {
            ASSERT_TRUE(Life::comesTo(signal, 0)) << "a gate does not open";
          }
      }
      if (next.completion_signal.handle != 0) life.hsa.complete(next.completion_signal);
    }
    EXPECT_EQ(dispatches, 1u);
    ASSERT_TRUE(Life::comesTo(theirs, 0));
    failNoAllocations();
    Runtime::finishAndRelease();
    EXPECT_EQ(life.hsa.signals(), signals_before + 1) << "all but the application's are given back";
  });
}

TEST(NoMemory, CodeIsLoadedAndUnloaded) {
  forEachFailure([](long at) {
    Life life(true);
    failAllocations(at, at);
    hsa_executable_t executable{};
    Life::call([&] { executable = life.hsa.load(kSample); });
    EXPECT_NE(executable.handle, 0u);
    EXPECT_EQ(Life::call([&] { return life.hsa.core().hsa_executable_destroy_fn(executable); }),
              HSA_STATUS_SUCCESS);
  });
}

} // namespace
} // namespace fade
