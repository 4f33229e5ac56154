#include "base/event_file.h"

#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fade {
namespace {

using events::kBlockBytes;
using events::kHeaderBytes;

constexpr int kDescriptorsFrom = 200; // applications expect small numbers for files of their own
static_assert(sizeof(events::FileHeader) <= kHeaderBytes);

int64_t timeBy(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Error failure(const std::string &path, int error) { return {path, "", 0, std::strerror(error)}; }

/// Room on the disk, so that no store to it can fail: 0 or an errno. A file that may not grow
/// raises a signal, which is not the application's.
int allocate(int fd, uint64_t position, uint64_t size) noexcept {
  sigset_t too_large, before, pending;
  sigemptyset(&too_large);
  sigaddset(&too_large, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &too_large, &before);
  sigpending(&pending);
  const bool was_pending = sigismember(&pending, SIGXFSZ) == 1;
  const int error = posix_fallocate(fd, static_cast<off_t>(position), static_cast<off_t>(size));
  if (error == EFBIG && !was_pending) {
    const timespec now{};
    (void)sigtimedwait(&too_large, nullptr, &now);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

void *mapFile(int fd, uint64_t position, uint64_t size) noexcept {
  void *at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
                  static_cast<off_t>(position));
  return at == MAP_FAILED ? nullptr : at;
}

/// Under a lock of the file: the first to come writes the header.
Status prepareHeader(int fd, const std::string &path) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return failure(path, errno);
  if (!S_ISREG(status.st_mode)) return Error{path, "", 0, "is not a regular file"};
  events::FileHeader header{};
  if (status.st_size == 0) {
    if (const int error = allocate(fd, 0, kHeaderBytes)) return failure(path, error);
    header = {events::kMagic,          events::kVersion,      kBlockBytes, 0, 0,
              timeBy(CLOCK_MONOTONIC), timeBy(CLOCK_REALTIME)};
    if (pwrite(fd, &header, sizeof header, 0) != sizeof header) return failure(path, errno);
    return Done{};
  }
  if (pread(fd, &header, sizeof header, 0) != sizeof header || header.magic != events::kMagic)
    return Error{path, "", 0, "contains data other than host events"};
  if (header.version != events::kVersion || header.block_bytes != kBlockBytes)
    return Error{path, "", 0, "was written by another version of FADE"};
  return Done{};
}

} // namespace

Status EventFile::open(const std::string &path) {
  int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return failure(path, errno);
  if (const int moved = fcntl(fd, F_DUPFD_CLOEXEC, kDescriptorsFrom); moved >= 0) {
    ::close(fd);
    fd = moved;
  }
  while (flock(fd, LOCK_EX) != 0 && errno == EINTR) {
  }
  Status prepared = prepareHeader(fd, path);
  (void)flock(fd, LOCK_UN);
  struct stat status {};
  void *header = nullptr;
  if (prepared && (fstat(fd, &status) != 0 || !(header = mapFile(fd, 0, kHeaderBytes))))
    prepared = failure(path, errno);
  if (!prepared) {
    ::close(fd);
    return prepared;
  }
  path_ = path;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  fd_.store(fd);
  header_ = static_cast<events::FileHeader *>(header);
  return Done{};
}

void EventFile::leave() noexcept {
  if (!header_) return;
  if (isStillOurs()) ::close(fd_.load());
  fd_.store(-1);
  munmap(header_, kHeaderBytes);
  header_ = nullptr;
}

bool EventFile::isStillOurs() const noexcept {
  struct stat status {};
  return fstat(fd_.load(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

/// The application may have closed our descriptor, and may have a file of its own by that number.
int EventFile::descriptor() noexcept {
  if (isStillOurs()) return fd_.load();
  const int fd = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  fd_.store(fd);
  if (fd >= 0 && isStillOurs()) return fd;
  if (fd >= 0) ::close(fd);
  fd_.store(-1);
  errno = EBADF;
  return -1;
}

Result<EventFile::Block> EventFile::claim() noexcept {
  const int saved = errno;
  const uint64_t number = std::atomic_ref(header_->claimed).fetch_add(1, std::memory_order_relaxed);
  const uint64_t position = kHeaderBytes + number * kBlockBytes;
  const int fd = descriptor();
  int error = fd < 0 ? EBADF : allocate(fd, position, kBlockBytes);
  void *at = nullptr;
  if (error == 0 && !(at = mapFile(fd, position, kBlockBytes))) error = errno;
  errno = saved;
  if (error != 0) return failure(path_, error);
  auto *block = static_cast<events::BlockHeader *>(at);
  block->magic = events::kBlockMagic;
  std::atomic_ref(block->used).store(sizeof *block, std::memory_order_release);
  return Block{static_cast<char *>(at), position};
}

void EventFile::release(Block block) noexcept {
  if (block.bytes) munmap(block.bytes, kBlockBytes);
}

EventFile::Switch EventFile::takeSwitch(uint32_t pid, bool is_on) noexcept {
  auto *all = reinterpret_cast<events::ProcessSwitch *>(reinterpret_cast<char *>(header_) +
                                                        events::kSwitchesAt);
  // The same process before it became another program, or fadeprobe control for it.
  for (std::size_t i = 0; i < events::kSwitches; ++i)
    if (std::atomic_ref(all[i].pid).load() == pid) return {&all[i].is_on, true};
  for (std::size_t i = 0; i < events::kSwitches; ++i) {
    // Owner and value change together: a process that loses a place has not touched its value.
    static_assert(sizeof(events::ProcessSwitch) == sizeof(uint64_t) &&
                  events::kSwitchesAt % sizeof(uint64_t) == 0);
    std::atomic_ref whole(reinterpret_cast<uint64_t &>(all[i]));
    uint64_t there = whole.load();
    const auto owner = static_cast<pid_t>(std::bit_cast<events::ProcessSwitch>(there).pid);
    const bool is_free = owner == 0 || (kill(owner, 0) != 0 && errno == ESRCH);
    if (!is_free) continue;
    const events::ProcessSwitch taken{pid, is_on ? 1U : 0U};
    if (whole.compare_exchange_strong(there, std::bit_cast<uint64_t>(taken)))
      return {&all[i].is_on, false};
  }
  return {};
}

void EventFile::lose() noexcept {
  if (header_) std::atomic_ref(header_->lost).fetch_add(1, std::memory_order_relaxed);
}

} // namespace fade
