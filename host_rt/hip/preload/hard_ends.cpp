// Ends of a process that no exit handler sees: _exit (also Python's os._exit, and with it the
// children of multiprocessing) and exec. FADE gets to note what the GPU has done by then.
#include "own_fade.h"

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

/// `is_end`: the process ends; else it becomes another program.
using Note = void(bool is_end);
using ExecFound = int(const char *, char *const *) noexcept;
using ExecFoundWith = int(const char *, char *const *, char *const *) noexcept;

std::atomic<Note *> note{nullptr};
std::atomic<pid_t> noted_process{0};
ExecFound *exec_found = nullptr;
ExecFoundWith *exec_found_with = nullptr;

/// Looked up early: a child of vfork must not enter the dynamic linker.
__attribute__((constructor)) void findReal() {
  exec_found = reinterpret_cast<ExecFound *>(dlsym(RTLD_NEXT, "execvp"));
  exec_found_with = reinterpret_cast<ExecFoundWith *>(dlsym(RTLD_NEXT, "execvpe"));
}

/// Children do not end their parent; one of vfork has its memory.
void tell(bool is_end) noexcept {
  Note *to = note.load();
  if (to && noted_process.load() == getpid()) to(is_end);
}

/// How many arguments there are before the null that ends them.
std::size_t countFrom(const char *first, va_list rest) noexcept {
  std::size_t count = 0;
  for (const char *at = first; at; at = va_arg(rest, const char *)) ++count;
  return count;
}

[[noreturn]] void end(int status) noexcept {
  tell(true);
  while (true) syscall(SYS_exit_group, status);
}

} // namespace

/// libfade.so says that it is there.
FADE_EXPORT void fade_before_hard_end(Note *function) {
  noted_process.store(getpid());
  note.store(function);
}

FADE_EXPORT void _exit(int status) { end(status); }
FADE_EXPORT void _Exit(int status) noexcept { end(status); }

FADE_EXPORT int execve(const char *path, char *const *arguments, char *const *variables) noexcept {
  tell(false);
  return static_cast<int>(syscall(SYS_execve, path, arguments, variables));
}
FADE_EXPORT int execv(const char *path, char *const *arguments) noexcept {
  return execve(path, arguments, environ);
}
FADE_EXPORT int execvp(const char *file, char *const *arguments) noexcept {
  tell(false);
  if (exec_found) return exec_found(file, arguments);
  errno = ENOSYS;
  return -1;
}
FADE_EXPORT int execvpe(const char *file, char *const *arguments, char *const *variables) noexcept {
  tell(false);
  if (exec_found_with) return exec_found_with(file, arguments, variables);
  errno = ENOSYS;
  return -1;
}

// On the stack: a child of vfork must not allocate.
#define FADE_COLLECT(first, arguments, rest)                                                       \
  va_list rest;                                                                                    \
  va_start(rest, first);                                                                           \
  const std::size_t count = countFrom(first, rest);                                                \
  va_end(rest);                                                                                    \
  va_start(rest, first);                                                                           \
  auto **arguments = static_cast<char **>(__builtin_alloca((count + 1) * sizeof(char *)));         \
  arguments[0] = const_cast<char *>(first);                                                        \
  for (std::size_t i = 1; i <= count; ++i) arguments[i] = va_arg(rest, char *)

FADE_EXPORT int execl(const char *path, const char *first, ...) noexcept {
  FADE_COLLECT(first, arguments, rest);
  va_end(rest);
  return execve(path, arguments, environ);
}
FADE_EXPORT int execle(const char *path, const char *first, ...) noexcept {
  FADE_COLLECT(first, arguments, rest);
  char *const *variables = va_arg(rest, char *const *);
  va_end(rest);
  return execve(path, arguments, variables);
}
FADE_EXPORT int execlp(const char *file, const char *first, ...) noexcept {
  FADE_COLLECT(first, arguments, rest);
  va_end(rest);
  return execvp(file, arguments);
}
