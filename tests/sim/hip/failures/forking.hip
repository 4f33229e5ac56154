// fork and the device: a child that forks off before the device was used has its own; one that
// forks off later may still exec and exit, and the parent's device goes on.
#include "../check.h"

#include <sys/wait.h>
#include <unistd.h>

__global__ void twice(int *x) { x[threadIdx.x] *= 2; }

static bool works(int seed) {
  std::vector<int> in(64), want(64);
  for (int i = 0; i < 64; ++i) in[i] = seed + i, want[i] = 2 * in[i];
  check::Device<int> x(in);
  LAUNCH(twice, 1, 64, x.get());
  return x.read() == want;
}

static int status_of(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int main() {
  std::vector<pid_t> early;
  for (int i = 0; i < 2; ++i) {
    pid_t child = fork();
    if (child == 0) {
      bool good = works(i);
      std::fflush(nullptr);
      std::exit(good ? 0 : 1); // the ordinary way, with exit handlers
    }
    early.push_back(child);
  }
  EXPECT(works(100));
  for (pid_t child : early) EXPECT_EQ(status_of(child), 0);

  pid_t quiet = fork();
  if (quiet == 0) _exit(21);
  EXPECT_EQ(status_of(quiet), 21);
  EXPECT(works(200));

  // With a kernel on its way; the child becomes another program.
  int *flag;
  HIP(hipHostMalloc(&flag, sizeof(int)));
  check::Device<int> x(std::vector<int>(64, 5));
  LAUNCH(twice, 1, 64, x.get());
  pid_t other = fork();
  if (other == 0) {
    execl("/bin/sh", "sh", "-c", "exit 22", static_cast<char *>(nullptr));
    _exit(1);
  }
  EXPECT_EQ(status_of(other), 22);
  EXPECT_SAME(x.read(), std::vector<int>(64, 10));
  EXPECT_EQ(std::system("exit 3") >> 8, 3);
  EXPECT(works(300));
  return check::result();
}
