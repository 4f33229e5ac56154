// Tells applications of the ends of their copies if the runtime's event thread does not.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_set>

namespace fade {

class TimedCopy;

/// Copies under way. The runtime's event thread tells the application that one has ended, at once.
/// HIP 6 waits on that very thread for the end of other work, in a handler of its own: then a
/// thread that is started here does it, a moment later.
class CopyTeller {
public:
  CopyTeller() = default;
  ~CopyTeller() { stop(); }
  CopyTeller(const CopyTeller &) = delete;
  CopyTeller &operator=(const CopyTeller &) = delete;

  /// Any thread. Without memory or threads the copy has only the event thread.
  void add(TimedCopy &copy) noexcept;
  /// Before the copy is destroyed.
  void remove(TimedCopy &copy) noexcept;
  /// Nobody is told after this, and nothing of the HSA runtime is used.
  void stop() noexcept;

private:
  void run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::unordered_set<TimedCopy *> copies_;
  std::thread thread_;
  bool is_asleep_ = false, is_stopping_ = false;
};

} // namespace fade
