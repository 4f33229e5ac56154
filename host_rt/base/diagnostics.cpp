#include "base/diagnostics.h"

#include "base/own_file.h"
#include "base/run_folder.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <exception>
#include <new>
#include <unistd.h>

namespace fade {
namespace {

std::atomic<bool> verbose_{false};
OwnFile *kept_stderr = nullptr;

// Keeps SIGPIPE from the application while we write to a pipe that nobody reads.
class NoSigpipe {
public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    if (!was_pending_) {
      const timespec now{};
      while (sigtimedwait(&pipe_, nullptr, &now) == -1 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

} // namespace

int writeAll(int fd, std::string_view bytes) noexcept {
  const int saved = errno;
  const NoSigpipe guard;
  int error = 0;
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EINTR && errno != EAGAIN) {
      error = errno;
      break;
    } else if (errno == EAGAIN) { // a terminal or pipe that somebody made non-blocking
      const timespec moment{0, 1'000'000};
      nanosleep(&moment, nullptr);
    }
  }
  errno = saved;
  return error;
}

void keepStderr() {
  if (!kept_stderr) kept_stderr = new OwnFile; // outlives every exit handler
  if (!kept_stderr->is()) *kept_stderr = OwnFile::duplicate(STDERR_FILENO);
}

void dropStderr() noexcept {
  if (kept_stderr) kept_stderr->close();
}

int writeStderr(std::string_view bytes) noexcept {
  return kept_stderr ? kept_stderr->write(bytes) : writeAll(STDERR_FILENO, bytes);
}

void sayLine(std::string_view text) noexcept {
  try {
    writeStderr(fmt::format("fade: {}\n", text));
  } catch (...) {
  }
}

void setVerbose(bool verbose) noexcept { verbose_.store(verbose, std::memory_order_relaxed); }
bool isVerbose() noexcept { return verbose_.load(std::memory_order_relaxed); }

const char *whatWasThrown() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    return "out of memory";
  } catch (const std::exception &e) {
    return e.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

std::string expandPath(std::string_view path) {
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const char next = path[i] == '%' && i + 1 < path.size() ? path[i + 1] : '\0';
    switch (next) {
    case 'p': out += std::to_string(getpid()); break;
    case 'h': out += ownHost(); break;
    case 'r': out += ownRank().value_or("0"); break;
    case '%': out += '%'; break;
    default: out += path[i]; continue;
    }
    ++i;
  }
  return out;
}

} // namespace fade
