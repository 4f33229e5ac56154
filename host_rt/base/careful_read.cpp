// Memory may be unmapped at any time, may be a reservation that nobody may read, or may be a
// card's, behind the PCI aperture. A system call that is given the address reads it as this process
// would, and fails where the process would crash.
//
// process_vm_writev does it in one go: it reads at its local end and writes at its remote end, both
// in this process. Not process_vm_readv, whose remote end must have pages to pin: a card's memory
// has none (VM_PFNMAP). Nor /proc/self/mem, which reads zeros from reservations (PROT_NONE), where
// kernel arguments would then seem to be zeros.
#include "base/careful_read.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace fade {
namespace {

/// One step of a copy, like read(2).
ssize_t copyByCall(void *to, uint64_t from, std::size_t size) {
  const iovec source{reinterpret_cast<void *>(from), size}, target{to, size};
  return process_vm_writev(getpid(), &source, 1, &target, 1, 0);
}

/// The same, where containers and emulators do not have that call.
class Pipe {
public:
  Pipe() {
    if (pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) ends_[0] = ends_[1] = -1;
  }
  ~Pipe() {
    for (const int end : ends_)
      if (end >= 0) close(end);
  }
  Pipe(const Pipe &) = delete;
  Pipe &operator=(const Pipe &) = delete;

  ssize_t copy(void *to, uint64_t from, std::size_t size) const {
    constexpr std::size_t step = 4096; // a pipe holds that much for certain
    if (ends_[0] < 0) return -1;
    const ssize_t n = write(ends_[1], reinterpret_cast<const void *>(from), std::min(size, step));
    return n <= 0 ? n : read(ends_[0], to, static_cast<std::size_t>(n));
  }

private:
  int ends_[2];
};

/// Calls `step` until all is copied. False, with what is left in `size`, if it fails.
template <typename Step> bool copyAll(char *&to, uint64_t &from, std::size_t &size, Step step) {
  while (size != 0) {
    const ssize_t n = step(to, from, size);
    if (n <= 0) return false;
    to += n;
    from += static_cast<uint64_t>(n);
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

} // namespace

bool readCarefully(void *to, uint64_t from, std::size_t size) noexcept {
  const int error = errno;
  auto *at = static_cast<char *>(to);
  bool is_read = copyAll(at, from, size, copyByCall);
  if (!is_read && (errno == EPERM || errno == ENOSYS)) {
    const Pipe pipe;
    is_read = copyAll(at, from, size, [&](void *next, uint64_t source, std::size_t rest) {
      return pipe.copy(next, source, rest);
    });
  }
  errno = error;
  return is_read;
}

} // namespace fade
