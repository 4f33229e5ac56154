// Waiting for the device works in the way asked for on the command line: spin, yield or block.
#include "../check.h"

#include <ctime>

__global__ void wait_for(const volatile int *flag, int *done) {
  while (*flag == 0) __builtin_amdgcn_s_sleep(8);
  *done = 1;
}

static unsigned schedule(const std::string &word) {
  if (word == "spin") return hipDeviceScheduleSpin;
  if (word == "yield") return hipDeviceScheduleYield;
  if (word == "block") return hipDeviceScheduleBlockingSync;
  return hipDeviceScheduleAuto;
}

static double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(int argc, char **argv) {
  const std::string word = argc > 1 ? argv[1] : "auto";
  HIP(hipSetDeviceFlags(schedule(word)));
  int *flag, *done;
  HIP(hipHostMalloc(&flag, sizeof(int)));
  HIP(hipHostMalloc(&done, sizeof(int)));
  for (int round = 0; round < 50; ++round) {
    *flag = 1;
    *done = 0;
    LAUNCH(wait_for, 1, 1, flag, done);
    HIP(hipDeviceSynchronize());
    EXPECT_EQ(*done, 1);
  }

  // A long wait, ended by a stream of its own.
  *flag = *done = 0;
  hipStream_t stream;
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  LAUNCH(wait_for, 1, 1, flag, done);
  HIP(hipStreamAddCallback(
      stream,
      [](hipStream_t, hipError_t, void *data) {
        timespec t{0, 300'000'000};
        nanosleep(&t, nullptr);
        __atomic_store_n(static_cast<int *>(data), 1, __ATOMIC_RELEASE);
      },
      flag, 0));
  double before = thread_seconds();
  HIP(hipDeviceSynchronize());
  double used = thread_seconds() - before;
  EXPECT_EQ(*done, 1);
  if (word == "block") EXPECT(used < 0.1);
  HIP(hipStreamDestroy(stream));
  return check::result();
}
