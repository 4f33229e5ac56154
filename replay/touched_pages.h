// Which pages of memory are touched: read, written or fetched as code, by any thread.
//
// All pages are made inaccessible; the first access to one raises a signal, whose handler notes the
// page and opens it. So nothing is missed, whatever part of the executor makes the access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>
#include <vector>

namespace fade::replay {

/// One at a time in a process.
class TouchedPages {
public:
  explicit TouchedPages(std::span<uint8_t> memory);
  ~TouchedPages(); ///< all is accessible again
  TouchedPages(const TouchedPages &) = delete;
  TouchedPages &operator=(const TouchedPages &) = delete;

  /// From now on.
  void watch();
  void stop();
  bool isTouched(uint64_t page) const;

  /// Starts a thread in which the signal can be handled: the executor's have all of them blocked.
  static std::thread startThread(std::function<void()> body);

private:
  std::span<uint8_t> memory_;
  std::vector<uint8_t> touched_; ///< by page; written by the handler
};

} // namespace fade::replay
