// Launches a kernel a few times and then ends in the way that its first argument says.
#include "check.h"

#include <csignal>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

__global__ void touch(int *data) { data[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

static void launch(int times) {
  int *data;
  CHECK(hipMalloc(&data, 1024 * sizeof(int)));
  CHECK(hipMemset(data, 0, 1024 * sizeof(int)));
  for (int i = 0; i < times; ++i) touch<<<4, 256>>>(data);
  CHECK(hipDeviceSynchronize());
}

static void onTerm(int) {
  const char text[] = "own handler\n";
  (void)!write(STDOUT_FILENO, text, sizeof text - 1);
  _exit(7);
}

int main(int argc, char **argv) {
  const std::string how = argc > 1 ? argv[1] : "return";
  if (how == "own-handler") signal(SIGTERM, onTerm);
  launch(3);
  std::printf("launched\n");
  std::fflush(stdout);
  if (how == "return") return 5;
  if (how == "exit") std::exit(6);
  if (how == "quick_exit") std::quick_exit(8);
  if (how == "thread-exit") std::thread([] { std::exit(9); }).join();
  if (how == "abort") std::abort();
  if (how == "term" || how == "own-handler") raise(SIGTERM);
  if (how == "int") raise(SIGINT);
  if (how == "segv") *reinterpret_cast<volatile int *>(8) = 1;
  if (how == "throw") throw 1;
  if (how == "fork") {
    const pid_t child = fork();
    if (child == 0) std::exit(3); // runs exit handlers in the child
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child %d\n", WEXITSTATUS(status));
    launch(2);
    return 0;
  }
  if (how == "sleep") sleep(60);
  return 1;
}
