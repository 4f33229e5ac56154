// Lines of source files, when the files are there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace fade::handlers {

class SourceText {
public:
  /// As it is; empty if the line cannot be had.
  std::string whole(const std::string &file, uint32_t number) {
    const auto &lines = linesOf(file);
    return number == 0 || number > lines.size() ? "" : lines[number - 1];
  }
  /// Without leading blanks.
  std::string line(const std::string &file, uint32_t number) {
    const std::string text = whole(file, number);
    const auto start = text.find_first_not_of(" \t");
    return start == std::string::npos ? "" : text.substr(start);
  }

private:
  static constexpr std::size_t kLongest = 1024;
  static constexpr std::size_t kMostLines = 1 << 20;
  static constexpr std::uintmax_t kLargestFile = 64 << 20;

  /// The name comes with the code or the recording: it may be that of a pipe or a device.
  static bool isText(const std::string &file) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error)) return false;
    const auto size = std::filesystem::file_size(file, error);
    return !error && size <= kLargestFile;
  }

  const std::vector<std::string> &linesOf(const std::string &file) {
    const auto [at, is_new] = files_.try_emplace(file);
    if (is_new && isText(file)) {
      std::ifstream in(file);
      for (std::string text; at->second.size() < kMostLines && std::getline(in, text);) {
        if (!text.empty() && text.back() == '\r') text.pop_back();
        at->second.push_back(text.substr(0, kLongest));
      }
    }
    return at->second;
  }

  std::map<std::string, std::vector<std::string>> files_;
};

} // namespace fade::handlers
