#include "kfd/device_file.h"

#include <sys/mman.h>
#include <unistd.h>

namespace fade::sim::kfd {
namespace {

constexpr uint64_t register_bytes = 0x10000; // a page on every host

void *map(int fd, uint64_t offset, uint64_t size) {
  void *p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
  return p == MAP_FAILED ? nullptr : p;
}

} // namespace

DeviceFile::DeviceFile(size_t gpus) {
  fd_ = memfd_create("kfd", MFD_CLOEXEC);
  if (fd_ < 0 || ftruncate(fd_, static_cast<off_t>(doorbell_offset(gpus))) != 0) return;
  ok_ = true;
  for (size_t i = 0; i < gpus; ++i) {
    doorbells_.push_back(static_cast<uint64_t *>(map(fd_, doorbell_offset(i), register_bytes)));
    registers_.push_back(static_cast<std::byte *>(map(fd_, register_offset(i), register_bytes)));
    ok_ = ok_ && doorbells_.back() && registers_.back();
  }
}

DeviceFile::~DeviceFile() {
  for (auto *p : doorbells_)
    if (p) munmap(p, register_bytes);
  for (auto *p : registers_)
    if (p) munmap(p, register_bytes);
  if (fd_ >= 0) close(fd_);
}

} // namespace fade::sim::kfd
