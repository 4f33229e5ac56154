// The memory behind a GPU: a sparse file in RAM, of which pages exist only once touched. Host and
// GPU see the same pages: the host maps the file itself (mmap of the render node at an offset), the
// GPU uses `at()`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace fade::sim {

class BackingStore {
public:
  // `capacity` bytes of addressable space; only what is touched costs memory.
  BackingStore(const char *name, uint64_t capacity);
  ~BackingStore();
  BackingStore(const BackingStore &) = delete;
  BackingStore &operator=(const BackingStore &) = delete;

  bool ok() const { return base_ != nullptr; }
  int fd() const { return fd_; }
  std::byte *at(uint64_t offset) const { return base_ + offset; }

  // Offset of a free, zeroed range (page granular). Not thread-safe, like release.
  std::optional<uint64_t> take(uint64_t size);
  // Gives the range and its pages back.
  void release(uint64_t offset, uint64_t size);

  static uint64_t round_up(uint64_t size);

private:
  int fd_ = -1;
  std::byte *base_ = nullptr;
  uint64_t capacity_ = 0;
  std::map<uint64_t, uint64_t> holes_; // free ranges: offset -> size, never adjacent
};

} // namespace fade::sim
