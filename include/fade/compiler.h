// Which compiler a pass plugin may be loaded into. A plugin is C++ code inside of the compiler's
// own LLVM: it fits if it was built against the headers of exactly that LLVM. A compiler says which
// one it has in the first line of --version; a plugin keeps the line of the compiler it was built
// for.
//
//   Debian clang version 19.1.7 (3~deb12u1)
//   AMD clang version 22.0.0git (https://github.com/RadeonOpenCompute/llvm-project roc-7.2.1 …)
#pragma once

#include <array>
#include <optional>
#include <string_view>

// The section of a plugin's file that has the line.
#define FADE_COMPILER_SECTION ".fade.compiler"

namespace fade {

struct ClangVersion {
  std::array<unsigned, 3> number{}; // major, minor, patch
  // A release of LLVM itself: all that have the same major and minor number have the same C++
  // interface, whoever compiled them. Snapshots and forks are like nothing else.
  bool is_release = false;
};

// Nothing if the line is not that of a clang.
inline std::optional<ClangVersion> clangVersion(std::string_view line) {
  constexpr std::string_view mark = "clang version ";
  const auto at = line.find(mark);
  if (at == line.npos) return std::nullopt;
  const std::string_view vendor = line.substr(0, at);
  std::string_view rest = line.substr(at + mark.size());
  if (rest.empty() || rest[0] < '0' || rest[0] > '9') return std::nullopt;
  ClangVersion version;
  for (unsigned &number : version.number) {
    while (!rest.empty() && rest[0] >= '0' && rest[0] <= '9' && number < 1000) {
      number = number * 10 + static_cast<unsigned>(rest[0] - '0');
      rest.remove_prefix(1);
    }
    if (rest.empty() || rest[0] != '.') break;
    rest.remove_prefix(1);
  }
  const bool is_of_llvm = vendor.empty() || vendor == "Debian " || vendor == "Ubuntu ";
  const bool has_suffix = !rest.empty() && rest[0] != ' '; // 22.0.0git, 22.1.0-rc2
  // Since 18, what is not released yet has 0 as its minor number. Before that, packages of
  // snapshots have a date.
  const auto &[major, minor, patch] = version.number;
  const bool is_snapshot =
      major >= 18 ? minor == 0 : patch == 0 && rest.find("(++") != std::string_view::npos;
  version.is_release = is_of_llvm && !has_suffix && !is_snapshot;
  return version;
}

// Whether a plugin that was built for one compiler may be loaded into another.
inline bool pluginFits(std::string_view built_for, std::string_view compiler) {
  if (built_for == compiler) return true;
  const auto own = clangVersion(built_for), other = clangVersion(compiler);
  return own && other && own->is_release && other->is_release &&
         own->number[0] == other->number[0] && own->number[1] == other->number[1];
}

} // namespace fade
