// Entry of libfadegpu-core.so: one driver per process, made when it is first needed.
#include "base/trace.h"
#include "kfd/core_api.h"
#include "kfd/driver.h"
#include "kfd/runtime_check.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <pthread.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fade::sim::kfd {
namespace {

// Never destroyed: threads of the device may still run while the process exits.
std::atomic<Driver *> the_driver{nullptr};
pthread_mutex_t creation = PTHREAD_MUTEX_INITIALIZER;
// While this thread makes the driver, files that it opens are the system's.
thread_local bool creating = false;

// The processor, as -march names it; the oldest there is when there are no variants.
constexpr const char *compiled_for =
#ifdef FADE_GPU_COMPILED_FOR
    FADE_GPU_COMPILED_FOR;
#elif defined(__x86_64__)
    "x86-64";
#elif defined(__aarch64__)
    "armv8-a";
#else
    "any processor";
#endif

// A forked child has none of the device's threads, and locks in the state in which other threads
// left them. So it leaves the parent's device alone and gets one of its own if it opens the GPU
// itself.
void forget_in_child() {
  the_driver = nullptr;
  creation = PTHREAD_MUTEX_INITIALIZER;
}

Driver *make_driver() {
  const char *names = std::getenv("FADE_GPU"), *stats = std::getenv("FADE_GPU_STATS");
  std::string error;
  auto cards = cards_from(names && *names ? names : "gfx90a", error);
  if (cards.empty())
    say("%s", error.c_str());
  else if (error = hide_unknown_to_runtime(cards); !error.empty())
    say("%s", error.c_str());
  if (trace().ioctls) say("device compiled for %s", compiled_for);
  std::string unknown;
  const MachineForm form = machine_from(std::getenv("FADE_GPU_MACHINE"), unknown);
  if (!unknown.empty()) say("%s", unknown.c_str());
  HostMachine host = this_machine();
  if (form.two_sockets) host.sockets = 2;
  return new Driver(in_machine(cards, form, host.memory_bytes), host, stats ? stats : "");
}

Driver &driver() {
  if (Driver *d = the_driver.load(std::memory_order_acquire)) return *d;
  pthread_mutex_lock(&creation);
  Driver *d = the_driver.load(std::memory_order_relaxed);
  if (!d) {
    static std::once_flag once;
    std::call_once(once, [] { pthread_atfork(nullptr, nullptr, forget_in_child); });
    creating = true;
    try {
      d = make_driver();
    } catch (...) {
      creating = false;
      pthread_mutex_unlock(&creation);
      throw;
    }
    creating = false;
    the_driver.store(d, std::memory_order_release);
  }
  pthread_mutex_unlock(&creation);
  return *d;
}

bool has_prefix(std::string_view path, std::string_view prefix) {
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

// The KFD's places are ours alone. Render nodes may lie beside those of a real card; that somebody
// opens a file in /dev or /sys is no reason to make a device.
bool owns(const char *path) {
  if (creating) return false;
  for (const char *prefix :
       {"/dev/kfd", "/sys/devices/virtual/kfd", "/sys/class/kfd", "/sys/module/amdgpu"})
    if (has_prefix(path, prefix)) return true;
  // Of the host's own folders only the socket that it does not have.
  if (has_prefix(path, "/sys/devices/system") && !has_prefix(path, second_socket)) return false;
  Driver *d = the_driver.load(std::memory_order_acquire);
  return d && d->files().find(path);
}

void describe_node(const VirtualNode &node, PathInfo &info) {
  using Type = VirtualNode::Type;
  info = {};
  info.inode = node.inode;
  info.device_number = node.device_number;
  switch (node.type) {
  case Type::directory: info.mode = S_IFDIR | 0755; break;
  case Type::file:
    info.mode = S_IFREG | 0444, info.size = 4096;
    break; // as sysfs: the size says nothing
  case Type::device: info.mode = S_IFCHR | 0666; break;
  case Type::link: info.mode = S_IFLNK | 0777, info.size = node.text.size(); break;
  }
}

int open_text(const std::string &text, int flags) {
  if ((flags & O_ACCMODE) != O_RDONLY) return -EACCES;
  int fd = memfd_create("sysfs", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
  if (fd < 0) return -errno;
  if (pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size())) return fd;
  int error = errno;
  close(fd);
  return -error;
}

// The callers are C: what is thrown below, for want of memory or threads, is an error code there.
template <class F> int contained(F body) {
  try {
    return body();
  } catch (const std::exception &) {
    return -ENOMEM;
  }
}

int open_path(const char *path, int flags) {
  const VirtualNode *node = driver().files().find(path);
  if (!node) return -ENOENT;
  switch (node->type) {
  case VirtualNode::Type::file:
    return flags & O_DIRECTORY ? -ENOTDIR : open_text(node->text, flags);
  case VirtualNode::Type::device:
    return flags & O_DIRECTORY ? -ENOTDIR : driver().open_device(*node);
  default: return -EISDIR; // listed through entry()
  }
}

int stat_path(const char *path, bool follow, PathInfo *info) {
  const VirtualNode *node = driver().files().find(path, follow);
  if (!node) return -ENOENT;
  describe_node(*node, *info);
  return 0;
}

int read_link(const char *path, char *to, size_t size) {
  const VirtualNode *node = driver().files().find(path, false);
  if (!node) return -ENOENT;
  if (node->type != VirtualNode::Type::link) return -EINVAL;
  size_t n = std::min(size, node->text.size());
  std::memcpy(to, node->text.data(), n);
  return static_cast<int>(n);
}

int real_path(const char *path, char *to, size_t size) {
  std::string resolved = driver().files().resolve(path);
  if (resolved.empty()) return -ENOENT;
  if (resolved.size() >= size) return -ENAMETOOLONG;
  std::memcpy(to, resolved.c_str(), resolved.size() + 1);
  return 0;
}

int entry(const char *path, size_t index, char *name, size_t size, PathInfo *info) {
  const VirtualFiles &files = driver().files();
  const VirtualNode *node = files.find(path);
  if (!node) return -ENOENT;
  if (node->type != VirtualNode::Type::directory) return -ENOTDIR;
  auto names = files.list(path);
  if (index >= names.size()) return 0;
  if (names[index].size() >= size) return -ENAMETOOLONG;
  std::memcpy(name, names[index].c_str(), names[index].size() + 1);
  describe_node(*files.find(std::string(path) + "/" + names[index], false), *info);
  return 1;
}

// Device 1 is /dev/kfd, then the render nodes.
Driver::Node node_of(int device) {
  return {.is_kfd = device == 1, .gpu = device == 1 ? 0 : static_cast<size_t>(device) - 2};
}

int device_of(uint64_t file_system, uint64_t inode) {
  Driver *d = the_driver.load(std::memory_order_acquire);
  if (!d) return 0;
  auto node = d->node_of(file_system, inode);
  if (!node) return 0;
  return node->is_kfd ? 1 : static_cast<int>(node->gpu) + 2;
}

uint64_t device_number(int device) { return driver().device_number(node_of(device)); }

int do_ioctl(int device, unsigned long request, void *argument) {
  return driver().ioctl(node_of(device), request, argument);
}

void unmapped(void *address, size_t size) {
  if (Driver *d = the_driver.load(std::memory_order_acquire))
    d->host_unmapped(reinterpret_cast<uint64_t>(address), size);
}

bool is_vram(const void *address) {
  Driver *d = the_driver.load(std::memory_order_acquire);
  return d && d->is_vram(reinterpret_cast<uint64_t>(address));
}

const CoreApi api = {
    core_api_version,
    owns,
    [](const char *path, int flags) { return contained([&] { return open_path(path, flags); }); },
    [](const char *path, bool follow, PathInfo *info) {
      return contained([&] { return stat_path(path, follow, info); });
    },
    [](const char *path, char *to, size_t size) {
      return contained([&] { return read_link(path, to, size); });
    },
    [](const char *path, char *to, size_t size) {
      return contained([&] { return real_path(path, to, size); });
    },
    [](const char *path, size_t index, char *name, size_t size, PathInfo *info) {
      return contained([&] { return entry(path, index, name, size, info); });
    },
    device_of,
    device_number,
    [](int device, unsigned long request, void *argument) {
      return contained([&] { return do_ioctl(device, request, argument); });
    },
    unmapped,
    is_vram,
    last_stop,
    tell_executed_to,
};

} // namespace
} // namespace fade::sim::kfd

// Objects with static storage in this library are never destroyed. The runtime still dispatches
// from its own exit handlers, which come later than ours would, and device threads run until the
// process is gone.
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void *), void *,
                                                                  void *) {
  return 0;
}

extern "C" __attribute__((visibility("default"))) const fade::sim::kfd::CoreApi *
fadegpu_core_api() {
  return &fade::sim::kfd::api;
}
