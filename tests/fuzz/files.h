// Inputs of several files: the parts of what the fuzzer gives, in a folder of this process.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace fade::fuzz {

/// Up to a zero byte, or all that is left.
inline std::string_view next(std::string_view &rest) {
  const auto end = std::min(rest.find('\0'), rest.size());
  const auto part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

inline const std::string &folder() {
  static const std::string path = [] {
    std::string name = (std::filesystem::temp_directory_path() / "fade-fuzz-XXXXXX").string();
    if (!mkdtemp(name.data())) std::abort();
    return name;
  }();
  return path;
}

/// `name`: in the folder.
inline void put(const std::string &name, std::string_view bytes) {
  std::ofstream(folder() + "/" + name, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

} // namespace fade::fuzz
