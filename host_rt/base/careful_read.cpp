#include "base/careful_read.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace fade {
namespace {

/// One step of a copy, like read(2).
ssize_t copyByFile(int file, void *to, uint64_t from, std::size_t size) {
  return pread(file, to, size, static_cast<off_t>(from));
}

ssize_t copyByCall(void *to, uint64_t from, std::size_t size) {
  const iovec here{to, size}, there{reinterpret_cast<void *>(from), size};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0);
}

} // namespace

bool readCarefully(void *to, uint64_t from, std::size_t size) noexcept {
  const int error = errno;
  auto *at = static_cast<char *>(to);
  int file = -1; // containers and emulators may not have the call
  ssize_t n = 1;
  while (size != 0 && n > 0) {
    n = file < 0 ? copyByCall(at, from, size) : copyByFile(file, at, from, size);
    if (n < 0 && file < 0 && (errno == EPERM || errno == ENOSYS) &&
        (file = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)) >= 0)
      n = copyByFile(file, at, from, size);
    if (n <= 0) break;
    at += n;
    from += static_cast<uint64_t>(n);
    size -= static_cast<std::size_t>(n);
  }
  if (file >= 0) close(file);
  errno = error;
  return size == 0;
}

} // namespace fade
