// A file in a folder that anybody may have made: a file and nothing else, and not a link to one
// elsewhere.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace fade::capture {

class FolderFile {
public:
  FolderFile() = default;
  FolderFile(FolderFile &&other) noexcept { *this = std::move(other); }
  FolderFile &operator=(FolderFile &&other) noexcept;
  ~FolderFile();

  /// `name` may have a folder in it. Neither that nor the file is a symbolic link, which might lead
  /// out of `folder`.
  static Result<FolderFile> open(const std::string &folder, const std::string &name);
  /// All of it, unless it is larger than that.
  static Result<std::string> readAll(const std::string &folder, const std::string &name,
                                     uint64_t most);

  uint64_t size() const { return size_; }
  /// Fills `to` from there on.
  Status read(std::span<uint8_t> to, uint64_t offset) const;

private:
  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

} // namespace fade::capture
