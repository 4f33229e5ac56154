#include "base/temporary.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace fade::cli {

namespace fs = std::filesystem;

static std::string patternOf(const std::string &prefix) {
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  return ((error ? fs::path("/tmp") : folder) / (prefix + "-XXXXXX")).string();
}

TemporaryFolder::TemporaryFolder(const std::string &prefix)
    : path_(patternOf(prefix)), is_there_(mkdtemp(path_.data()) != nullptr) {}

void TemporaryFolder::remove() {
  std::error_code ignored;
  if (is_there_) fs::remove_all(path_, ignored);
  is_there_ = false;
}

TemporaryFile::TemporaryFile() : path_(patternOf("fadeprobe")) {
  const int fd = mkstemp(path_.data());
  error_ = fd < 0 ? errno : 0;
  if (fd >= 0) close(fd);
}

TemporaryFile::~TemporaryFile() {
  if (error_ == 0) unlink(path_.c_str());
}

std::string contentsOf(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

} // namespace fade::cli
