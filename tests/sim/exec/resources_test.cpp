// A host that runs out of memory or threads: the dispatch fails, the process and the device go on.
#include "../support/test_device.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <new>
#include <sys/resource.h>
#include <system_error>

namespace {

// Allocations that still succeed; negative: all do. Of all threads, so that workers are hit too.
std::atomic<long> allocations_left{-1};
std::atomic<bool> only_one_fails{false};

bool allocation_fails() {
  if (allocations_left.load(std::memory_order_relaxed) < 0) return false;
  const long left = allocations_left.fetch_sub(1);
  if (left > 0) return false;
  if (!only_one_fails) allocations_left = 0; // and all that follow
  return left == 0;
}

} // namespace

void *operator new(size_t size) {
  if (!allocation_fails())
    if (void *p = std::malloc(size ? size : 1)) return p;
  throw std::bad_alloc();
}
void *operator new(size_t size, std::align_val_t alignment) {
  const auto a = static_cast<size_t>(alignment);
  if (!allocation_fails())
    if (void *p = std::aligned_alloc(a, (size + a - 1) / a * a)) return p;
  throw std::bad_alloc();
}
void operator delete(void *p) noexcept { std::free(p); }
void operator delete(void *p, size_t) noexcept { std::free(p); }
void operator delete(void *p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void *p, size_t, std::align_val_t) noexcept { std::free(p); }

namespace fade::sim {
namespace {

using Status = DispatchResult::Status;

class ResourcesTest : public testing::Test {
protected:
  ~ResourcesTest() override { allocations_left = -1; }

  static Dispatch prepare(TestDevice &device, const std::string &kernel, uint32_t items,
                          const Arguments &arguments) {
    CodeObject &object = device.load(read_file(FADE_KERNELS "/exec-kernels-gfx90a.hsaco"));
    std::vector<uint8_t> bytes = arguments.bytes();
    bytes.resize(bytes.size() + 512);
    Dispatch d;
    d.grid = {items, 1, 1};
    d.workgroup = {256, 1, 1};
    d.group_segment_size = 1024;
    d.kernel_object = object.symbol(kernel + ".kd");
    d.kernarg_address = device.upload(bytes).va;
    auto packet = device.allocate<uint32_t>(16);
    reinterpret_cast<uint16_t *>(packet.data)[2] = 256;
    packet[3] = items;
    d.packet_address = packet.va;
    return d;
  }
};

// Fails the first allocation of a dispatch, then the second, and so on until none is left to fail.
TEST_F(ResourcesTest, ADispatchWithoutMemoryFailsAndTheNextOneRuns) {
  for (bool one : {false, true}) {
    only_one_fails = one;
    int failed = 0, ran = 0;
    for (long n = 0; ran == 0 && n < 100000; n++) {
      TestDevice device("gfx90a", 2);
      auto shared = device.allocate<uint32_t>(1), own = device.allocate<uint32_t>(1024);
      const Dispatch d =
          prepare(device, "count", 1024, Arguments().add(shared.va).add(own.va).add(1u));
      const uint64_t code = d.kernel_object;
      ASSERT_NE(code, 0u);
      allocations_left = n;
      DispatchResult result = device.executor().run(d);
      const bool all_succeeded = allocations_left > 0;
      allocations_left = -1;
      if (all_succeeded) {
        EXPECT_EQ(result.status, Status::ok) << result.message;
        ran++;
      } else if (result.status != Status::ok) {
        EXPECT_EQ(result.status, Status::out_of_resources) << n << ": " << result.message;
        EXPECT_NE(result.message, "") << n;
        failed++;
      }
      shared[0] = 0;
      result = device.executor().run(d);
      EXPECT_EQ(result.status, Status::ok) << n << ": " << result.message;
      EXPECT_EQ(shared[0], 1024u) << n;
      if (HasFailure()) return;
    }
    EXPECT_EQ(ran, 1);
    EXPECT_GT(failed, 10);
  }
}

// `ulimit -v`: registers, LDS and private memory come from mmap.
TEST_F(ResourcesTest, WithoutAddressSpaceForPrivateMemoryADispatchFails) {
  TestDevice device("gfx90a", 2);
  auto shared = device.allocate<uint32_t>(1), own = device.allocate<uint32_t>(1024);
  Dispatch d = prepare(device, "count", 1024, Arguments().add(shared.va).add(own.va).add(1u));
  ASSERT_EQ(device.executor().run(d).status, Status::ok);
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  rlimit tight = before;
  tight.rlim_cur = pages * 4096 + (4 << 20);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  d.private_segment_size = 131008; // 8 MiB per wave
  const DispatchResult result = device.executor().run(d);
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(result.status, Status::out_of_resources) << result.message;
  EXPECT_NE(result.message.find("out of memory"), std::string::npos) << result.message;
  EXPECT_EQ(device.executor().run(d).status, Status::ok);
}

// A device whose system gives `threads` threads.
struct FewThreads {
  explicit FewThreads(int n) : left(n) {
    Executor::Hooks hooks;
    hooks.start_thread = [this](std::function<void()> body) {
      if (left-- <= 0) throw std::system_error(EAGAIN, std::generic_category());
      return std::thread(std::move(body));
    };
    executor = std::make_unique<Executor>(device.arch(), device.memory(), hooks, 4);
  }
  int left;
  TestDevice device{"gfx90a"};
  std::unique_ptr<Executor> executor;
};

TEST_F(ResourcesTest, WithFewerThreadsThanAskedForTheWorkIsDone) {
  FewThreads few(1);
  auto shared = few.device.allocate<uint32_t>(1), own = few.device.allocate<uint32_t>(4096);
  const Dispatch d =
      prepare(few.device, "count", 4096, Arguments().add(shared.va).add(own.va).add(1u));
  testing::internal::CaptureStderr();
  const DispatchResult result = few.executor->run(d);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "fadegpu: gfx90a: the system gives only 1 of 4 worker threads\n");
  EXPECT_EQ(result.status, Status::ok) << result.message;
  EXPECT_EQ(result.stats.workers, 1u);
  EXPECT_EQ(shared[0], 4096u);
}

TEST_F(ResourcesTest, WithoutAnyThreadADispatchFailsAndTheNextOneTriesAgain) {
  FewThreads few(0);
  auto shared = few.device.allocate<uint32_t>(1), own = few.device.allocate<uint32_t>(4096);
  const Dispatch d =
      prepare(few.device, "count", 4096, Arguments().add(shared.va).add(own.va).add(1u));
  const DispatchResult result = few.executor->run(d);
  EXPECT_EQ(result.status, Status::out_of_resources);
  EXPECT_NE(result.message.find("no thread"), std::string::npos) << result.message;
  few.left = 4;
  EXPECT_EQ(few.executor->run(d).status, Status::ok);
  EXPECT_EQ(shared[0], 4096u);
}

} // namespace
} // namespace fade::sim
