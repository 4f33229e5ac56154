// A file that FADE writes to inside of somebody else's process. The process may close our
// descriptor and get the same number for a file of its own; what is written here never ends there.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>

namespace fade {

class OwnFile {
public:
  OwnFile() = default;
  OwnFile(OwnFile &&other) noexcept { *this = std::move(other); }
  OwnFile &operator=(OwnFile &&other) noexcept;
  ~OwnFile() { close(); }

  /// Creates it if need be; it is written at its end. On failure is() is false and errno set.
  static OwnFile open(const std::string &path, bool append);
  /// The same for a file that several processes may name: what was there goes, unless another
  /// process is writing to it.
  static OwnFile openShared(const std::string &path);
  /// For a file that belongs to one process: one that holds something is left as it is, and
  /// path.PID is taken instead, or path.PID.2 and so on. `first` are its first bytes.
  static OwnFile openAlone(const std::string &path, std::string_view first);
  /// A copy of a descriptor of the process.
  static OwnFile duplicate(int fd);

  bool is() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  const std::string &path() const { return path_; }
  /// All of it: 0, or an errno.
  int write(std::string_view bytes) noexcept;
  /// 0, or an errno.
  int close() noexcept;

private:
  bool isStillOurs() const noexcept;
  bool isRegular() const noexcept;
  bool remember() noexcept;

  int fd_ = -1;
  std::string path_; ///< empty: a duplicate
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

} // namespace fade
