// Buffers: where their bytes are, which GPUs have them mapped, and how much of each memory is used.
#pragma once

#include "device/gpu.h"
#include "kfd/cards.h"
#include "kfd/device_file.h"
#include "kfd/kfd_abi.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fade::sim::kfd {

// What another process needs to know of a buffer.
struct SharedBuffer {
  static constexpr uint32_t fd_bits = 10, pid_bits = 22;
  static constexpr uint64_t page = 4096;
  std::array<uint32_t, 4> words{}; // process and descriptor, flags, place and size in pages

  uint32_t pid() const { return words[0] & ((1u << pid_bits) - 1); }
  uint32_t fd() const { return words[0] >> pid_bits; }
  uint32_t flags() const { return words[1]; }
  uint64_t offset() const { return words[2] * page; }
  uint64_t size() const { return words[3] * page; }
};

// The same as the name of a descriptor, which goes with it to whoever receives it.
struct NamedBuffer {
  SharedBuffer buffer;
  uint32_t gpu = 0; // whose memory it is

  std::string name() const;
  static std::optional<NamedBuffer> of(int fd); // none: it is no such descriptor
};

// Not thread-safe: the driver's lock is held. Failing functions return an errno, 0 means success.
class Allocations {
public:
  struct Buffer {
    size_t gpu = 0;   // whose memory it is, or through which it was made
    size_t owner = 0; // the same, of the first of its handles
    uint64_t va = 0, size = 0;
    uint32_t flags = 0;
    std::byte *host = nullptr;
    uint64_t offset = 0;   // in the GPU's file
    bool stored = false;   // takes part of the GPU's backing store
    bool borrowed = false; // another buffer's bytes
    bool imported = false; // another process's, at `va` for the host, too, if it has one
    int file = -1;         // of an imported one: where its bytes are
    std::set<size_t> mapped;
    std::string metadata; // what a process has noted of it for others
  };

  Allocations(std::vector<std::unique_ptr<Gpu>> &gpus, const std::vector<Card> &cards,
              const DeviceFile &device_file, uint64_t host_bytes);

  // Fills in handle and mmap_offset.
  int allocate(size_t gpu, kfd_ioctl_alloc_memory_of_gpu_args &args);
  int release(uint64_t handle);
  int map(uint64_t handle, size_t gpu);
  int unmap(uint64_t handle, size_t gpu);
  // A new handle for the same bytes, at another address.
  int alias(uint64_t handle, size_t gpu, uint64_t va, uint64_t &new_handle);

  // Of a buffer in the GPU's memory, or in host memory that the GPU's driver has made.
  std::optional<SharedBuffer> shared(const Buffer &buffer) const;
  // The bytes of another process's buffer, at an address that the caller has reserved; at 0, GPUs
  // get parts of it later (map_part).
  int import(size_t gpu, uint64_t va, const SharedBuffer &from, uint64_t &new_handle);

  // Virtual memory management: part of a buffer at an address that the caller chose.
  int map_part(uint64_t handle, size_t gpu, uint64_t va, uint64_t offset, uint64_t size,
               bool writable);

  const Buffer *find(uint64_t handle) const;
  bool note(uint64_t handle, std::string metadata);
  uint64_t vram_free(size_t gpu) const;
  uint64_t vram_used(size_t gpu) const { return vram_used_[gpu]; }
  uint64_t host_used() const { return host_used_; }

private:
  int place(Buffer &buffer, kfd_ioctl_alloc_memory_of_gpu_args &args);
  static void log(const Buffer &buffer);
  Caching caching(const Buffer &buffer, size_t gpu) const;
  void unmap_everywhere(Buffer &buffer);
  bool takes_host_memory(const Buffer &buffer) const; // all memory of an APU is the host's

  std::vector<std::unique_ptr<Gpu>> &gpus_;
  const std::vector<Card> &cards_;
  const DeviceFile &device_file_;
  uint64_t host_bytes_, host_used_ = 0;
  std::vector<uint64_t> vram_used_;
  std::map<uint64_t, Buffer> buffers_;
  uint64_t next_handle_ = 1;
};

// Whether the host has all of the range mapped, so that a GPU thread may touch it.
bool host_has(uint64_t address, uint64_t size);

} // namespace fade::sim::kfd
