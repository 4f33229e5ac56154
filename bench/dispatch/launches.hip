// launches COUNT: launches an empty kernel, batch after batch, and prints what one launch costs, in
// nanoseconds: time on the clock, processor time of the launching thread, and of the process.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

__global__ void empty() {}

static double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

int main(int argc, char **argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 20000;
  constexpr int batch = 500;
  for (int i = 0; i < batch; ++i) empty<<<1, 64>>>();
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  const double wall = now(CLOCK_MONOTONIC), process = now(CLOCK_PROCESS_CPUTIME_ID);
  double thread = 0;
  for (int done = 0; done < count; done += batch) {
    const double start = now(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < batch; ++i) empty<<<1, 64>>>();
    thread += now(CLOCK_THREAD_CPUTIME_ID) - start;
    if (hipDeviceSynchronize() != hipSuccess) return 1;
  }
  std::printf("%.0f %.0f %.0f\n", (now(CLOCK_MONOTONIC) - wall) / count, thread / count,
              (now(CLOCK_PROCESS_CPUTIME_ID) - process) / count);
  return 0;
}
