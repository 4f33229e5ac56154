// A kernel that never ends by itself. The argument says what the program does meanwhile: wait for
// it, return from main, call exit or _exit, or end by a signal of its own.
#include "../check.h"

#include <csignal>
#include <unistd.h>

__global__ void forever(volatile int *flag) {
  while (*flag == 0) {
  }
}
__global__ void forever_asleep(const volatile int *flag) {
  while (*flag == 0) __builtin_amdgcn_s_sleep(100);
}

int main(int argc, char **argv) {
  const std::string then = argc > 1 ? argv[1] : "wait", how = argc > 2 ? argv[2] : "busy";
  int *flag;
  HIP(hipHostMalloc(&flag, sizeof(int)));
  *flag = 0;
  if (how == "busy")
    LAUNCH(forever, 8, 256, flag);
  else
    LAUNCH(forever_asleep, 8, 256, flag);
  std::puts("running");
  std::fflush(stdout);
  usleep(100000);
  if (then == "wait") static_cast<void>(hipDeviceSynchronize());
  if (then == "exit") std::exit(7);
  if (then == "_exit") _exit(8);
  if (then == "signal") raise(SIGTERM);
  return 9;
}
