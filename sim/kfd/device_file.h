// The file behind /dev/kfd: doorbells and the register page of every GPU are ranges of it, so that
// an ordinary mmap of the descriptor gives the host what it asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fade::sim::kfd {

class DeviceFile {
public:
  static constexpr uint64_t doorbell_bytes = 8192, doorbells_per_gpu = doorbell_bytes / 8;
  static constexpr uint64_t event_page_offset = 0x10000;

  explicit DeviceFile(size_t gpus);
  ~DeviceFile();
  DeviceFile(const DeviceFile &) = delete;
  DeviceFile &operator=(const DeviceFile &) = delete;

  bool ok() const { return ok_; }
  int fd() const { return fd_; }

  // A multiple of 4 GiB: the oldest supported runtime keeps only the low 32 bits of the first
  // queue's offset.
  static uint64_t doorbell_offset(size_t gpu) { return uint64_t{1} << 40 | uint64_t{gpu} << 32; }
  static uint64_t register_offset(size_t gpu) { return 0x100000 + uint64_t{gpu} * 0x10000; }
  volatile uint64_t *doorbell(size_t gpu, uint32_t slot) const { return doorbells_[gpu] + slot; }
  std::byte *register_page(size_t gpu) const { return registers_[gpu]; }
  std::byte *doorbell_page(size_t gpu) const {
    return reinterpret_cast<std::byte *>(doorbells_[gpu]);
  }

private:
  int fd_ = -1;
  bool ok_ = false;
  std::vector<uint64_t *> doorbells_;
  std::vector<std::byte *> registers_;
};

} // namespace fade::sim::kfd
