// What is said before a capture reads memory: all queues stand still meanwhile, and cards have
// hundreds of gigabytes.
#pragma once

#include <cstdint>
#include <string>

namespace fade {

struct CaptureEstimate {
  uint64_t memory = 0;         ///< bytes that the dispatch may touch
  uint64_t most = UINT64_MAX;  ///< that may be read
  uint64_t free = UINT64_MAX;  ///< on the disk
  bool only_reachable = false; ///< then `memory` is the most that it can be

  static constexpr uint64_t kWorthALine = uint64_t{1} << 30, kMuch = uint64_t{8} << 30;

  /// One line for people; empty if it is too little to wait for.
  std::string text() const;
  /// Why it is not captured; empty if it is.
  std::string refusal() const;
};

/// "1.5 GiB", "12.0 MiB".
std::string sizeText(uint64_t bytes);

} // namespace fade
