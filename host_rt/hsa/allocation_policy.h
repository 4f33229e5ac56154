// FADE_ALLOC: the application's memory comes from another pool than it asks for. This is below HIP,
// at HSA's own table, so it works however HIP was loaded. Off unless asked for.
#pragma once

#include "base/settings.h"
#include "fade/expression.h"
#include "hsa/agents.h"
#include "hsa/host_stack.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace fade {

/// What is to happen to an allocation.
struct AllocationChange {
  hsa_amd_memory_pool_t pool{};      ///< where it is to come from
  std::optional<hsa_agent_t> access; ///< who needs access to it then
  std::size_t rule = 0;
};

class AllocationPolicy {
public:
  explicit AllocationPolicy(const std::vector<AllocationRule> &rules);

  bool isActive() const { return !rules_.empty(); }
  /// Nothing: it stays where it is. For threads of the application.
  std::optional<AllocationChange> changeFor(hsa_amd_memory_pool_t pool, uint64_t size,
                                            uint64_t flags);
  /// Memory that the driver moves by itself (SVM, as hipMallocManaged has it) comes from no pool,
  /// but what it is like can be asked for.
  struct SvmChange {
    AllocationPlace place = AllocationPlace::coarse;
    hsa_agent_t host{}; ///< where it is to stay, for `host`
    std::size_t rule = 0;
  };
  std::optional<SvmChange> changeForSvm(uint64_t size);
  void countSvm(const SvmChange &change, uint64_t size, bool was_changed);

  /// A kernel was loaded that talks to the host while it runs (printf, assert, malloc): what it
  /// does that through is HIP's own, looks like any other memory of the host, and has to stay
  /// coherent.
  void noteHostcalls() { has_hostcalls_.store(true, std::memory_order_relaxed); }

  /// What became of it.
  void count(const AllocationChange &change, uint64_t size, bool was_moved);
  /// Sentences for the end of the run.
  std::vector<std::string> summary();

private:
  struct Pool {
    hsa_amd_memory_pool_t handle{};
    hsa_agent_t agent{};
    bool on_host = false, is_fine = false, is_kernarg = false, is_uncached = false;
  };
  struct Rule {
    AllocationRule rule;
    std::optional<Expression> caller;
    uint64_t moved = 0, bytes = 0, refused = 0, missing = 0, kept = 0;
    uint64_t largest = 0; ///< of those moved, and for whom
    HostStack largest_by;
    uint64_t svm = 0, svm_bytes = 0;
  };
  void findPools();
  Rule *ruleFor(uint64_t size);
  const Pool *target(const Pool &from, AllocationPlace place) const;

  std::atomic<bool> has_hostcalls_{false};
  std::mutex mutex_;
  std::vector<Rule> rules_;
  std::vector<Pool> pools_; ///< known from the first allocation on
};

} // namespace fade
