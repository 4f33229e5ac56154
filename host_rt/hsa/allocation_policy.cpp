#include "hsa/allocation_policy.h"

#include "base/module_symbols.h"

#include <algorithm>
#include <array>
#include <execinfo.h>
#include <fmt/format.h>

namespace fade {
namespace {

// Not in the headers of ROCm 5: memory that no cache of the GPU keeps.
constexpr uint32_t kExtendedScope = 8;

constexpr uint64_t kLeastOnHost = 4096;

constexpr std::array<const char *, 4> kPlaceNames = {"coarse", "fine", "uncached", "host"};
const char *nameOf(AllocationPlace place) { return kPlaceNames[static_cast<std::size_t>(place)]; }

/// Whether a function or library of those that are being called matches.
bool isCalledBy(const Expression &caller) {
  std::array<void *, 64> frames;
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 0; i < count; ++i) {
    const auto module =
        moduleSymbolAt(reinterpret_cast<uint64_t>(frames[static_cast<std::size_t>(i)]));
    if (module && (caller.isIn(module->file) || caller.isIn(module->function))) return true;
  }
  return false;
}

} // namespace

AllocationPolicy::AllocationPolicy(const std::vector<AllocationRule> &rules) {
  for (const AllocationRule &rule : rules) {
    Rule &own = rules_.emplace_back();
    own.rule = rule;
    std::string ignored; // it was read before
    if (!rule.caller.empty()) own.caller = Expression::parse(rule.caller, ignored);
  }
}

/// Known from the first allocation on. ROCr is asked without a lock.
void AllocationPolicy::findPools() {
  {
    const std::lock_guard lock(mutex_);
    if (!pools_.empty()) return;
  }
  std::vector<Pool> pools;
  struct Search {
    std::vector<Pool> *pools;
    hsa_agent_t agent;
    bool on_host;
  };
  hsaApi().core.hsa_iterate_agents_fn(
      [](hsa_agent_t agent, void *data) {
        hsa_device_type_t type{};
        hsaApi().core.hsa_agent_get_info_fn(agent, HSA_AGENT_INFO_DEVICE, &type);
        Search search{static_cast<std::vector<Pool> *>(data), agent, type != HSA_DEVICE_TYPE_GPU};
        hsaApi().amd.hsa_amd_agent_iterate_memory_pools_fn(
            agent,
            [](hsa_amd_memory_pool_t handle, void *to) {
              const auto &s = *static_cast<Search *>(to);
              const auto get = hsaApi().amd.hsa_amd_memory_pool_get_info_fn;
              hsa_amd_segment_t segment{};
              bool is_usable = false;
              uint32_t flags = 0;
              if (!ok(get(handle, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment)) ||
                  segment != HSA_AMD_SEGMENT_GLOBAL ||
                  !ok(get(handle, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &is_usable)) ||
                  !is_usable || !ok(get(handle, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags)))
                return HSA_STATUS_SUCCESS;
              Pool pool;
              pool.handle = handle;
              pool.agent = s.agent;
              pool.on_host = s.on_host;
              pool.is_fine = (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) != 0;
              pool.is_kernarg = (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) != 0;
              pool.is_uncached = (flags & kExtendedScope) != 0;
              s.pools->push_back(pool);
              return HSA_STATUS_SUCCESS;
            },
            &search);
        return HSA_STATUS_SUCCESS;
      },
      &pools);
  const std::lock_guard lock(mutex_);
  if (pools_.empty()) pools_ = std::move(pools);
}

/// Of the same agent, or of the host; null if there is no such memory.
const AllocationPolicy::Pool *AllocationPolicy::target(const Pool &from,
                                                       AllocationPlace place) const {
  const auto first = [&](auto fits) -> const Pool * {
    const auto at = std::ranges::find_if(pools_, fits);
    return at == pools_.end() ? nullptr : &*at;
  };
  const auto is_own = [&](const Pool &p) {
    return p.agent.handle == from.agent.handle && !p.is_kernarg;
  };
  switch (place) {
  case AllocationPlace::coarse:
    return first([&](const Pool &p) { return is_own(p) && !p.is_fine && !p.is_uncached; });
  case AllocationPlace::fine:
    return first([&](const Pool &p) { return is_own(p) && p.is_fine && !p.is_uncached; });
  case AllocationPlace::uncached:
    return first([&](const Pool &p) { return is_own(p) && p.is_uncached; });
  case AllocationPlace::host:
    return first([&](const Pool &p) { return p.on_host && p.is_fine && !p.is_kernarg; });
  }
  return nullptr;
}

std::optional<AllocationChange> AllocationPolicy::changeFor(hsa_amd_memory_pool_t pool,
                                                            uint64_t size, uint64_t flags) {
  if (flags != 0) return std::nullopt; // somebody wants something special, code for example
  findPools();                         // they stay as they are from here on
  const auto from = std::ranges::find_if(
      pools_, [&](const Pool &one) { return one.handle.handle == pool.handle; });
  if (from == pools_.end() || from->is_kernarg) return std::nullopt;
  // What the runtime talks to kernels through is small, in the host's memory, and has to be
  // coherent.
  if (from->on_host && size < kLeastOnHost) return std::nullopt;
  Rule *rule = ruleFor(size);
  if (!rule) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const Pool *to = target(*from, rule->rule.place);
  if (!to) ++rule->missing;
  if (!to || to->handle.handle == pool.handle) return std::nullopt;
  // Whose memory it is cannot be told here, but whether it may be that of hostcalls. Whoever
  // names the caller knows what is moved.
  const bool loses_coherence = from->on_host && from->is_fine && !to->is_fine;
  if (loses_coherence && !rule->caller && has_hostcalls_.load(std::memory_order_relaxed)) {
    ++rule->kept;
    return std::nullopt;
  }
  AllocationChange change;
  change.pool = to->handle;
  change.rule = static_cast<std::size_t>(rule - rules_.data());
  // Its own memory a GPU can reach anyway; that of the host not.
  if (to->on_host && !from->on_host) change.access = from->agent;
  return change;
}

/// The first that fits. Without the lock: it looks at what is never changed, and callers are looked
/// up among loaded files.
AllocationPolicy::Rule *AllocationPolicy::ruleFor(uint64_t size) {
  for (Rule &rule : rules_)
    if (size >= rule.rule.least && size <= rule.rule.most &&
        (!rule.caller || isCalledBy(*rule.caller)))
      return &rule;
  return nullptr;
}

std::optional<AllocationPolicy::SvmChange> AllocationPolicy::changeForSvm(uint64_t size) {
  findPools();
  Rule *rule = ruleFor(size);
  if (!rule) return std::nullopt;
  const std::lock_guard lock(mutex_);
  SvmChange change;
  change.place = rule->rule.place;
  change.rule = static_cast<std::size_t>(rule - rules_.data());
  const auto host = std::ranges::find(pools_, true, &Pool::on_host);
  if (host != pools_.end()) change.host = host->agent;
  if (change.place == AllocationPlace::uncached ||
      (change.place == AllocationPlace::host && host == pools_.end())) {
    ++rule->missing;
    return std::nullopt;
  }
  return change;
}

void AllocationPolicy::countSvm(const SvmChange &change, uint64_t size, bool was_changed) {
  const std::lock_guard lock(mutex_);
  Rule &rule = rules_[change.rule];
  if (!was_changed) {
    ++rule.refused;
    return;
  }
  ++rule.svm;
  rule.svm_bytes += size;
}

void AllocationPolicy::count(const AllocationChange &change, uint64_t size, bool was_moved) {
  const HostStack by = was_moved ? HostStack::here() : HostStack{};
  const std::lock_guard lock(mutex_);
  Rule &rule = rules_[change.rule];
  if (!was_moved) {
    ++rule.refused;
    return;
  }
  ++rule.moved;
  rule.bytes += size;
  if (size <= rule.largest) return;
  rule.largest = size;
  rule.largest_by = by;
}

std::vector<std::string> AllocationPolicy::summary() {
  std::vector<std::string> lines;
  const std::vector<Rule> rules = [&] { // names are looked up without the lock
    const std::lock_guard lock(mutex_);
    return rules_;
  }();
  if (rules.empty()) return lines;
  const HostSymbols symbols;
  for (const Rule &rule : rules) {
    std::string line = fmt::format("FADE_ALLOC={}: {} allocations ({} bytes) were moved",
                                   nameOf(rule.rule.place), rule.moved, rule.bytes);
    if (rule.svm != 0)
      line +=
          fmt::format("; {} of managed memory ({} bytes) were changed", rule.svm, rule.svm_bytes);
    if (rule.kept != 0)
      line +=
          fmt::format("; {} kept coherent, for kernels that print, assert or allocate", rule.kept);
    if (rule.refused != 0) line += fmt::format("; {} not: the runtime refused", rule.refused);
    if (rule.missing != 0) line += fmt::format("; {} not: there is no such memory", rule.missing);
    if (rule.largest != 0)
      line += fmt::format("; the largest, {} bytes, for {}", rule.largest,
                          textOf(symbols.callers(rule.largest_by)));
    lines.push_back(std::move(line));
  }
  return lines;
}

} // namespace fade
