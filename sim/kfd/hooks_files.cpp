// Hooks of functions that take a path or a descriptor: open, stat, readlink, ioctl and their
// relatives.
#include "kfd/interposer.h"

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

using fade::sim::interposer::core;
using fade::sim::interposer::core_for;
using fade::sim::interposer::fail;
using fade::sim::kfd::CoreApi;
using fade::sim::kfd::PathInfo;

// Older programs call these; newer headers do not declare them.
extern "C" {
int __open_2(const char *, int);
int __open64_2(const char *, int);
int __openat_2(int, const char *, int);
int __openat64_2(int, const char *, int);
int __xstat(int, const char *, struct stat *);
int __xstat64(int, const char *, struct stat64 *);
int __lxstat(int, const char *, struct stat *);
int __lxstat64(int, const char *, struct stat64 *);
int __fxstat(int, int, struct stat *);
int __fxstat64(int, int, struct stat64 *);
int __fxstatat(int, int, const char *, struct stat *, int);
int __fxstatat64(int, int, const char *, struct stat64 *, int);
char *__realpath_chk(const char *, char *, size_t);
ssize_t __readlink_chk(const char *, char *, size_t, size_t);
}

FADE_NEXT(__open_2)
FADE_NEXT(__open64_2)
FADE_NEXT(__openat_2)
FADE_NEXT(__openat64_2)
FADE_NEXT(fopen)
FADE_NEXT(fopen64)
FADE_NEXT(access)
FADE_NEXT(faccessat)
FADE_NEXT(euidaccess)
FADE_NEXT(eaccess)
FADE_NEXT(realpath)
FADE_NEXT(__realpath_chk)
FADE_NEXT(canonicalize_file_name)
FADE_NEXT(readlink)
FADE_NEXT(__readlink_chk)
FADE_NEXT(readlinkat)
FADE_NEXT(statx)
FADE_NEXT(fstat)
FADE_NEXT(ioctl)
FADE_NEXT(munmap)
FADE_NEXT(popen)
FADE_NEXT(open)
FADE_NEXT(open64)
FADE_NEXT(openat)
FADE_NEXT(openat64)
FADE_NEXT(stat)
FADE_NEXT(lstat)
FADE_NEXT(fstatat)
FADE_NEXT(stat64)
FADE_NEXT(lstat64)
FADE_NEXT(fstat64)
FADE_NEXT(fstatat64)
FADE_NEXT(__xstat)
FADE_NEXT(__lxstat)
FADE_NEXT(__fxstat)
FADE_NEXT(__fxstatat)
FADE_NEXT(__xstat64)
FADE_NEXT(__lxstat64)
FADE_NEXT(__fxstat64)
FADE_NEXT(__fxstatat64)

namespace {

// Fields that matter of struct stat and struct stat64 alike.
template <class Stat> int fill(int result, const PathInfo &info, Stat *st) {
  if (result < 0) return fail(result);
  std::memset(st, 0, sizeof *st);
  st->st_mode = info.mode;
  st->st_rdev = info.device_number;
  st->st_ino = info.inode;
  st->st_size = static_cast<off_t>(info.size);
  st->st_nlink = 1;
  st->st_blksize = 4096;
  return 0;
}

template <class Stat> int stat_ours(const CoreApi *api, const char *path, bool follow, Stat *st) {
  PathInfo info;
  int result = api->stat(path, follow, &info);
  return fill(result, info, st);
}

// The file behind our descriptors is memory; to the program it is a character device.
template <class Stat> int fix_descriptor(int result, Stat *st) {
  const CoreApi *api = core();
  if (result != 0 || !api) return result;
  if (int device = api->device_of(st->st_dev, st->st_ino)) {
    st->st_mode = S_IFCHR | 0666;
    st->st_rdev = api->device_number(device);
    st->st_size = 0;
  }
  return result;
}

// The descriptor itself is meant then. Null is allowed, whatever the headers say.
bool is_empty(const char *path) { return !path || !path[0]; }

int open_ours(const CoreApi *api, const char *path, int flags) {
  return fail(api->open(path, flags));
}

FILE *fopen_ours(const CoreApi *api, const char *path, const char *mode) {
  bool read_only = mode[0] == 'r' && !std::strchr(mode, '+');
  int fd =
      api->open(path, (read_only ? O_RDONLY : O_RDWR) | (std::strchr(mode, 'e') ? O_CLOEXEC : 0));
  if (fd < 0) return fail(fd), nullptr;
  FILE *file = fdopen(fd, mode);
  if (!file) close(fd);
  return file;
}

char *realpath_ours(const CoreApi *api, const char *path, char *to) {
  char resolved[PATH_MAX];
  if (fail(api->realpath(path, resolved, sizeof resolved)) < 0) return nullptr;
  if (!to) return strdup(resolved);
  return std::strcpy(to, resolved);
}

int access_ours(const CoreApi *api, const char *path, int mode) {
  PathInfo info;
  int result = api->stat(path, true, &info);
  if (result == 0 && (mode & W_OK) && S_ISREG(info.mode)) result = -EACCES;
  if (result == 0 && (mode & X_OK) && !S_ISDIR(info.mode)) result = -EACCES;
  return fail(result);
}

mode_t mode_of(int flags, va_list args) {
  return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
}

} // namespace

#define OPEN_HOOK(name)                                                                            \
  FADE_HOOK int name(const char *path, int flags, ...) {                                           \
    va_list args;                                                                                  \
    va_start(args, flags);                                                                         \
    mode_t mode = mode_of(flags, args);                                                            \
    va_end(args);                                                                                  \
    if (auto *api = core_for(path)) return open_ours(api, path, flags);                            \
    return NEXT(name)(path, flags, mode);                                                          \
  }
#define OPENAT_HOOK(name)                                                                          \
  FADE_HOOK int name(int folder, const char *path, int flags, ...) {                               \
    va_list args;                                                                                  \
    va_start(args, flags);                                                                         \
    mode_t mode = mode_of(flags, args);                                                            \
    va_end(args);                                                                                  \
    if (auto *api = core_for(path)) return open_ours(api, path, flags);                            \
    return NEXT(name)(folder, path, flags, mode);                                                  \
  }
OPEN_HOOK(open)
OPEN_HOOK(open64)
OPENAT_HOOK(openat)
OPENAT_HOOK(openat64)

FADE_HOOK int __open_2(const char *path, int flags) {
  if (auto *api = core_for(path)) return open_ours(api, path, flags);
  return NEXT(__open_2)(path, flags);
}
FADE_HOOK int __open64_2(const char *path, int flags) {
  if (auto *api = core_for(path)) return open_ours(api, path, flags);
  return NEXT(__open64_2)(path, flags);
}
FADE_HOOK int __openat_2(int folder, const char *path, int flags) {
  if (auto *api = core_for(path)) return open_ours(api, path, flags);
  return NEXT(__openat_2)(folder, path, flags);
}
FADE_HOOK int __openat64_2(int folder, const char *path, int flags) {
  if (auto *api = core_for(path)) return open_ours(api, path, flags);
  return NEXT(__openat64_2)(folder, path, flags);
}
FADE_HOOK FILE *fopen(const char *path, const char *mode) {
  if (auto *api = core_for(path)) return fopen_ours(api, path, mode);
  return NEXT(fopen)(path, mode);
}
FADE_HOOK FILE *fopen64(const char *path, const char *mode) {
  if (auto *api = core_for(path)) return fopen_ours(api, path, mode);
  return NEXT(fopen64)(path, mode);
}

FADE_HOOK int access(const char *path, int mode) noexcept {
  if (auto *api = core_for(path)) return access_ours(api, path, mode);
  return NEXT(access)(path, mode);
}
FADE_HOOK int faccessat(int folder, const char *path, int mode, int flags) noexcept {
  if (auto *api = core_for(path)) return access_ours(api, path, mode);
  return NEXT(faccessat)(folder, path, mode, flags);
}
FADE_HOOK int euidaccess(const char *path, int mode) noexcept {
  if (auto *api = core_for(path)) return access_ours(api, path, mode);
  return NEXT(euidaccess)(path, mode);
}
FADE_HOOK int eaccess(const char *path, int mode) noexcept {
  if (auto *api = core_for(path)) return access_ours(api, path, mode);
  return NEXT(eaccess)(path, mode);
}

FADE_HOOK char *realpath(const char *path, char *to) noexcept {
  if (auto *api = core_for(path)) return realpath_ours(api, path, to);
  return NEXT(realpath)(path, to);
}
FADE_HOOK char *__realpath_chk(const char *path, char *to, size_t size) {
  if (auto *api = core_for(path)) return realpath_ours(api, path, to);
  return NEXT(__realpath_chk)(path, to, size);
}
FADE_HOOK char *canonicalize_file_name(const char *path) noexcept {
  if (auto *api = core_for(path)) return realpath_ours(api, path, nullptr);
  return NEXT(canonicalize_file_name)(path);
}
FADE_HOOK ssize_t readlink(const char *path, char *to, size_t size) noexcept {
  if (auto *api = core_for(path)) return fail(api->readlink(path, to, size));
  return NEXT(readlink)(path, to, size);
}
FADE_HOOK ssize_t __readlink_chk(const char *path, char *to, size_t size, size_t room) {
  if (auto *api = core_for(path)) return fail(api->readlink(path, to, size));
  return NEXT(__readlink_chk)(path, to, size, room);
}
FADE_HOOK ssize_t readlinkat(int folder, const char *path, char *to, size_t size) noexcept {
  if (auto *api = core_for(path)) return fail(api->readlink(path, to, size));
  return NEXT(readlinkat)(folder, path, to, size);
}

#define STAT_HOOKS(stat_name, lstat_name, fstat_name, fstatat_name, Stat)                          \
  FADE_HOOK int stat_name(const char *path, struct Stat *st) noexcept {                            \
    if (auto *api = core_for(path)) return stat_ours(api, path, true, st);                         \
    return NEXT(stat_name)(path, st);                                                              \
  }                                                                                                \
  FADE_HOOK int lstat_name(const char *path, struct Stat *st) noexcept {                           \
    if (auto *api = core_for(path)) return stat_ours(api, path, false, st);                        \
    return NEXT(lstat_name)(path, st);                                                             \
  }                                                                                                \
  FADE_HOOK int fstat_name(int fd, struct Stat *st) noexcept {                                     \
    return fix_descriptor(NEXT(fstat_name)(fd, st), st);                                           \
  }                                                                                                \
  FADE_HOOK int fstatat_name(int fd, const char *path, struct Stat *st, int flags) noexcept {      \
    if (auto *api = core_for(path))                                                                \
      return stat_ours(api, path, !(flags & AT_SYMLINK_NOFOLLOW), st);                             \
    int result = NEXT(fstatat_name)(fd, path, st, flags);                                          \
    return is_empty(path) ? fix_descriptor(result, st) : result;                                   \
  }
STAT_HOOKS(stat, lstat, fstat, fstatat, stat)
STAT_HOOKS(stat64, lstat64, fstat64, fstatat64, stat64)

#define XSTAT_HOOKS(xstat_name, lxstat_name, fxstat_name, fxstatat_name, Stat)                     \
  FADE_HOOK int xstat_name(int version, const char *path, struct Stat *st) {                       \
    if (auto *api = core_for(path)) return stat_ours(api, path, true, st);                         \
    return NEXT(xstat_name)(version, path, st);                                                    \
  }                                                                                                \
  FADE_HOOK int lxstat_name(int version, const char *path, struct Stat *st) {                      \
    if (auto *api = core_for(path)) return stat_ours(api, path, false, st);                        \
    return NEXT(lxstat_name)(version, path, st);                                                   \
  }                                                                                                \
  FADE_HOOK int fxstat_name(int version, int fd, struct Stat *st) {                                \
    return fix_descriptor(NEXT(fxstat_name)(version, fd, st), st);                                 \
  }                                                                                                \
  FADE_HOOK int fxstatat_name(int version, int fd, const char *path, struct Stat *st, int flags) { \
    if (auto *api = core_for(path))                                                                \
      return stat_ours(api, path, !(flags & AT_SYMLINK_NOFOLLOW), st);                             \
    int result = NEXT(fxstatat_name)(version, fd, path, st, flags);                                \
    return is_empty(path) ? fix_descriptor(result, st) : result;                                   \
  }
XSTAT_HOOKS(__xstat, __lxstat, __fxstat, __fxstatat, stat)
XSTAT_HOOKS(__xstat64, __lxstat64, __fxstat64, __fxstatat64, stat64)

FADE_HOOK int statx(int fd, const char *path, int flags, unsigned mask,
                    struct statx *out) noexcept {
  const CoreApi *api = core_for(path);
  PathInfo info{};
  int result = 0;
  if (api) {
    result = api->stat(path, !(flags & AT_SYMLINK_NOFOLLOW), &info);
    if (result < 0) return fail(result);
    std::memset(out, 0, sizeof *out);
    out->stx_mask = STATX_BASIC_STATS;
    out->stx_nlink = 1;
    out->stx_blksize = 4096;
    out->stx_size = info.size;
    out->stx_ino = info.inode;
  } else {
    result = NEXT(statx)(fd, path, flags, mask, out);
    api = core();
    if (result != 0 || !api || !is_empty(path)) return result;
    int device = api->device_of(makedev(out->stx_dev_major, out->stx_dev_minor), out->stx_ino);
    if (!device) return result;
    info.mode = S_IFCHR | 0666;
    info.device_number = api->device_number(device);
    out->stx_size = 0;
  }
  out->stx_mode = static_cast<uint16_t>(info.mode);
  out->stx_rdev_major = major(info.device_number);
  out->stx_rdev_minor = minor(info.device_number);
  return 0;
}

FADE_HOOK int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list args;
  va_start(args, request);
  void *argument = va_arg(args, void *);
  va_end(args);
  const CoreApi *api = core();
  if (api && (_IOC_TYPE(request) == 'K' || _IOC_TYPE(request) == 'd')) { // KFD, DRM
    int saved = errno;
    struct stat st;
    if (NEXT(fstat)(fd, &st) == 0)
      if (int device = api->device_of(st.st_dev, st.st_ino))
        return fail(api->ioctl(device, request, argument));
    errno = saved;
  }
  return NEXT(ioctl)(fd, request, argument);
}

// Where addresses of a process end (48 bits of address, of which amd64 leaves half to the kernel).
constexpr uintptr_t user_space = uintptr_t{1} <<
#ifdef __x86_64__
                                 47;
#else
                                 48;
#endif

FADE_HOOK int munmap(void *address, size_t size) noexcept {
  // The GPU first: as soon as it is unmapped, another thread may get the range and share it anew.
  const CoreApi *api = core();
  // What the kernel will refuse changes nothing; the thunk asks for such ranges after a failure.
  const auto start = reinterpret_cast<uintptr_t>(address);
  const bool valid = size && start % 4096 == 0 && start < user_space && size <= user_space - start;
  if (api && valid) api->unmapped(address, size);
  return NEXT(munmap)(address, size);
}

// Older rocminfo asks "lsmod | grep amdgpu" before it looks for a GPU. Whoever asks this way, and
// only then, hears that the module is loaded; lsmod itself is left alone.
FADE_HOOK FILE *popen(const char *command, const char *mode) {
  if (command && std::strstr(command, "lsmod") && std::strstr(command, "amdgpu")) {
    PathInfo info;
    const char *module = "/sys/module/amdgpu/initstate";
    const CoreApi *api = core_for(module);
    if (api && api->stat(module, true, &info) == 0) command = "echo amdgpu";
  }
  return NEXT(popen)(command, mode);
}
