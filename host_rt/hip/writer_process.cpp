#include "hip/writer_process.h"

#include "base/detached_process.h"
#include "fade/host_events.h"
#include "hip/recorder.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/// Whether the writer is there; it looks at the counts then.
bool wake() noexcept {
  const int fd = own_end.load();
  if (!isStillOurs(fd)) return true; // nobody knows; it looks from time to time
  return send(fd, "f", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 || errno == EAGAIN;
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
    return Error::of(std::string("cannot create a pair of sockets: ") + std::strerror(errno));
  for (int &end : ends)
    if (const int moved = fcntl(end, F_DUPFD_CLOEXEC, kSocketsFrom); moved >= 0) {
      ::close(end);
      end = moved;
    }
  const std::string seconds = std::to_string(choice.flush_seconds);
  pid_t pid = 0;
  const int error = startDetached(
      {{program, choice.events, choice.output, choice.format, seconds}, ends[0], kWritersEnd}, pid);
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
