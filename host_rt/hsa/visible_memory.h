// All memory of the application that GPUs can see, in whole pages, for captures. (AllocationTable
// has what the analyzers call allocations; this has what may be read and written.)
#pragma once

#include "capture/capture.h"
#include "hsa/agents.h"

#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace fade {

struct VisibleRegion {
  capture::Region region;
  hsa_agent_t agent{};     ///< that owns it
  uint64_t host = 0;       ///< where this process reads it; 0: it has to be copied
  uint64_t allocation = 0; ///< a number that no other one has
};

class VisibleMemory {
public:
  void addPool(const void *memory, std::size_t size, hsa_amd_memory_pool_t pool,
               const Agents &agents);
  void addLocked(const void *host, const void *device, std::size_t size, const Agents &agents);
  void addManaged(const void *memory, std::size_t size, const Agents &agents);
  void addMapped(const void *memory, std::size_t size, const Agents &agents);
  /// What begins there. While somebody reads memory this waits: it must not go away under him.
  void remove(const void *memory);
  void removeLocked(const void *host);
  /// Other agents than the owner may access it.
  void allow(const void *memory, const hsa_agent_t *agents, uint32_t count);

  /// An executable is about to be unloaded: its code is no longer told, once whoever reads it has
  /// done so. When it is gone the handle may be that of another one.
  void beginUnload(uint64_t executable);
  void endUnload(uint64_t executable) noexcept;

  /// Keeps memory and code from being given back for as long as the lock is kept.
  [[nodiscard]] std::unique_lock<std::mutex> hold() { return std::unique_lock(reading_); }
  /// What a kernel on the agent may touch, by address and without overlaps: all of the above and
  /// the code objects that are loaded.
  std::vector<VisibleRegion> seenBy(const Agent &agent);
  /// Of what seenBy() has told, whether it was not given back since.
  std::vector<bool> areStillThere(const std::vector<VisibleRegion> &regions);

private:
  struct Entry {
    VisibleRegion visible;
    std::set<uint64_t> allowed; ///< agents
  };
  void add(VisibleRegion region);

  std::mutex reading_; ///< taken before mutex_
  std::mutex mutex_;
  std::map<uint64_t, Entry> entries_;        ///< by address
  std::map<uint64_t, uint64_t> locked_at_;   ///< address on the host to the GPU's
  std::map<uint64_t, uint64_t> executables_; ///< whose code was told: handles, and numbers as above
  std::set<uint64_t> unloading_;             ///< executables
  uint64_t next_ = 1;
};

} // namespace fade
