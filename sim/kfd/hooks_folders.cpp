// Hooks that list folders. A folder of ours has no descriptor: the stream is an object of our own,
// known by its address.
#include "kfd/interposer.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

using fade::sim::interposer::core;
using fade::sim::interposer::core_for;
using fade::sim::interposer::fail;
using fade::sim::kfd::CoreApi;
using fade::sim::kfd::PathInfo;

FADE_NEXT(opendir)
FADE_NEXT(closedir)
FADE_NEXT(readdir)
FADE_NEXT(readdir64)
FADE_NEXT(rewinddir)
FADE_NEXT(telldir)
FADE_NEXT(seekdir)
FADE_NEXT(dirfd)
FADE_NEXT(scandir)
FADE_NEXT(scandir64)

namespace {

static_assert(sizeof(struct dirent) == sizeof(struct dirent64));

struct Stream {
  Stream *next;
  size_t position; // 0 and 1 are "." and ".."
  struct dirent64 current;
  char path[];
};

std::atomic<unsigned> open_streams{0};
pthread_mutex_t streams_mutex = PTHREAD_MUTEX_INITIALIZER;
Stream *streams = nullptr;

// Programs that never list one of our folders pay one load.
Stream *ours(DIR *stream) {
  if (!open_streams.load(std::memory_order_acquire)) return nullptr;
  pthread_mutex_lock(&streams_mutex);
  Stream *found = streams;
  while (found && found != reinterpret_cast<Stream *>(stream)) found = found->next;
  pthread_mutex_unlock(&streams_mutex);
  return found;
}

DIR *open_ours(const CoreApi *api, const char *path) {
  PathInfo info;
  int result = api->stat(path, true, &info);
  if (result == 0 && !S_ISDIR(info.mode)) result = -ENOTDIR;
  if (result < 0) return fail(result), nullptr;
  auto *stream = static_cast<Stream *>(std::malloc(sizeof(Stream) + std::strlen(path) + 1));
  if (!stream) return nullptr;
  stream->position = 0;
  std::strcpy(stream->path, path);
  pthread_mutex_lock(&streams_mutex);
  stream->next = streams;
  streams = stream;
  pthread_mutex_unlock(&streams_mutex);
  ++open_streams;
  return reinterpret_cast<DIR *>(stream);
}

int close_ours(Stream *stream) {
  pthread_mutex_lock(&streams_mutex);
  Stream **link = &streams;
  while (*link && *link != stream) link = &(*link)->next;
  if (*link) *link = stream->next;
  pthread_mutex_unlock(&streams_mutex);
  --open_streams;
  std::free(stream);
  return 0;
}

struct dirent64 *read_ours(Stream *stream) {
  auto &entry = stream->current;
  std::memset(&entry, 0, sizeof entry);
  PathInfo info{};
  size_t at = stream->position;
  if (at < 2) {
    std::strcpy(entry.d_name, at ? ".." : ".");
    info.mode = S_IFDIR;
    info.inode = 1;
  } else if (core()->entry(stream->path, at - 2, entry.d_name, sizeof entry.d_name, &info) != 1) {
    return nullptr;
  }
  entry.d_ino = info.inode;
  entry.d_off = static_cast<off64_t>(++stream->position);
  entry.d_reclen = sizeof entry;
  entry.d_type = IFTODT(info.mode);
  return &entry;
}

template <class Entry>
int scan_ours(const CoreApi *api, const char *path, Entry ***list, int (*filter)(const Entry *),
              int (*compare)(const Entry **, const Entry **)) {
  DIR *folder = open_ours(api, path);
  if (!folder) return -1;
  auto *stream = reinterpret_cast<Stream *>(folder);
  Entry **entries = nullptr;
  int count = 0;
  while (auto *entry = reinterpret_cast<Entry *>(read_ours(stream))) {
    if (filter && !filter(entry)) continue;
    entries = static_cast<Entry **>(
        std::realloc(entries, sizeof(Entry *) * (static_cast<size_t>(count) + 1)));
    auto *copy = static_cast<Entry *>(std::malloc(sizeof(Entry)));
    entries[count++] = static_cast<Entry *>(std::memcpy(copy, entry, sizeof(Entry)));
  }
  close_ours(stream);
  if (compare && count)
    std::qsort(entries, static_cast<size_t>(count), sizeof(Entry *),
               reinterpret_cast<int (*)(const void *, const void *)>(compare));
  *list = entries;
  return count;
}

} // namespace

FADE_HOOK DIR *opendir(const char *path) {
  if (auto *api = core_for(path)) return open_ours(api, path);
  return NEXT(opendir)(path);
}
FADE_HOOK int closedir(DIR *folder) {
  if (auto *stream = ours(folder)) return close_ours(stream);
  return NEXT(closedir)(folder);
}
FADE_HOOK struct dirent *readdir(DIR *folder) {
  if (auto *stream = ours(folder)) return reinterpret_cast<struct dirent *>(read_ours(stream));
  return NEXT(readdir)(folder);
}
FADE_HOOK struct dirent64 *readdir64(DIR *folder) {
  if (auto *stream = ours(folder)) return read_ours(stream);
  return NEXT(readdir64)(folder);
}
FADE_HOOK void rewinddir(DIR *folder) noexcept {
  if (auto *stream = ours(folder))
    stream->position = 0;
  else
    NEXT(rewinddir)(folder);
}
FADE_HOOK long telldir(DIR *folder) noexcept {
  if (auto *stream = ours(folder)) return static_cast<long>(stream->position);
  return NEXT(telldir)(folder);
}
FADE_HOOK void seekdir(DIR *folder, long position) noexcept {
  if (auto *stream = ours(folder))
    stream->position = static_cast<size_t>(position);
  else
    NEXT(seekdir)(folder, position);
}
FADE_HOOK int dirfd(DIR *folder) noexcept {
  if (ours(folder)) return fail(-ENOTSUP);
  return NEXT(dirfd)(folder);
}
FADE_HOOK int scandir(const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
                      int (*compare)(const struct dirent **, const struct dirent **)) {
  if (auto *api = core_for(path)) return scan_ours(api, path, list, filter, compare);
  return NEXT(scandir)(path, list, filter, compare);
}
FADE_HOOK int scandir64(const char *path, struct dirent64 ***list,
                        int (*filter)(const struct dirent64 *),
                        int (*compare)(const struct dirent64 **, const struct dirent64 **)) {
  if (auto *api = core_for(path)) return scan_ours(api, path, list, filter, compare);
  return NEXT(scandir64)(path, list, filter, compare);
}
