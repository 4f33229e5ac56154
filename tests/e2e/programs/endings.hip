// Launches a kernel a few times and then ends in the way that its first argument says.
#include "check.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

__global__ void touch(int *data) { data[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
__global__ void forever(volatile int *flag) {
  while (*flag == 0) {
  }
}

static void launch(int times) {
  int *data;
  CHECK(hipMalloc(&data, 1024 * sizeof(int)));
  CHECK(hipMemset(data, 0, 1024 * sizeof(int)));
  for (int i = 0; i < times; ++i) touch<<<4, 256>>>(data);
  CHECK(hipDeviceSynchronize());
  CHECK(hipFree(data));
}

static bool is_child = false;

static void say(const char *text) {
  std::puts(text);
  std::fflush(stdout);
}

static void onTerm(int) {
  const char text[] = "own handler\n";
  (void)!write(STDOUT_FILENO, text, sizeof text - 1);
  _exit(7);
}

static int waitFor(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// A child that has the GPU for itself, because nobody had it before the fork.
static int forkFirst() {
  const pid_t child = fork();
  launch(child == 0 ? 2 : 4);
  if (child == 0) std::exit(3);
  std::printf("child %d\n", waitFor(child));
  return 0;
}

// Closes stderr and all files, and has a file of its own under their numbers. The GPU stays.
static int closeAll(const char *path) {
  for (int fd = 2; fd < 1024; ++fd) {
    struct stat status {};
    if (fstat(fd, &status) == 0 && (fd == 2 || S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode)))
      close(fd);
  }
  for (int i = 0; i < 600; ++i) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (i == 300) (void)!write(fd, "mine\n", 5);
  }
  return 4;
}

// Other threads launch kernels while this one goes on.
static void startLaunches() {
  std::atomic<int> *launched = new std::atomic<int>{0};
  for (int i = 0; i < 3; ++i)
    std::thread([launched] {
      int *data;
      CHECK(hipMalloc(&data, 1024 * sizeof(int)));
      while (true) {
        touch<<<4, 256>>>(data);
        if (++*launched % 8 == 0) CHECK(hipDeviceSynchronize());
      }
    }).detach();
  while (*launched < 60) usleep(1000);
}

int main(int argc, char **argv) {
  const std::string how = argc > 1 ? argv[1] : "return";
  if (how == "no-gpu") return 11;
  if (how == "fork-first") return forkFirst();
  if (how == "own-handler") signal(SIGTERM, onTerm);
  // After the exit handlers of FADE, and before those of HIP, which cannot run in a child.
  if (how == "fork-while-reporting")
    std::atexit([] {
      if (is_child) _exit(3);
    });
  launch(3);
  say("launched");
  if (how == "return") return 5;
  if (how == "exit") std::exit(6);
  if (how == "quick_exit") std::quick_exit(8);
  if (how == "_exit") _exit(10);
  if (how == "become") {
    char name[] = "true", *arguments[] = {name, nullptr};
    execv("/bin/true", arguments);
  }
  if (how == "thread-exit") std::thread([] { std::exit(9); }).join();
  if (how == "amid") startLaunches(), std::quick_exit(12); // HIP cannot be torn down meanwhile
  if (how == "launching") startLaunches(), say("launching"), sleep(60);
  if (how == "abort") std::abort();
  if (how == "term" || how == "own-handler") raise(SIGTERM);
  if (how == "int") raise(SIGINT);
  if (how == "pipe") raise(SIGPIPE);
  if (how == "segv") *reinterpret_cast<volatile int *>(8) = 1;
  if (how == "throw") throw 1;
  if (how == "kill") raise(SIGKILL);
  if (how == "close" && argc > 3 && chdir(argv[3]) != 0) return 15;
  if (how == "close") return closeAll(argv[2]);
  if (how == "close-stderr") return close(2), open(argv[2], O_WRONLY | O_CREAT, 0644) == 2 ? 4 : 14;
  if (how == "fault") {
    touch<<<1, 64>>>(reinterpret_cast<int *>(0x7f5500001000));
    (void)hipDeviceSynchronize();
  }
  if (how == "fork") {
    const pid_t child = fork();
    if (child == 0) std::exit(3); // runs exit handlers in the child
    std::printf("child %d\n", waitFor(child));
    launch(2);
    return 0;
  }
  if (how == "fork-while-reporting") {
    std::thread([] { std::quick_exit(0); }).detach(); // the report takes a while
    sleep(1);
    const pid_t child = fork();
    if (child == 0) is_child = true, std::exit(3);
    std::printf("child %d\n", waitFor(child));
    std::fflush(stdout);
    sleep(60);
  }
  if (how == "exec") {
    const pid_t child = fork();
    if (child == 0) execl(argv[0], argv[0], "return", nullptr);
    std::printf("child %d\n", waitFor(child));
    return 0;
  }
  if (how == "sleep") sleep(60);
  if (how == "endless") {
    int *flag;
    CHECK(hipHostMalloc(&flag, sizeof(int)));
    *flag = 0;
    forever<<<1, 64>>>(flag);
    CHECK(hipStreamQuery(nullptr) == hipErrorNotReady ? hipSuccess : hipErrorUnknown);
    say("endless");
    if (argc > 2) return 13;
    (void)hipDeviceSynchronize();
  }
  return 1;
}
