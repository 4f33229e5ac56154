// Folders and files for what programs that are run write. They go with the object.
#pragma once

#include <string>

namespace fade::cli {

/// Below TMPDIR, or /tmp; nobody else can look into it.
class TemporaryFolder {
public:
  /// Its name begins with `prefix`.
  explicit TemporaryFolder(const std::string &prefix = "fadeprobe");
  ~TemporaryFolder() { remove(); }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  bool isThere() const { return is_there_; }
  const std::string &path() const { return path_; }
  /// It outlives the object.
  void keep() { is_there_ = false; }
  void remove();

private:
  std::string path_;
  bool is_there_ = false;
};

class TemporaryFile {
public:
  TemporaryFile();
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  const std::string &path() const { return path_; }
  /// An errno if it cannot be made, or 0.
  int error() const { return error_; }

private:
  std::string path_;
  int error_ = 0;
};

/// Of a file; empty if it cannot be read.
std::string contentsOf(const std::string &path);

} // namespace fade::cli
