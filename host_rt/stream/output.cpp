#include "stream/output.h"

#include "base/diagnostics.h"

#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace fade {
namespace {

constexpr std::size_t kFlushAt = 256 << 10;
constexpr mode_t kMode = 0644;

int openForWriting(const std::string &path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
}

} // namespace

Output::Output(const std::string &location, Format format) : format_(format) {
  if (location != "console") {
    name_ = expandPath(location);
    fd_ = openForWriting(name_);
    owns_fd_ = fd_ >= 0;
    if (fd_ < 0) warn("cannot open {}: {}; the report goes to stderr", name_, std::strerror(errno));
  }
  if (fd_ < 0) {
    fd_ = STDERR_FILENO;
    name_ = "stderr";
  }
}

Output::~Output() {
  flush();
  if (owns_fd_) ::close(fd_);
}

void Output::write(std::string_view lines) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    buffer_ += lines;
    if (!keep_ && buffer_.size() >= kFlushAt) flushLocked();
  } catch (...) { // no memory for the line; the report is not worth the application's life
  }
}

void Output::flush() noexcept {
  const std::lock_guard lock(mutex_);
  if (!keep_) flushLocked();
}

void Output::flushLocked() noexcept {
  if (buffer_.empty() || failed_) return;
  if (const int error = writeAll(fd_, buffer_)) {
    failed_ = true; // said once; the rest is lost
    warn("cannot write the report to {}: {}", name_, std::strerror(error));
  }
  buffer_.clear();
}

std::string Output::collected() {
  const std::lock_guard lock(mutex_);
  return buffer_;
}

bool Output::writeFile(const std::string &path, std::string_view contents) noexcept {
  try {
    const std::string name = expandPath(path);
    const int fd = openForWriting(name);
    int error = fd < 0 ? errno : writeAll(fd, contents);
    if (fd >= 0 && ::close(fd) != 0 && error == 0) error = errno;
    if (error == 0) return true;
    warn("cannot write {}: {}", name, std::strerror(error));
  } catch (...) {
  }
  return false;
}

} // namespace fade
