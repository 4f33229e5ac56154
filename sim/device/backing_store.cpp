#include "device/backing_store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace fade::sim {

uint64_t BackingStore::round_up(uint64_t size) {
  static const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return (size + page - 1) & ~(page - 1);
}

BackingStore::BackingStore(const char *name, uint64_t capacity) : capacity_(round_up(capacity)) {
  fd_ = memfd_create(name, MFD_CLOEXEC);
  if (fd_ < 0 || ftruncate(fd_, static_cast<off_t>(capacity_)) != 0) return;
  void *p = mmap(nullptr, capacity_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_, 0);
  if (p == MAP_FAILED) return;
  // A core dump or a forked child has no use for terabytes of address space.
  madvise(p, capacity_, MADV_DONTDUMP);
  madvise(p, capacity_, MADV_DONTFORK);
  base_ = static_cast<std::byte *>(p);
  holes_[0] = capacity_;
}

BackingStore::~BackingStore() {
  if (base_) munmap(base_, capacity_);
  if (fd_ >= 0) close(fd_);
}

std::optional<uint64_t> BackingStore::take(uint64_t size) {
  size = round_up(size);
  if (size == 0) return std::nullopt;
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    auto [offset, length] = *hole;
    if (length < size) continue;
    holes_.erase(hole);
    if (length > size) holes_[offset + size] = length - size;
    return offset;
  }
  return std::nullopt;
}

void BackingStore::release(uint64_t offset, uint64_t size) {
  size = round_up(size);
  fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(size));
  auto hole = holes_.emplace(offset, size).first;
  if (auto next = std::next(hole); next != holes_.end() && offset + size == next->first) {
    hole->second += next->second;
    holes_.erase(next);
  }
  if (hole != holes_.begin()) {
    auto before = std::prev(hole);
    if (before->first + before->second == offset) {
      before->second += hole->second;
      holes_.erase(hole);
    }
  }
}

} // namespace fade::sim
