// Hooks of functions by which a process reads and writes memory through the kernel.
//
// The driver maps a card's memory without pages that the kernel could pin (VM_PFNMAP). So these
// calls refuse it with EFAULT where they pin pages, which is at the remote end; at the local end
// they access it like the process itself. Here it is memory of a file, which they would take.
#include "kfd/interposer.h"

#include <cerrno>
#include <sys/uio.h>
#include <unistd.h>

using fade::sim::interposer::core;

FADE_NEXT(process_vm_readv)
FADE_NEXT(process_vm_writev)

namespace {

// How many of the ranges can be pinned, from the first on.
unsigned long pinnable(const iovec *ranges, unsigned long count) {
  const auto *api = core();
  if (!api) return count;
  unsigned long n = 0;
  while (n < count && !api->is_vram(ranges[n].iov_base)) ++n;
  return n;
}

} // namespace

#define PROCESS_VM_HOOK(name)                                                                      \
  FADE_HOOK ssize_t name(pid_t pid, const iovec *local, unsigned long locals, const iovec *remote, \
                         unsigned long remotes, unsigned long flags) noexcept {                    \
    if (pid == getpid() && remote && remotes) {                                                    \
      const unsigned long n = pinnable(remote, remotes);                                           \
      if (n == 0) {                                                                                \
        errno = EFAULT;                                                                            \
        return -1;                                                                                 \
      }                                                                                            \
      remotes = n;                                                                                 \
    }                                                                                              \
    return NEXT(name)(pid, local, locals, remote, remotes, flags);                                 \
  }
PROCESS_VM_HOOK(process_vm_readv)
PROCESS_VM_HOOK(process_vm_writev)
