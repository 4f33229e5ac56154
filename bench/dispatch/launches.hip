// launches [HOW] [COUNT]: launches a kernel COUNT times and prints what one launch costs, in nanoseconds: time on the
// clock, processor time of the launching thread, and processor time of FADE's own threads.
//   queued   an empty kernel, 500 at a time; the thread's time while it launches
//   waited   an empty kernel, each waited for; the thread's time with the wait
//   memory   hipMalloc and hipFree of 64 KiB, COUNT times
//   heavy    a kernel with many accesses (16 records of each of 1,024 waves), all queued before the first wait
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

__global__ void empty() {}

__global__ void touch(int *data) {
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  for (unsigned k = 0; k < 16; ++k) data[65536 * k + i] = i + k;
}

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

static bool launch(int count, int batch, bool heavy, int *data, bool timeTheWait, double &thread) {
  for (int done = 0; done < count; done += batch) {
    const double start = now(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < batch; ++i)
      if (heavy)
        touch<<<256, 256>>>(data);
      else
        empty<<<1, 64>>>();
    const double queued = now(CLOCK_THREAD_CPUTIME_ID);
    if (hipDeviceSynchronize() != hipSuccess) return false;
    thread += (timeTheWait ? now(CLOCK_THREAD_CPUTIME_ID) : queued) - start;
  }
  return true;
}

static bool allocate(int count, double &thread) {
  const double start = now(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < count; ++i) {
    void *memory = nullptr;
    if (hipMalloc(&memory, 65536) != hipSuccess || hipFree(memory) != hipSuccess) return false;
  }
  thread += now(CLOCK_THREAD_CPUTIME_ID) - start;
  return true;
}

int main(int argc, char **argv) {
  const std::string how = argc > 1 ? argv[1] : "queued";
  const bool waited = how == "waited", heavy = how == "heavy", memory = how == "memory";
  const int count = argc > 2 ? std::atoi(argv[2]) : waited ? 300 : heavy ? 172 : memory ? 2000 : 20000;
  const int batch = waited ? 1 : heavy ? count : 500;
  int *data = nullptr;
  if (hipMalloc(&data, 65536 * 16 * sizeof(int)) != hipSuccess) return 1;
  double thread = 0;
  if (!launch(heavy ? 1 : batch, heavy ? 1 : batch, heavy, data, waited, thread)) return 1;
  thread = 0;
  const double wall = now(CLOCK_MONOTONIC), fade = threadsOfFade();
  if (!(memory ? allocate(count, thread) : launch(count, batch, heavy, data, waited, thread)))
    return 1;
  std::printf("%.0f %.0f %.0f\n", (now(CLOCK_MONOTONIC) - wall) / count, thread / count,
              (threadsOfFade() - fade) / count);
  return 0;
}
