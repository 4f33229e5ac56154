// The device still works in exit handlers, which run when the main thread's thread-local objects
// are gone: waits for a kernel and for copies. (HIP 5 cannot launch there: it would use its own
// thread-local objects.)
#include "../check.h"

#include <chrono>
#include <thread>

__global__ void wait_for(const volatile int *flag, int *done) {
  while (*flag == 0) __builtin_amdgcn_s_sleep(8);
  *done += 1;
}

static int *flag, *done, *device_copy;

static void start() {
  *flag = 0;
  LAUNCH(wait_for, 1, 1, flag, done);
  HIP(hipMemcpyAsync(device_copy, done, sizeof(int), hipMemcpyHostToDevice, nullptr));
}

static void finish() {
  // Late enough for the wait to have gone to sleep.
  std::thread releaser([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  });
  HIP(hipDeviceSynchronize());
  releaser.join();
  int got = 0;
  HIP(hipMemcpy(&got, device_copy, sizeof got, hipMemcpyDeviceToHost));
  EXPECT_EQ(got, *done);
}

int main() {
  HIP(hipSetDeviceFlags(hipDeviceScheduleBlockingSync));
  HIP(hipHostMalloc(&flag, sizeof(int)));
  HIP(hipHostMalloc(&done, sizeof(int)));
  HIP(hipMalloc(&device_copy, sizeof(int)));
  *done = 0;
  for (int round = 0; round < 3; ++round) {
    start();
    finish();
  }
  start();
  // Known after HIP's own handlers, so called before them.
  std::atexit([] {
    finish();
    EXPECT_EQ(*done, 4);
    std::vector<int> many(1 << 20, 7), back(many.size());
    int *memory;
    HIP(hipMalloc(&memory, many.size() * sizeof(int)));
    for (int round = 0; round < 20; ++round) {
      HIP(hipMemcpy(memory, many.data(), many.size() * sizeof(int), hipMemcpyHostToDevice));
      HIP(hipMemcpy(back.data(), memory, back.size() * sizeof(int), hipMemcpyDeviceToHost));
    }
    EXPECT_SAME(back, many);
    if (check::result() != 0) std::_Exit(1);
  });
  return check::result();
}
