#include "hip/writer_process.h"

#include "fade/host_events.h"
#include "hip/recorder.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ; // NOLINT(readability-redundant-declaration): not in every unistd.h

namespace fade::hip {
namespace {

constexpr int kSocketsFrom = 200; // applications expect small numbers for files of their own
constexpr int kWritersEnd = 3;

/// Our end of a pair of sockets. The writer sees when the last copy of it is closed, however that
/// happens.
std::atomic<int> own_end{-1};
ino_t own_inode = 0;

/// The application may have closed our descriptor, and may have a file of its own by that number.
bool isStillOurs(int fd) noexcept {
  struct stat status {};
  return fd >= 0 && fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) &&
         status.st_ino == own_inode;
}

events::FlushCounts *counts() noexcept {
  char *header = fileHeader();
  return header ? reinterpret_cast<events::FlushCounts *>(header + events::kFlushCountsAt)
                : nullptr;
}

struct Spawn {
  const char *program = nullptr;
  std::array<char *, 6> arguments{};
  char **environment = nullptr;
  int socket = -1;
  int error = 0;
};

/// In a copy of this thread that shares its memory, while the thread itself waits: starts the
/// writer and ends, so that the writer has no parent here.
int spawnAndEnd(void *data) {
  auto &spawn = *static_cast<Spawn *>(data);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  // It keeps only stderr of the application's files: who reads its output must see the end of it.
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&files, spawn.socket, kWritersEnd);
  posix_spawn_file_actions_addclosefrom_np(&files, kWritersEnd + 1);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  // A Ctrl-C for the application is not for the writer.
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  pid_t pid = 0;
  spawn.error = posix_spawn(&pid, spawn.program, &files, &attributes, spawn.arguments.data(),
                            spawn.environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  _exit(spawn.error); // for where memory is not shared after all
}

/// 0 or an errno.
int startSpawn(Spawn &spawn) {
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
  pid_t pid = start(CLONE_VM | CLONE_VFORK);
  if (pid < 0 && errno == EINVAL) pid = start(CLONE_VM | CLONE_VFORK | SIGCHLD);
  int error = pid < 0 ? errno : 0, status = 0;
  while (pid > 0 && waitpid(pid, &status, __WALL) < 0)
    if (errno != EINTR) {
      status = 0;
      break;
    }
  if (pid > 0) error = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
  if (error == 0) error = spawn.error;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  munmap(stack, stack_bytes);
  return error;
}

/// Whether the writer is there; it looks at the counts then.
bool wake() noexcept {
  const int fd = own_end.load();
  if (!isStillOurs(fd)) return true; // nobody knows; it looks from time to time
  return send(fd, "f", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 || errno == EAGAIN;
}

/// Without what would load FADE or the software GPU into the writer.
std::vector<char *> writersEnvironment() {
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

int futex(uint32_t *word, int operation, uint32_t value, const timespec *timeout) noexcept {
  return static_cast<int>(syscall(SYS_futex, word, operation, value, timeout, nullptr, 0));
}

} // namespace

bool hasWriter() noexcept { return own_end.load() >= 0; }

void leaveWriter() noexcept {
  const int fd = own_end.exchange(-1);
  if (isStillOurs(fd)) ::close(fd);
}

Status startWriter(const WriterChoice &choice) {
  const std::string &program = choice.program;
  if (access(program.c_str(), X_OK) != 0) return Error{program, "", 0, std::strerror(errno)};
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Error::of(std::string("no pair of sockets: ") + std::strerror(errno));
  for (int &end : ends)
    if (const int moved = fcntl(end, F_DUPFD_CLOEXEC, kSocketsFrom); moved >= 0) {
      ::close(end);
      end = moved;
    }
  std::string seconds = std::to_string(choice.flush_seconds);
  auto text = [](const std::string &value) { return const_cast<char *>(value.c_str()); };
  std::vector<char *> environment = writersEnvironment();
  Spawn spawn;
  spawn.program = program.c_str();
  spawn.arguments = {text(program),       text(choice.events), text(choice.output),
                     text(choice.format), text(seconds),       nullptr};
  spawn.environment = environment.data();
  spawn.socket = ends[0];
  const int error = startSpawn(spawn);
  ::close(ends[0]);
  struct stat status {};
  if (error != 0 || fstat(ends[1], &status) != 0) {
    ::close(ends[1]);
    return Error{program, "", 0, std::strerror(error != 0 ? error : errno)};
  }
  own_inode = status.st_ino;
  own_end.store(ends[1]);
  return Done{};
}

void wakeWriter() noexcept {
  const int saved = errno;
  if (events::FlushCounts *words = counts(); words && hasWriter()) {
    std::atomic_ref(words->wanted).fetch_add(1);
    (void)wake();
  }
  errno = saved;
}

bool flushWriter(std::chrono::milliseconds patience) noexcept {
  events::FlushCounts *words = counts();
  if (!words || !hasWriter()) return false;
  wakeWriter();
  const int saved = errno;
  const uint32_t wanted = std::atomic_ref(words->wanted).load();
  const uint64_t deadline = nowNs() + static_cast<uint64_t>(patience.count()) * 1'000'000;
  const auto done = [&] { return std::atomic_ref(words->done).load(); };
  bool is_there = true;
  for (uint32_t now = done(); static_cast<int32_t>(now - wanted) < 0 && is_there; now = done()) {
    const timespec moment{0, 100'000'000};
    (void)futex(&words->done, FUTEX_WAIT, now, &moment);
    is_there = wake() && nowNs() < deadline;
  }
  errno = saved;
  return static_cast<int32_t>(done() - wanted) >= 0;
}

} // namespace fade::hip
