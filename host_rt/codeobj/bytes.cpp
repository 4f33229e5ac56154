#include "codeobj/bytes.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fade::codeobj {

std::optional<std::string_view> cString(ByteView bytes, uint64_t offset) {
  if (offset >= bytes.size()) return std::nullopt;
  const auto *start = reinterpret_cast<const char *>(bytes.data() + offset);
  const void *end =
      std::memchr(start, 0, std::min<std::size_t>(bytes.size() - offset, kLongestString));
  if (end == nullptr) return std::nullopt;
  return std::string_view(start, static_cast<const char *>(end) - start);
}

Result<Blob> Blob::mapFile(const std::string &path) {
  auto failed = [&](const char *action) {
    return Error{path, "", 0, fmt::format("cannot {}: {}", action, std::strerror(errno))};
  };
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return failed("open");
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    Error error = failed("stat");
    ::close(fd);
    return error;
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    return Error{path, "", 0, "not a regular file"};
  }
  std::size_t size = static_cast<std::size_t>(info.st_size);
  if (size == 0) {
    ::close(fd);
    return Blob(nullptr, {}, path);
  }
  void *base = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (base == MAP_FAILED) {
    Error error = failed("map");
    ::close(fd);
    return error;
  }
  ::close(fd);
  std::shared_ptr<const void> owner(
      base, [size](const void *p) { ::munmap(const_cast<void *>(p), size); });
  return Blob(std::move(owner), {static_cast<const uint8_t *>(base), size}, path, true);
}

Blob Blob::borrow(ByteView bytes, std::string name) {
  return Blob(nullptr, bytes, std::move(name));
}

Blob Blob::copy(ByteView bytes, std::string name) {
  return own(std::vector<uint8_t>(bytes.begin(), bytes.end()), std::move(name));
}

Blob Blob::own(std::vector<uint8_t> bytes, std::string name) {
  auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  ByteView view(*owner);
  return Blob(std::move(owner), view, std::move(name));
}

Blob Blob::slice(ByteView view, std::string name) const {
  return Blob(owner_, view, std::move(name), mapped_);
}

void Blob::releasePages() const {
  if (!mapped_) return;
  auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto begin = reinterpret_cast<std::uintptr_t>(bytes_.data());
  std::uintptr_t first = (begin + page - 1) / page * page;
  std::uintptr_t last = (begin + bytes_.size()) / page * page;
  if (first < last) ::madvise(reinterpret_cast<void *>(first), last - first, MADV_DONTNEED);
}

} // namespace fade::codeobj
