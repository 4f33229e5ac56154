#include "capture/folder_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fade::capture {

FolderFile &FolderFile::operator=(FolderFile &&other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  return *this;
}

FolderFile::~FolderFile() {
  if (fd_ >= 0) close(fd_);
}

Result<FolderFile> FolderFile::open(const std::string &folder, const std::string &name) {
  FolderFile file;
  const std::string path = folder + "/" + name;
  file.path_ = path;
  struct stat status {};
  const auto failed = [](const std::string &what) {
    return Error{what, "", 0, errno == ELOOP ? "it is a symbolic link" : std::strerror(errno)};
  };
  // Step by step, each in the folder that was opened before, so that nobody can exchange one for a
  // link meanwhile. O_NOFOLLOW: nothing outside of the folder.
  FolderFile in;
  in.fd_ = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (in.fd_ < 0) return failed(path);
  std::size_t begin = 0;
  for (auto slash = name.find('/'); slash != name.npos; slash = name.find('/', begin)) {
    FolderFile inner;
    inner.fd_ =
        openat(in.fd_, name.substr(begin, slash - begin).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (inner.fd_ < 0) return failed(folder + "/" + name.substr(0, slash));
    if (fstat(inner.fd_, &status) == 0 && S_ISLNK(status.st_mode))
      return Error{folder + "/" + name.substr(0, slash), "", 0, "it is a symbolic link"};
    in = std::move(inner);
    begin = slash + 1;
  }
  // O_NONBLOCK: somebody may have put a pipe there.
  file.fd_ =
      openat(in.fd_, name.substr(begin).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file.fd_ < 0) return failed(path);
  if (fstat(file.fd_, &status) != 0 || !S_ISREG(status.st_mode))
    return Error{path, "", 0, "not a file"};
  file.size_ = static_cast<uint64_t>(status.st_size);
  return file;
}

Status FolderFile::read(std::span<uint8_t> to, uint64_t offset) const {
  while (!to.empty()) {
    const ssize_t n = pread(fd_, to.data(), to.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      return Error{path_, "", offset,
                   n < 0 ? std::strerror(errno) : "it became shorter while it was read"};
    to = to.subspan(static_cast<std::size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return Done();
}

Result<std::string> FolderFile::readAll(const std::string &folder, const std::string &name,
                                        uint64_t most) {
  const auto file = open(folder, name);
  if (!file) return file.error();
  if (file->size() > most)
    return Error{file->path_, "", 0,
                 fmt::format("{} bytes are more than the {} that it may have", file->size(), most)};
  std::string bytes(file->size(), '\0');
  if (Status read = file->read({reinterpret_cast<uint8_t *>(bytes.data()), bytes.size()}, 0); !read)
    return std::move(read).error();
  return bytes;
}

} // namespace fade::capture
