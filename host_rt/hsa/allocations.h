// The application's memory, as far as the runtime allocates it.
#pragma once

#include "stream/dispatch_record.h"

#include <map>
#include <memory>
#include <mutex>

namespace fade {

class AllocationTable {
public:
  void add(const void *address, uint64_t size, uint32_t agent, bool on_host);
  void remove(const void *address);
  /// All of it, by address, as it is now.
  std::shared_ptr<const Allocations> snapshot();

private:
  std::mutex mutex_;
  std::map<uint64_t, fade_allocation> allocations_;
  std::shared_ptr<const Allocations> snapshot_; ///< null after a change
  uint32_t next_ = 1;
};

} // namespace fade
