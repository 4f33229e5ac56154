#include "kfd/interposer.h"

#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstring>
#include <pthread.h>
#include <unistd.h>

namespace fade::sim::interposer {
namespace {

std::atomic<const kfd::CoreApi *> loaded{nullptr};
std::atomic<bool> failed{false};
pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
// While this thread loads the core, files that the loader opens are the system's.
thread_local bool inside __attribute__((tls_model("initial-exec"))) = false;

void say(const char *text, const char *detail) {
  char line[PATH_MAX + 256];
  int n =
      std::snprintf(line, sizeof line, "fadegpu: %s: %s; this process sees no GPU\n", text, detail);
  if (n > 0 && write(STDERR_FILENO, line, static_cast<size_t>(n)) < 0) { /* nobody to tell */
  }
}

// The file that is mapped at an address. The loader knows only what it was told, which may be
// relative to a folder that the program has left since, or a link.
bool mapped_file(uintptr_t address, char (&path)[PATH_MAX]) {
  FILE *maps = std::fopen("/proc/self/maps", "re");
  if (!maps) return false;
  char line[PATH_MAX + 128];
  bool found = false;
  while (!found && std::fgets(line, sizeof line, maps)) {
    uintptr_t start, end;
    int at = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &start, &end, &at) != 2)
      continue;
    found = address >= start && address < end && line[at] == '/';
    if (found)
      std::snprintf(path, sizeof path, "%.*s", static_cast<int>(std::strcspn(line + at, "\n")),
                    line + at);
  }
  std::fclose(maps);
  return found;
}

// Whether a file lies in the folder of this library or below it.
bool is_neighbour(const char *file) {
  char self[PATH_MAX];
  if (!mapped_file(reinterpret_cast<uintptr_t>(&is_neighbour), self)) return false;
  const char *slash = std::strrchr(self, '/');
  return std::strncmp(file, self, static_cast<size_t>(slash - self) + 1) == 0;
}

// The library of that name in the folder of this one.
void *open_beside(const char *name) {
  char path[PATH_MAX];
  if (!mapped_file(reinterpret_cast<uintptr_t>(&open_beside), path)) return nullptr;
  char *end = std::strrchr(path, '/') + 1;
  const size_t room = sizeof path - static_cast<size_t>(end - path);
  if (std::snprintf(end, room, "%s", name) >= static_cast<int>(room)) return nullptr;
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

const kfd::CoreApi *load() {
  // The loader looks beside this library first (DT_RPATH), in glibc-hwcaps/ for one compiled for
  // this processor, and then in other places. Where a sanitizer or a profiler stands before dlopen,
  // the loader looks beside that instead.
  const char *name = "libfadegpu-core.so";
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) library = open_beside(name);
  if (!library) {
    say("cannot load the device", dlerror());
    return nullptr;
  }
  auto entry = reinterpret_cast<kfd::CoreEntry>(dlsym(library, kfd::core_entry_name));
  char path[PATH_MAX];
  if (!entry || !mapped_file(reinterpret_cast<uintptr_t>(entry), path)) {
    say(name, "is not the device of the software GPU");
    return nullptr;
  }
  if (!is_neighbour(path)) {
    say("cannot load the device: libfadegpu-core.so is not beside libfadegpu.so, only", path);
    return nullptr;
  }
  const kfd::CoreApi *api = entry();
  if (!api || api->version != kfd::core_api_version) {
    say(path, "is of another version than libfadegpu.so");
    return nullptr;
  }
  return api;
}

const kfd::CoreApi *load_once() {
  pthread_mutex_lock(&loading);
  if (!loaded && !failed) {
    int saved = errno;
    inside = true;
    const kfd::CoreApi *api = load();
    inside = false;
    errno = saved;
    if (api)
      loaded.store(api, std::memory_order_release);
    else
      failed = true;
  }
  pthread_mutex_unlock(&loading);
  return loaded;
}

bool starts_with(const char *path, const char *prefix) {
  return std::strncmp(path, prefix, std::strlen(prefix)) == 0;
}

} // namespace

const kfd::CoreApi *core() { return loaded.load(std::memory_order_acquire); }

const kfd::CoreApi *core_for(const char *path) {
  // Nearly all calls end here: only /dev/... and /sys/... can be meant.
  if (!path || path[0] != '/' || !(starts_with(path, "/dev/") || starts_with(path, "/sys/")))
    return nullptr;
  if (inside) return nullptr;
  const kfd::CoreApi *api = core();
  if (!api && !failed) {
    // Only compute programs look at these; graphics programs find the real render nodes.
    bool compute = starts_with(path, "/dev/kfd") || starts_with(path, "/sys/devices/virtual/kfd") ||
                   starts_with(path, "/sys/class/kfd") || starts_with(path, "/sys/module/amdgpu");
    if (compute) api = load_once();
  }
  return api && api->owns(path) ? api : nullptr;
}

int fail(int negative_errno) {
  if (negative_errno >= 0) return negative_errno;
  errno = -negative_errno;
  return -1;
}

} // namespace fade::sim::interposer

// For tools in the same process, who know it by name: where the latest kernel that was stopped by a
// fault or an error was; 0 if none was.
FADE_HOOK uint64_t fadegpu_last_pc() {
  const auto *api = fade::sim::interposer::core();
  return api ? api->last_pc() : 0;
}
// The same: f is called after each dispatch, with its completion signal and the instructions that
// its waves, and their active lanes, have executed. One for each process.
FADE_HOOK void fadegpu_on_dispatch(void (*f)(uint64_t signal, uint64_t waves, uint64_t lanes)) {
  if (const auto *api = fade::sim::interposer::core()) api->on_dispatch(f);
}
