// Who called: the host's stack, kept as addresses and put into words only when somebody asks.
#pragma once

#include "codeobj/host_lines.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fade {

struct HostStack {
  static constexpr std::size_t kMostFrames = 24;
  std::array<void *, kMostFrames> frames{};
  int count = 0;

  static HostStack here() noexcept;
};

struct HostFrame {
  std::string function; ///< demangled; empty if nothing knows it
  std::string library;  ///< or program: its file name
  uint64_t offset = 0;  ///< in the library
  std::string file;     ///< of the source, with debug information
  int line = 0;
};

/// Puts stacks into words, with the symbols and line tables that are in the files of this process.
/// Reads files, and asks no server.
class HostSymbols {
public:
  /// The innermost callers that are neither FADE nor the runtime below the application.
  std::vector<HostFrame> callers(const HostStack &stack, std::size_t most = 4) const;

private:
  mutable codeobj::HostLines lines_; ///< opens files as it goes
};

/// "main (app.cpp:12), start (libx.so)"; "unknown" if there are none.
std::string textOf(const std::vector<HostFrame> &frames);

} // namespace fade
