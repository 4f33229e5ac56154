#include "base/source_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 34> kSuffixes = {
    ".c",  ".cc",  ".cpp", ".cxx",  ".c++",  ".cu",    ".cuh", ".hip", ".h",
    ".hh", ".hpp", ".hxx", ".h++",  ".inc",  ".inl",   ".ipp", ".tpp", ".txx",
    ".cl", ".clh", ".py",  ".s",    ".asm",  ".f",     ".f90", ".f95", ".f03",
    ".rs", ".jl",  ".ll",  ".mlir", ".ttir", ".ttgir", ".glsl"};

bool hasName(const fs::path &path) {
  std::string suffix = path.extension().string();
  std::ranges::transform(suffix, suffix.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return std::ranges::find(kSuffixes, suffix) != kSuffixes.end();
}

bool isBelow(const fs::path &path, const std::vector<std::string> &roots) {
  if (roots.empty()) return true;
  return std::ranges::any_of(roots, [&](const std::string &root) {
    std::error_code error;
    const fs::path folder = fs::canonical(root, error);
    if (error) return false;
    const auto [end, ignored] =
        std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
    return end == folder.end();
  });
}

/// Without links; empty if it is no such file.
fs::path resolved(const std::string &path) {
  std::error_code error;
  if (!hasName(path)) return {};
  fs::path real = fs::canonical(path, error);
  return !error && hasName(real) && fs::is_regular_file(real, error) ? real : fs::path();
}

} // namespace

bool isSourceFile(const std::string &path, const std::vector<std::string> &roots) {
  const fs::path real = resolved(path);
  return !real.empty() && isBelow(real, roots);
}

bool isWithheld(const std::string &path, const std::vector<std::string> &roots) {
  const fs::path real = resolved(path);
  return !real.empty() && !isBelow(real, roots);
}

} // namespace fade::cli
