#include "codeobj/bytes.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace fade::codeobj {

std::optional<std::string_view> cString(ByteView bytes, uint64_t offset) {
  if (offset >= bytes.size()) return std::nullopt;
  const auto *start = reinterpret_cast<const char *>(bytes.data() + offset);
  const void *end =
      std::memchr(start, 0, std::min<std::size_t>(bytes.size() - offset, kLongestString));
  if (end == nullptr) return std::nullopt;
  return std::string_view(start, static_cast<const char *>(end) - start);
}

namespace {

Error failed(const std::string &path, const char *action) {
  return {path, "", 0, fmt::format("cannot {}: {}", action, std::strerror(errno))};
}

/// A regular file that is open for reading, and how long it is.
struct OpenFile {
  int fd = -1;
  std::size_t size = 0;

  explicit OpenFile(int descriptor) : fd(descriptor) {}
  OpenFile(OpenFile &&other) noexcept : fd(std::exchange(other.fd, -1)), size(other.size) {}
  OpenFile &operator=(OpenFile &&) = delete;
  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }
};

Result<OpenFile> openFile(const std::string &path) {
  OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd < 0) return failed(path, "open");
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) return failed(path, "stat");
  if (!S_ISREG(info.st_mode)) return Error{path, "", 0, "not a regular file"};
  file.size = static_cast<std::size_t>(info.st_size);
  return file;
}

} // namespace

Result<Blob> Blob::mapFile(const std::string &path) {
  const auto file = openFile(path);
  if (!file) return file.error();
  const std::size_t size = file->size;
  if (size == 0) return Blob(nullptr, {}, path);
  void *base = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file->fd, 0);
  if (base == MAP_FAILED) return failed(path, "map");
  std::shared_ptr<const void> owner(
      base, [size](const void *p) { ::munmap(const_cast<void *>(p), size); });
  return Blob(std::move(owner), {static_cast<const uint8_t *>(base), size}, path, true);
}

Result<Blob> Blob::readFile(const std::string &path) {
  const auto file = openFile(path);
  if (!file) return file.error();
  std::vector<uint8_t> bytes(file->size);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        ::pread(file->fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(path, "read");
    if (got == 0) return Error{path, "", done, "became shorter while it was read"};
    done += static_cast<std::size_t>(got);
  }
  return own(std::move(bytes), path);
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
