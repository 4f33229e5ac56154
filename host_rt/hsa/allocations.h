// The application's memory: what it allocates through the runtime, and the variables of its code.
#pragma once

#include "stream/dispatch_record.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace fade {

class DeathWatch;

class AllocationTable {
public:
  void add(const void *address, uint64_t size, uint32_t agent, bool on_host);
  void remove(const void *address);
  /// A variable belongs to an executable and goes with it.
  void addVariable(uint64_t executable, std::string name, fade_allocation variable);
  void removeVariables(uint64_t executable);
  /// All of it, by address, as it is now. `origins` has seen who allocated it; null: nobody has.
  std::shared_ptr<const Allocations> snapshot(const DeathWatch *origins = nullptr);
  /// Whether this is memory of the host; nothing if nobody has allocated it through the runtime.
  std::optional<bool> isOnHost(uint64_t address);
  /// The one that an access outside of all was probably meant for, as the end of a sentence; empty
  /// if there is none.
  std::string describeNearest(uint64_t address);

private:
  struct Entry {
    fade_allocation allocation{};
    uint64_t executable = 0;
    std::string name;                  ///< of a variable
    std::optional<std::string> origin; ///< once somebody has asked for it
  };
  void addLocked(Entry entry);
  void findOrigins(const DeathWatch &origins);

  std::mutex mutex_;
  std::map<uint64_t, Entry> entries_;
  std::shared_ptr<const Allocations> snapshot_; ///< null after a change
  uint32_t next_ = 1;
};

} // namespace fade
