#include "base/detached_process.h"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ; // NOLINT(readability-redundant-declaration): not in every unistd.h

namespace fade {
namespace {

struct Spawn {
  char **arguments = nullptr, **environment = nullptr;
  int descriptor = -1, as = -1;
  int error = 0;
  pid_t pid = 0;
};

/// In a copy of this thread that shares its memory, while the thread itself waits: starts the
/// process and ends, so that the process has no parent here.
int spawnAndEnd(void *data) {
  constexpr int last = 3; // of what the process may have
  auto &spawn = *static_cast<Spawn *>(data);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  // It keeps only stderr of the application's files: who reads its output must see the end of it.
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (spawn.as != STDOUT_FILENO)
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&files, spawn.descriptor, spawn.as);
  posix_spawn_file_actions_addclosefrom_np(&files, spawn.as == last ? last + 1 : last);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  // A Ctrl-C for the application is not for this process.
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  spawn.error = posix_spawn(&spawn.pid, spawn.arguments[0], &files, &attributes, spawn.arguments,
                            spawn.environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  _exit(spawn.error); // for where memory is not shared after all
}

/// Without what would load FADE or the software GPU into the process.
std::vector<char *> environmentWithoutFade() {
  std::vector<char *> kept;
  for (char **at = environ; at && *at; ++at) {
    const std::string_view text = *at;
    if (!text.starts_with("LD_PRELOAD=") && !text.starts_with("HSA_TOOLS_LIB=") &&
        !text.starts_with("LD_AUDIT="))
      kept.push_back(*at);
  }
  kept.push_back(nullptr);
  return kept;
}

} // namespace

int startDetached(const DetachedProcess &process, pid_t &pid) {
  std::vector<char *> arguments;
  for (const std::string &word : process.words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  std::vector<char *> environment = environmentWithoutFade();
  Spawn spawn{arguments.data(), environment.data(), process.descriptor, process.as, 0, 0};
  constexpr std::size_t stack_bytes = 256 * 1024;
  void *stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return errno;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto start = [&](int flags) {
    return clone(spawnAndEnd, static_cast<char *>(stack) + stack_bytes, flags, &spawn);
  };
  // Without a signal at its end: wait() of the application does not see it. Emulators (qemu-user)
  // know no such processes, and make a copy of this one instead.
  pid_t child = start(CLONE_VM | CLONE_VFORK);
  if (child < 0 && errno == EINVAL) child = start(CLONE_VM | CLONE_VFORK | SIGCHLD);
  int error = child < 0 ? errno : 0, status = 0;
  while (child > 0 && waitpid(child, &status, __WALL) < 0)
    if (errno != EINTR) {
      status = 0;
      break;
    }
  if (child > 0) error = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
  if (error == 0) error = spawn.error;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  munmap(stack, stack_bytes);
  pid = spawn.pid;
  return error;
}

} // namespace fade
