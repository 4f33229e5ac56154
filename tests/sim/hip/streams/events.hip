// Events say what is done, hold streams up for each other, and tell times that agree with the
// clocks of the host.
#include "../check.h"

#include <chrono>

__global__ void wait_for(const volatile int *flag) {
  while (*flag == 0) __builtin_amdgcn_s_sleep(8);
}
__global__ void store(int *to, int value) { *to = value; }
__global__ void busy(uint32_t *out, int loops) {
  uint32_t x = threadIdx.x + 1;
  for (int i = 0; i < loops; ++i) x = x * 1664525u + 1013904223u;
  out[threadIdx.x] = x;
}

using Clock = std::chrono::steady_clock;
static double milliseconds(Clock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

static void ready_when_the_work_is_done() {
  int *flag;
  HIP(hipHostMalloc(&flag, sizeof(int)));
  *flag = 0;
  hipStream_t stream;
  hipEvent_t before, after;
  HIP(hipStreamCreate(&stream));
  HIP(hipEventCreate(&before));
  HIP(hipEventCreate(&after));
  HIP(hipEventRecord(before, stream));
  wait_for<<<1, 1, 0, stream>>>(flag);
  HIP(hipEventRecord(after, stream));
  HIP(hipEventSynchronize(before));
  EXPECT_EQ(hipEventQuery(before), hipSuccess);
  EXPECT_EQ(hipEventQuery(after), hipErrorNotReady);
  float elapsed;
  EXPECT_EQ(hipEventElapsedTime(&elapsed, before, after), hipErrorNotReady);
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  HIP(hipEventSynchronize(after));
  EXPECT_EQ(hipEventQuery(after), hipSuccess);
  HIP(hipEventDestroy(before));
  HIP(hipEventDestroy(after));
  HIP(hipStreamDestroy(stream));
  HIP(hipHostFree(flag));
}

static void elapsed_times_are_those_of_the_host() {
  check::Device<uint32_t> out(256);
  hipStream_t stream;
  hipEvent_t event[4];
  HIP(hipStreamCreate(&stream));
  for (auto &e : event) HIP(hipEventCreate(&e));
  busy<<<1, 256, 0, stream>>>(out, 10); // the first launch loads the code
  HIP(hipStreamSynchronize(stream));

  auto began = Clock::now();
  HIP(hipEventRecord(event[0], stream));
  busy<<<1, 256, 0, stream>>>(out, 100);
  HIP(hipEventRecord(event[1], stream));
  busy<<<1, 256, 0, stream>>>(out, 100000);
  HIP(hipEventRecord(event[2], stream));
  HIP(hipStreamSynchronize(stream));
  double whole = milliseconds(Clock::now() - began);
  float brief, lengthy, total;
  HIP(hipEventElapsedTime(&brief, event[0], event[1]));
  HIP(hipEventElapsedTime(&lengthy, event[1], event[2]));
  HIP(hipEventElapsedTime(&total, event[0], event[2]));
  EXPECT(brief > 0);
  EXPECT(lengthy > brief);
  EXPECT(total <= whole + 1);
  EXPECT(lengthy >= 0.3 * whole); // it is nearly all that happened
  EXPECT(std::abs(brief + lengthy - total) < 0.01 + 0.01 * total);
  for (auto &e : event) HIP(hipEventDestroy(e));
  HIP(hipStreamDestroy(stream));
}

// A kernel that waits until the host lets it go takes as long as the host waited.
static void a_held_kernel_takes_as_long_as_it_is_held() {
  int *flag;
  HIP(hipHostMalloc(&flag, sizeof(int)));
  *flag = 0;
  hipEvent_t start, stop;
  HIP(hipEventCreate(&start));
  HIP(hipEventCreate(&stop));
  HIP(hipEventRecord(start));
  auto launched = Clock::now();
  LAUNCH(wait_for, 1, 1, flag);
  HIP(hipEventRecord(stop));
  while (milliseconds(Clock::now() - launched) < 100) {
  }
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  HIP(hipEventSynchronize(stop));
  double whole = milliseconds(Clock::now() - launched);
  float elapsed;
  HIP(hipEventElapsedTime(&elapsed, start, stop));
  EXPECT(elapsed > 50);
  EXPECT(elapsed < whole + 20);
  HIP(hipEventDestroy(start));
  HIP(hipEventDestroy(stop));
  HIP(hipHostFree(flag));
}

static void streams_wait_for_events() {
  int *flag;
  HIP(hipHostMalloc(&flag, sizeof(int)));
  hipStream_t first, second;
  hipEvent_t event;
  HIP(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  HIP(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  check::Device<int> value(1);
  for (int round = 0; round < 20; ++round) {
    *flag = 0;
    HIP(hipMemset(value, 0, sizeof(int)));
    HIP(hipStreamSynchronize(nullptr)); // HIP 6 and 7 do not wait for it, nor do these streams
    wait_for<<<1, 1, 0, first>>>(flag);
    store<<<1, 1, 0, first>>>(value, 1);
    HIP(hipEventRecord(event, first));
    HIP(hipStreamWaitEvent(second, event, 0));
    store<<<1, 1, 0, second>>>(value, 2);
    EXPECT_EQ(hipStreamQuery(second), hipErrorNotReady);
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    HIP(hipStreamSynchronize(second));
    EXPECT_EQ(value.read()[0], 2);
  }
  HIP(hipEventDestroy(event));
  HIP(hipStreamDestroy(first));
  HIP(hipStreamDestroy(second));
  HIP(hipHostFree(flag));
}

int main() {
  ready_when_the_work_is_done();
  elapsed_times_are_those_of_the_host();
  a_held_kernel_takes_as_long_as_it_is_held();
  streams_wait_for_events();
  return check::result();
}
