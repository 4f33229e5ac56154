// launches COUNT: launches an empty kernel, batch after batch, and prints what one launch costs, in
// nanoseconds: time on the clock, processor time of the thread while it launches, and processor
// time of FADE's own threads.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

__global__ void empty() {}

static double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

static double threadsOfFade() {
  double sum = 0;
  for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    double nanoseconds = 0;
    std::ifstream(task.path() / "schedstat") >> nanoseconds;
    if (name.rfind("fade-", 0) == 0) sum += nanoseconds;
  }
  return sum;
}

int main(int argc, char **argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 20000;
  constexpr int batch = 500;
  for (int i = 0; i < batch; ++i) empty<<<1, 64>>>();
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  const double wall = now(CLOCK_MONOTONIC), fade = threadsOfFade();
  double thread = 0;
  for (int done = 0; done < count; done += batch) {
    const double start = now(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < batch; ++i) empty<<<1, 64>>>();
    thread += now(CLOCK_THREAD_CPUTIME_ID) - start;
    if (hipDeviceSynchronize() != hipSuccess) return 1;
  }
  std::printf("%.0f %.0f %.0f\n", (now(CLOCK_MONOTONIC) - wall) / count, thread / count,
              (threadsOfFade() - fade) / count);
  return 0;
}
