#include "base/heap_watch.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

namespace fade {
namespace {

constexpr uintptr_t kHeap = uintptr_t{64} << 20; ///< glibc's heaps begin at multiples of that
constexpr timespec kBetweenLooks{0, 250'000'000};
constexpr int kLooks = 20; ///< at which the same thread waits, until it counts

class File {
public:
  File(int folder, const char *path, int flags = 0) noexcept
      : fd_(openat(folder, path, O_RDONLY | O_CLOEXEC | flags)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  int fd() const { return fd_; }

private:
  int fd_;
};

using Line = std::array<char, 256>;
std::string_view readLine(int folder, const char *name, const char *file, Line &line) noexcept {
  std::array<char, 64> path{};
  const std::size_t length = strnlen(name, 20);
  std::memcpy(path.data(), name, length);
  std::strcpy(path.data() + length, file);
  const File opened(folder, path.data());
  const ssize_t size = opened.fd() >= 0 ? read(opened.fd(), line.data(), line.size()) : 0;
  return {line.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

/// "98 0xffff8c0008c0 0x80 ...": the call and its arguments.
bool waitsFor(std::string_view call, uintptr_t lock) noexcept {
  long number = -1;
  const char *const end = call.data() + call.size();
  const auto [after, error] = std::from_chars(call.data(), end, number);
  constexpr std::string_view before = " 0x";
  if (error != std::errc() || number != SYS_futex ||
      !std::string_view(after, end).starts_with(before))
    return false;
  uintptr_t first = 0;
  std::from_chars(after + before.size(), end, first, 16);
  return first == lock;
}

bool runsAnalyzers(std::string_view name) noexcept {
  return name.starts_with("fade-worker") || name.starts_with("fade-report");
}

/// Ids of threads that wait for a lock; 0: none.
struct Waiting {
  long analyzer = 0, other = 0;
};

Waiting findWaiting(uintptr_t lock) noexcept {
  Waiting found;
  const File tasks(AT_FDCWD, "/proc/self/task", O_DIRECTORY);
  if (tasks.fd() < 0) return found;
  alignas(dirent64) std::array<char, 4096> entries{};
  Line line{};
  while (true) {
    const long size = syscall(SYS_getdents64, tasks.fd(), entries.data(), entries.size());
    if (size <= 0) return found;
    for (long at = 0; at < size;) {
      const auto *entry = reinterpret_cast<const dirent64 *>(entries.data() + at);
      at += entry->d_reclen;
      long id = 0;
      const std::string_view name(entry->d_name);
      if (std::from_chars(name.data(), name.data() + name.size(), id).ec != std::errc()) continue;
      if (!waitsFor(readLine(tasks.fd(), entry->d_name, "/syscall", line), lock)) continue;
      const bool is_analyzer = runsAnalyzers(readLine(tasks.fd(), entry->d_name, "/comm", line));
      long &first = is_analyzer ? found.analyzer : found.other;
      if (first == 0) first = id;
    }
  }
}

/// Whether the same thread was seen often enough.
class Patience {
public:
  bool isOver(long waiting) noexcept {
    looks_ = waiting != 0 && waiting == who_ ? looks_ + 1 : 0;
    who_ = waiting;
    return looks_ >= kLooks;
  }

private:
  long who_ = 0;
  int looks_ = 0;
};

} // namespace

const int *heapLockOf(const void *memory) noexcept {
  // In front of it is its size, whose lowest bits say where it is from. Such a heap begins with
  // the address of what glibc keeps about it, and that with the lock.
  constexpr std::size_t not_first_part = 4;
  const auto address = reinterpret_cast<uintptr_t>(memory);
  std::size_t size = 0;
  std::memcpy(&size, static_cast<const char *>(memory) - sizeof size, sizeof size);
  if ((size & not_first_part) == 0) return nullptr;
  const uintptr_t begin = address / kHeap * kHeap;
  uintptr_t about = 0;
  std::memcpy(&about, reinterpret_cast<const void *>(begin), sizeof about);
  const bool is_as_known = about > begin && about < begin + 256 && about % sizeof(void *) == 0;
  return is_as_known ? reinterpret_cast<const int *>(about) : nullptr;
}

void watchHeapLock(const int *lock, std::atomic<bool> &keeps_analyzer) noexcept {
  const auto *value = reinterpret_cast<const std::atomic<int> *>(lock);
  Patience with_analyzers, with_others;
  while (true) {
    constexpr int with_waiters = 2;
    const Waiting waiting = value->load(std::memory_order_relaxed) == with_waiters
                                ? findWaiting(reinterpret_cast<uintptr_t>(lock))
                                : Waiting();
    if (with_others.isOver(waiting.other)) return;
    if (with_analyzers.isOver(waiting.analyzer))
      keeps_analyzer.store(true, std::memory_order_relaxed);
    nanosleep(&kBetweenLooks, nullptr);
  }
}

} // namespace fade
