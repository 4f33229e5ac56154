// Functions of newer versions of glibc that FADE or the standard library use, for binaries that run
// with older ones (FadePortable.cmake). Visible to nobody else.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

// 2.32: whether there is one thread only. There may always be more.
char __libc_single_threaded = 0;

// 2.32
const char *sigabbrev_np(int number) {
  static const struct {
    int number;
    const char *name;
  } names[] = {{SIGHUP, "HUP"},   {SIGINT, "INT"},   {SIGQUIT, "QUIT"}, {SIGILL, "ILL"},
               {SIGTRAP, "TRAP"}, {SIGABRT, "ABRT"}, {SIGBUS, "BUS"},   {SIGFPE, "FPE"},
               {SIGKILL, "KILL"}, {SIGUSR1, "USR1"}, {SIGSEGV, "SEGV"}, {SIGUSR2, "USR2"},
               {SIGPIPE, "PIPE"}, {SIGALRM, "ALRM"}, {SIGTERM, "TERM"}, {SIGCHLD, "CHLD"},
               {SIGCONT, "CONT"}, {SIGSTOP, "STOP"}, {SIGTSTP, "TSTP"}, {SIGTTIN, "TTIN"},
               {SIGTTOU, "TTOU"}, {SIGXCPU, "XCPU"}, {SIGXFSZ, "XFSZ"}, {SIGSYS, "SYS"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (names[i].number == number) return names[i].name;
  return NULL;
}

// 2.33. Numbers beyond 2 GB are not known to the older function.
struct mallinfo2 mallinfo2(void) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo known = mallinfo();
#pragma GCC diagnostic pop
  struct mallinfo2 info = {0};
  info.uordblks = (size_t)known.uordblks;
  info.fordblks = (size_t)known.fordblks;
  return info;
}

// 2.34. Files that other threads open until the process is started stay open, unless they are
// close-on-exec.
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from) {
  DIR *open_files = opendir("/proc/self/fd");
  if (!open_files) return errno;
  int error = 0;
  const struct dirent *entry;
  while (error == 0 && (entry = readdir(open_files))) {
    char *end;
    const long file = strtol(entry->d_name, &end, 10);
    if (*end == '\0' && end != entry->d_name && file >= from && file != dirfd(open_files))
      error = posix_spawn_file_actions_addclose(actions, (int)file);
  }
  closedir(open_files);
  return error;
}

// 2.34. Linux before 5.9 does not have the call; opendir would allocate, which a forked child must
// not.
int close_range(unsigned first, unsigned last, int flags) {
  const long done = syscall(SYS_close_range, first, last, flags);
  if (done == 0 || errno != ENOSYS || flags != 0) return (int)done;
  const int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -1;
  struct dirent64 *entry;
  char entries[4096] __attribute__((aligned(8)));
  long size;
  while ((size = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0)
    for (long at = 0; at < size; at += entry->d_reclen) {
      entry = (struct dirent64 *)(entries + at);
      char *end;
      const unsigned long file = strtoul(entry->d_name, &end, 10);
      if (*end == '\0' && end != entry->d_name && file >= first && file <= last &&
          file != (unsigned long)folder)
        close((int)file);
    }
  close(folder);
  return 0;
}

// 2.36
uint32_t arc4random(void) {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
  }
  return value;
}

#pragma GCC visibility pop
