// What the software GPU costs through the real HIP and ROCr: dispatches, and a program from start
// to end.
//     LD_PRELOAD=build/lib/libfadegpu.so build/bench/sim/programs/bench_hip
#include <hip/hip_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

__global__ void nothing() {}
__global__ void answer(int *x) { *x = 42; }

void check(hipError_t error) {
  if (error == hipSuccess) return;
  std::fprintf(stderr, "%s\n", hipGetErrorString(error));
  std::exit(1);
}

template <class F> double seconds(F &&work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

int tiny_program() {
  int *x, value = 0;
  check(hipMalloc(&x, sizeof *x));
  answer<<<1, 1>>>(x);
  check(hipMemcpy(&value, x, sizeof value, hipMemcpyDeviceToHost));
  return value == 42 ? 0 : 1;
}

void start_to_end() {
  constexpr int runs = 10;
  char self[] = "/proc/self/exe", word[] = "tiny", *arguments[] = {self, word, nullptr};
  const double all = seconds([&] {
    for (int i = 0; i < runs; ++i) {
      pid_t child;
      int status = 1;
      if (posix_spawn(&child, self, nullptr, nullptr, arguments, environ) != 0 ||
          waitpid(child, &status, 0) != child || status != 0) {
        std::fprintf(stderr, "the tiny program failed\n");
        std::exit(1);
      }
    }
  });
  std::printf("program with one tiny kernel, start to end: %8.3f s\n", all / runs);
}

void dispatches() {
  constexpr int n = 10000;
  nothing<<<1, 64>>>();
  check(hipDeviceSynchronize());
  const double in_a_row = seconds([] {
    for (int i = 0; i < n; ++i) nothing<<<1, 64>>>();
    check(hipDeviceSynchronize());
  });
  std::printf("%d empty dispatches, one wait at the end: %8.3f s, %6.1f us each\n", n, in_a_row,
              in_a_row / n * 1e6);
  const double waiting = seconds([] {
    for (int i = 0; i < n; ++i) {
      nothing<<<1, 64>>>();
      check(hipDeviceSynchronize());
    }
  });
  std::printf("%d empty dispatches, each waited for:    %8.3f s, %6.1f us each\n", n, waiting,
              waiting / n * 1e6);
}

} // namespace

int main(int argc, char **argv) {
  if (argc > 1 && !std::strcmp(argv[1], "tiny")) return tiny_program();
  start_to_end();
  dispatches();
}
