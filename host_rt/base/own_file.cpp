#include "base/own_file.h"

#include "base/diagnostics.h"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace fade {
namespace {

constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
constexpr mode_t kMode = 0644;
constexpr int kOutOfTheWay = 100; // programs that count on small numbers keep them

} // namespace

OwnFile &OwnFile::operator=(OwnFile &&other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = std::exchange(other.fd_, -1);
  path_ = std::move(other.path_);
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}

OwnFile OwnFile::open(const std::string &path, bool append) {
  OwnFile file;
  // A pipe that nobody reads is an error and does not stop the application.
  file.fd_ = ::open(path.c_str(), kFlags | O_NONBLOCK | (append ? 0 : O_TRUNC), kMode);
  if (file.fd_ >= 0) (void)fcntl(file.fd_, F_SETFL, O_APPEND);
  file.path_ = path;
  file.remember();
  return file;
}

OwnFile OwnFile::openShared(const std::string &path) {
  OwnFile file = open(path, true);
  // Whoever writes keeps a lock: the one that gets it for itself alone is the only one.
  if (file.is() && flock(file.fd_, LOCK_EX | LOCK_NB) == 0 && file.isRegular())
    (void)!ftruncate(file.fd_, 0);
  if (file.is()) (void)flock(file.fd_, LOCK_SH | LOCK_NB);
  return file;
}

OwnFile OwnFile::openAlone(const std::string &path, std::string_view first) {
  std::string name = path;
  for (unsigned attempt = 1;; ++attempt) {
    OwnFile file = open(name, true);
    if (!file.is()) return file;
    struct stat status {};
    // Between the look and the first bytes no other process looks.
    (void)flock(file.fd_, LOCK_EX);
    const bool is_taken = file.isRegular() && fstat(file.fd_, &status) == 0 && status.st_size != 0;
    const int error = is_taken ? 0 : file.write(first);
    (void)flock(file.fd_, LOCK_UN);
    if (error != 0) {
      file.close();
      errno = error;
      return file;
    }
    if (!is_taken) return file;
    name = fmt::format("{}.{}", path, getpid());
    if (attempt > 1) name += fmt::format(".{}", attempt);
  }
}

bool OwnFile::isRegular() const noexcept {
  struct stat status {};
  return fstat(fd_, &status) == 0 && S_ISREG(status.st_mode);
}

OwnFile OwnFile::duplicate(int fd) {
  OwnFile file;
  file.fd_ = fcntl(fd, F_DUPFD_CLOEXEC, kOutOfTheWay);
  if (file.fd_ < 0) file.fd_ = fcntl(fd, F_DUPFD_CLOEXEC, 3); // ulimit -n may be that low
  file.remember();
  return file;
}

bool OwnFile::remember() noexcept {
  struct stat status {};
  if (fd_ < 0 || fstat(fd_, &status) != 0) return false;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  return true;
}

bool OwnFile::isStillOurs() const noexcept {
  struct stat status {};
  return fstat(fd_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

int OwnFile::write(std::string_view bytes) noexcept {
  if (fd_ < 0) return EBADF;
  if (!isStillOurs()) {
    // Whatever has our number now is not ours to close.
    fd_ = path_.empty() ? -1 : ::open(path_.c_str(), kFlags, kMode);
    if (!remember()) return EBADF;
  }
  return writeAll(fd_, bytes);
}

int OwnFile::close() noexcept {
  const int fd = std::exchange(fd_, -1);
  if (fd < 0) return 0;
  struct stat status {};
  if (fstat(fd, &status) != 0 || status.st_dev != device_ || status.st_ino != inode_) return 0;
  return ::close(fd) == 0 ? 0 : errno;
}

} // namespace fade
