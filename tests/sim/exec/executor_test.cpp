// The device core: several queues on several workers, kernels that wait for each other, ends of all
// kinds, counts, and listeners.
#include "../support/test_device.h"
#include "extent.h"

#include "wave/quad.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace fade::sim {
namespace {

using Status = DispatchResult::Status;
using namespace std::chrono_literals;

// Allocation is the tests' own and not for several threads, so everything is made before they run.
struct Prepared {
  Dispatch dispatch;
};

class ExecutorTest : public testing::TestWithParam<const char *> {
protected:
  Prepared prepare(const std::string &kernel, uint32_t items, const Arguments &arguments,
                   uint64_t queue = 0) {
    std::vector<uint8_t> bytes = arguments.bytes();
    bytes.resize(bytes.size() + 512);
    Prepared p;
    p.dispatch.grid = {items, 1, 1};
    p.dispatch.workgroup = {64, 1, 1};
    p.dispatch.group_segment_size = 256;
    p.dispatch.kernel_object = object.symbol(kernel + ".kd");
    p.dispatch.kernarg_address = device.upload(bytes).va;
    auto packet = device.allocate<uint32_t>(16);
    reinterpret_cast<uint16_t *>(packet.data)[2] = 64;
    packet[3] = items;
    p.dispatch.packet_address = packet.va;
    p.dispatch.queue_address = queue;
    return p;
  }
  DispatchResult run(const Prepared &p) { return device.executor().run(p.dispatch); }

  TestDevice device{GetParam(), 4};
  CodeObject &object =
      device.load(read_file(std::string(FADE_KERNELS "/exec-kernels-") + GetParam() + ".hsaco"));
};

TEST_P(ExecutorTest, SeveralQueuesShareTheWorkersAndLoseNothing) {
  constexpr uint32_t queues = 4, rounds = 15, items = 64 * 5;
  auto shared = device.allocate<uint32_t>(1);
  std::vector<TestDevice::Buffer<uint32_t>> own;
  std::vector<Prepared> prepared;
  for (uint32_t q = 0; q < queues; q++) {
    own.push_back(device.allocate<uint32_t>(items));
    prepared.push_back(
        prepare("count", items, Arguments().add(shared.va).add(own[q].va).add(q + 1)));
  }
  std::vector<std::thread> hosts;
  std::atomic<int> failed{0};
  for (uint32_t q = 0; q < queues; q++)
    hosts.emplace_back([&, q] {
      for (uint32_t i = 0; i < rounds; i++) failed += run(prepared[q]).status != Status::ok;
    });
  for (auto &h : hosts) h.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(shared[0], rounds * items * (1 + 2 + 3 + 4));
  for (uint32_t q = 0; q < queues; q++)
    for (uint32_t i = 0; i < items; i++) ASSERT_EQ(own[q][i], rounds * (q + 1));
}

TEST_P(ExecutorTest, KernelsOfTwoQueuesMayWaitForEachOther) {
  auto flags = device.allocate<uint32_t>(2);
  auto a = prepare("ping", 64, Arguments().add(flags.va).add(flags.va + 4).add(40u));
  auto b = prepare("ping", 64, Arguments().add(flags.va + 4).add(flags.va).add(40u));
  DispatchResult of_b;
  std::thread other([&] { of_b = run(b); });
  EXPECT_EQ(run(a).status, Status::ok);
  other.join();
  EXPECT_EQ(of_b.status, Status::ok);
  EXPECT_EQ(flags[0], 40u);
}

TEST_P(ExecutorTest, AKernelMayWaitForTheHost) {
  auto flags = device.allocate<uint32_t>(2);
  auto p = prepare("ping", 64, Arguments().add(flags.va).add(flags.va + 4).add(25u));
  std::thread host([&] {
    for (uint32_t i = 1; i <= 25; i++) {
      while (__atomic_load_n(&flags[0], __ATOMIC_ACQUIRE) < i) std::this_thread::yield();
      __atomic_store_n(&flags[1], i, __ATOMIC_RELEASE);
    }
  });
  EXPECT_EQ(run(p).status, Status::ok);
  host.join();
}

// A program's 64-bit atomic loads and stores are plain instructions.
TEST_P(ExecutorTest, AlignedPairsOfDwordsAreNeverTorn) {
  auto words = device.allocate<uint64_t>(64);
  auto torn = device.allocate<uint32_t>(1);
  auto reader = prepare("read_pairs", 64, Arguments().add(words.va).add(torn.va).add(20000u));
  for (const char *kernel : {"write_pairs", "write_one_pair"}) {
    auto writer = prepare(kernel, 64, Arguments().add(words.va).add(20000u));
    std::thread other([&] { EXPECT_EQ(run(writer).status, Status::ok); });
    EXPECT_EQ(run(reader).status, Status::ok);
    other.join();
    EXPECT_EQ(torn[0], 0u) << kernel;
  }
}

// Libraries take 16 bytes for atomic too. Side by side, scattered, and one lane alone are different
// ways through the simulator; "locked" is that of processors which cannot do it by themselves.
TEST_P(ExecutorTest, AlignedFoursOfDwordsAreNeverTorn) {
  auto words = device.allocate<std::array<uint32_t, 4>>(65);
  const uint64_t va = (words.va + 15) & ~15ull;
  ASSERT_EQ(reinterpret_cast<uintptr_t>(device.memory().at<uint32_t>(va)) % 16, 0u);
  auto torn = device.allocate<uint32_t>(1);
  const bool host = host_moves_quads;
  const uint32_t times = extent::steps(20000u, 1500u);
  for (bool locked : {false, true}) {
    host_moves_quads = host && !locked;
    for (uint32_t order : {0u, 63u}) // lane i uses place i, or 63 - i
      for (const char *kernel : {"write_quads", "write_flat_quads", "write_one_quad"}) {
        auto reader =
            prepare("read_quads", 64, Arguments().add(va).add(torn.va).add(times).add(order));
        auto writer = prepare(kernel, 64, Arguments().add(va).add(times).add(order));
        std::thread other([&] { EXPECT_EQ(run(writer).status, Status::ok); });
        EXPECT_EQ(run(reader).status, Status::ok);
        other.join();
        EXPECT_EQ(torn[0], 0u) << kernel << ", order " << order << ", locked " << locked;
        torn[0] = 0;
      }
  }
  host_moves_quads = host;
}

TEST_P(ExecutorTest, MoreWorkgroupsThanWorkersMeetAtABarrierOfTheGrid) {
  constexpr uint32_t groups = 50;
  auto arrived = device.allocate<uint32_t>(1);
  auto values = device.allocate<uint32_t>(groups), out = device.allocate<uint32_t>(groups);
  ASSERT_EQ(run(prepare("meet", groups * 64,
                        Arguments().add(arrived.va).add(values.va).add(out.va).add(groups)))
                .status,
            Status::ok);
  for (uint32_t g = 0; g < groups; g++) EXPECT_EQ(out[g], 3 * ((g + 1) % groups) + 1);
}

TEST_P(ExecutorTest, WorkgroupsThatWereTakenTogetherMayWaitForEachOther) {
  constexpr uint32_t groups = 4100, first = 4000; // by then workers take many at once
  auto done = device.allocate<uint32_t>(groups);
  ASSERT_EQ(
      run(prepare("wait_for_the_next", groups * 64, Arguments().add(done.va).add(first))).status,
      Status::ok);
  for (uint32_t g = 0; g < groups; g++) ASSERT_EQ(done[g], 1u) << g;
}

TEST_P(ExecutorTest, OneQueueIsStoppedWhileAnotherGoesOn) {
  auto started = device.allocate<uint32_t>(1), shared = device.allocate<uint32_t>(1),
       own = device.allocate<uint32_t>(64);
  auto forever = prepare("endless", 64, Arguments().add(started.va), 0x1000);
  auto brief = prepare("count", 64, Arguments().add(shared.va).add(own.va).add(1u), 0x2000);
  DispatchResult of_forever;
  std::thread other([&] { of_forever = run(forever); });
  while (!__atomic_load_n(&started[0], __ATOMIC_ACQUIRE)) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(run(brief).status, Status::ok);
  device.executor().stop(0x1000);
  other.join();
  EXPECT_EQ(of_forever.status, Status::stopped);
  EXPECT_EQ(run(brief).status, Status::ok);
  EXPECT_EQ(shared[0], 128u);
}

TEST_P(ExecutorTest, AFaultEndsItsOwnDispatchOnly) {
  auto shared = device.allocate<uint32_t>(1), own = device.allocate<uint32_t>(64 * 20);
  auto bad = prepare("store_at", 64 * 20, Arguments().add(uint64_t{0xdead000}));
  auto good = prepare("count", 64 * 20, Arguments().add(shared.va).add(own.va).add(1u));
  for (int i = 0; i < 5; i++) {
    DispatchResult of_bad;
    std::thread other([&] { of_bad = run(bad); });
    EXPECT_EQ(run(good).status, Status::ok);
    other.join();
    EXPECT_EQ(of_bad.status, Status::memory_fault);
    EXPECT_EQ(of_bad.fault_address, 0xdead000u);
    EXPECT_TRUE(of_bad.fault_write);
  }
  EXPECT_EQ(shared[0], 5u * 64 * 20);
}

TEST_P(ExecutorTest, AJumpOutOfMemoryIsAMemoryFaultThere) {
  auto result = run(prepare("jump_to", 64, Arguments().add(uint64_t{0xdead000})));
  EXPECT_EQ(result.status, Status::memory_fault);
  EXPECT_EQ(result.fault_address, 0xdead000u);
  EXPECT_FALSE(result.fault_write);
  EXPECT_NE(result.message.find("pc 0xdead000: no code there"), std::string::npos)
      << result.message;
}

TEST_P(ExecutorTest, MorePrivateMemoryThanAWaveCanHaveIsABadDispatch) {
  auto own = device.allocate<uint32_t>(64), shared = device.allocate<uint32_t>(1);
  auto p = prepare("count", 64, Arguments().add(shared.va).add(own.va).add(1u));
  const uint32_t lanes = std::string(GetParam()) == "gfx1030" ? 32 : 64;
  const uint32_t most = 8191 * 1024 / lanes;
  p.dispatch.private_segment_size = most;
  EXPECT_EQ(run(p).status, Status::ok);
  for (uint32_t size : {most + 1, 0xfffffffcu, 0xfffffffdu, 0xffffffffu}) {
    p.dispatch.private_segment_size = size;
    auto result = run(p);
    EXPECT_EQ(result.status, Status::bad_dispatch) << size;
    EXPECT_NE(result.message.find(std::to_string(size) + " bytes of private memory"),
              std::string::npos)
        << result.message;
  }
  EXPECT_EQ(shared[0], 64u);
}

TEST_P(ExecutorTest, AMisalignedAtomicIsAMemoryViolation) {
  auto counter = device.allocate<uint32_t>(2);
  EXPECT_EQ(run(prepare("add_at", 64, Arguments().add(counter.va))).status, Status::ok);
  auto result = run(prepare("add_at", 64, Arguments().add(counter.va + 2)));
  EXPECT_EQ(result.status, Status::memory_violation);
  EXPECT_NE(result.message.find("is not aligned (global_atomic_add"), std::string::npos)
      << result.message;
  EXPECT_EQ(counter[0], 64u);
  EXPECT_EQ(counter[1], 0u);
}

// Programs that are loaded one after the other to the same place: what a worker remembers of one is
// never taken for another, whether or not it took part in the dispatch between.
TEST_P(ExecutorTest, CodeLoadedInPlaceOfOtherCodeRunsOnAllWorkers) {
  constexpr uint32_t items = 64 * 100;
  auto out = device.allocate<uint32_t>(items);
  auto all = prepare("write_number", items, Arguments().add(out.va));
  auto one = prepare("write_number", 64, Arguments().add(out.va));
  auto *literal = device.memory().at<uint32_t>(object.symbol("write_number"));
  while (*literal != 0x5eed0000) ++literal;
  uint32_t number = 0;
  for (int round = 0; round < extent::steps(300, 60); round++)
    for (const Prepared *p : {&all, &one}) {
      *literal = ++number;
      ASSERT_EQ(run(*p).status, Status::ok);
      for (uint32_t i = 0; i < p->dispatch.grid[0]; i++)
        ASSERT_EQ(out[i], number) << "item " << i << ", round " << round;
    }
}

// Memory comes and goes while a kernel of another queue runs.
TEST_P(ExecutorTest, MappingChangesWhileKernelsRun) {
  auto shared = device.allocate<uint32_t>(1), own = device.allocate<uint32_t>(64 * 30);
  auto p = prepare("count", 64 * 30, Arguments().add(shared.va).add(own.va).add(1u));
  std::atomic<bool> end{false};
  std::thread driver([&] {
    static uint32_t page[1024];
    while (!end) {
      device.memory().map(0x7f0000000000, sizeof page, page);
      device.memory().unmap(0x7f0000000000, sizeof page);
    }
  });
  for (int i = 0; i < 20; i++) EXPECT_EQ(run(p).status, Status::ok);
  end = true;
  driver.join();
  EXPECT_EQ(shared[0], 20u * 64 * 30);
}

TEST_P(ExecutorTest, CountsDoNotDependOnTheNumberOfWorkers) {
  auto count_with = [](unsigned workers) {
    TestDevice d(GetParam(), workers);
    CodeObject &o =
        d.load(read_file(std::string(FADE_KERNELS "/exec-kernels-") + GetParam() + ".hsaco"));
    std::vector<uint32_t> words(64 * 40);
    for (size_t i = 0; i < words.size(); i++)
      words[i] = static_cast<uint32_t>(i * 2654435761u >> 7);
    auto in = d.upload(words), out = d.allocate<uint32_t>(words.size());
    return d.run(o, "reverse", {64 * 40, 1, 1}, {64, 1, 1}, Arguments().add(in.va).add(out.va), 256)
        .stats;
  };
  const DispatchStats one = count_with(1), four = count_with(4);
  EXPECT_EQ(one.total().waves, four.total().waves);
  EXPECT_EQ(one.total().lanes, four.total().lanes);
  EXPECT_EQ(one.global_bytes_written, four.global_bytes_written);
  EXPECT_EQ(one.lds_bytes_read, four.lds_bytes_read);
  EXPECT_EQ(one.barriers, four.barriers);
  EXPECT_EQ(one.global_bytes_read, four.global_bytes_read);
  EXPECT_GT(one.barriers, 0u);
}

// How many of 256 work-items say that all was right.
uint32_t right_in_step(const char *arch, const char *kernel, const char *turn, uint32_t rounds) {
  if (turn)
    setenv("FADE_GPU_TURN", turn, 1);
  else
    unsetenv("FADE_GPU_TURN");
  TestDevice d(arch, 2);
  unsetenv("FADE_GPU_TURN");
  CodeObject &o = d.load(read_file(std::string(FADE_KERNELS "/exec-kernels-") + arch + ".hsaco"));
  auto right = d.allocate<uint32_t>(1);
  auto result =
      d.run(o, kernel, {256, 1, 1}, {256, 1, 1}, Arguments().add(right.va).add(rounds), 1024);
  EXPECT_EQ(result.status, Status::ok) << result.message;
  return right[0];
}

TEST_P(ExecutorTest, WavesOfAWorkgroupStayInStepWhereTheyShareLds) {
  for (const char *kernel : {"overwrite_early", "overwrite_behind", "read_at_once"}) {
    EXPECT_EQ(right_in_step(GetParam(), kernel, nullptr, 20), 256u) << kernel;
    EXPECT_EQ(right_in_step(GetParam(), kernel, "1", 20), 256u) << kernel;
    // The longest turns are without regard for siblings.
    EXPECT_LT(right_in_step(GetParam(), kernel, "10000", 20), 256u) << kernel;
  }
}

TEST_P(ExecutorTest, WavesOfAWorkgroupMayWaitForEachOther) {
  for (const char *turn : {"1", "64", "10000"})
    EXPECT_EQ(right_in_step(GetParam(), "pass_on", turn, 5), 256u) << turn;
}

INSTANTIATE_TEST_SUITE_P(, ExecutorTest, testing::Values("gfx90a", "gfx1030"),
                         [](const auto &p) { return std::string(p.param); });

} // namespace
} // namespace fade::sim
