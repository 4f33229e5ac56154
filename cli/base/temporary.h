// A folder for what a program that is run writes, which goes with the object.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdlib.h>
#include <string>

namespace fade::cli {

struct WorkFolder {
  std::string path;
  bool is_there = false;

  WorkFolder() {
    std::error_code error;
    const std::filesystem::path where = std::filesystem::temp_directory_path(error);
    path = ((error ? std::filesystem::path("/tmp") : where) / "fadeprobe-XXXXXX").string();
    is_there = mkdtemp(path.data()) != nullptr;
  }
  WorkFolder(const WorkFolder &) = delete;
  WorkFolder &operator=(const WorkFolder &) = delete;
  ~WorkFolder() {
    std::error_code ignored;
    if (is_there) std::filesystem::remove_all(path, ignored);
  }
};

/// Empty if the file cannot be read.
inline std::string contentsOf(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

} // namespace fade::cli
