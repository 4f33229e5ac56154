// Between the preloaded interposer (libfadegpu.so, only libc hooks) and the device
// (libfadegpu-core.so, loaded when a program first looks for a GPU). Functions return -errno on
// failure unless told otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fade::sim::kfd {

struct PathInfo {
  uint32_t mode; // as st_mode
  uint64_t device_number, inode, size;
};

struct CoreApi {
  uint32_t version;
  // Whether the core answers for this path, be it by "no such file", or the system does.
  bool (*owns)(const char *path);
  int (*open)(const char *path, int flags); // a descriptor
  int (*stat)(const char *path, bool follow, PathInfo *info);
  int (*readlink)(const char *path, char *to, size_t size); // bytes written
  int (*realpath)(const char *path, char *to, size_t size);
  // Entry `index` of a directory: 1, or 0 after the last.
  int (*entry)(const char *path, size_t index, char *name, size_t size, PathInfo *info);
  // Descriptors are recognised by the file behind them. 0 when it is none of ours.
  int (*device_of)(uint64_t file_system, uint64_t inode);
  uint64_t (*device_number)(int device);
  int (*ioctl)(int device, unsigned long request, void *argument);
  void (*unmapped)(void *address, size_t size);
  // Whether the host has memory of a card mapped at that address.
  bool (*is_vram)(const void *address);
  // Where a kernel was that was stopped, the latest; 0 if none was.
  uint64_t (*last_pc)();
  // Calls f after each dispatch, before anybody is told of its end: with its completion signal, and
  // the instructions that its waves, and that their active lanes, have executed.
  void (*on_dispatch)(void (*f)(uint64_t signal, uint64_t waves, uint64_t lanes));
};

constexpr uint32_t core_api_version = 4;
constexpr const char *core_entry_name = "fadegpu_core_api";
using CoreEntry = const CoreApi *(*)();

} // namespace fade::sim::kfd
