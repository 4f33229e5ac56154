// The kernels of the process: found by the address that a dispatch packet names, or by executable
// and symbol. Filled when executables are frozen, emptied when they are destroyed; what a dispatch
// or a report still holds lives on.
#pragma once

#include "dispatch/blit_kernel.h"
#include "dispatch/loaded_code.h"
#include "stream/dispatch_record.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace fade {

/// Handles of the runtime, as numbers.
using AgentHandle = uint64_t;
using ExecutableHandle = uint64_t;

struct ReplacementPlan;

/// What a dispatch packet has to say of a kernel that is loaded.
struct KernelOnDevice {
  uint64_t object = 0; ///< address of its descriptor
  uint32_t kernarg_size = 0;
  uint32_t group_size = 0;   ///< static LDS
  uint32_t private_size = 0; ///< scratch of a work-item
};

/// What its code object says; only known while host events are recorded.
struct KernelFacts {
  uint32_t vgprs = 0, agprs = 0, sgprs = 0;
  uint32_t spilled_vgprs = 0, spilled_sgprs = 0;
  std::optional<BlitKernel> blit; ///< if it is one of HIP's own that copy and fill
};

/// A kernel of the application, loaded on an agent.
struct KernelEntry {
  explicit KernelEntry(std::shared_ptr<const KernelInfo> of) : info(std::move(of)) {}

  const std::shared_ptr<const KernelInfo> info; ///< without sites: the original's
  KernelOnDevice device;
  AgentHandle agent = 0;
  ExecutableHandle executable = 0;
  std::shared_ptr<const LoadedCode> code; ///< null if its bytes were not kept
  std::optional<KernelFacts> facts;
  std::once_flag arguments_once;
  std::shared_ptr<const KernelArguments> arguments; ///< once they were asked for

  std::atomic<uint64_t> dispatches{0};
  /// The most that a work-item of it has written into its ring so far; below 0 until one has ended.
  std::atomic<double> bytes_per_item{-1};
  std::atomic<bool> is_chosen{true}; ///< by --kernels; set when it is registered

  std::atomic<uint64_t> text{0}; ///< its name in the host events; 0: it is not there yet

  /// What runs instead of it, once that has been found out. Plans live as long as the kernel.
  std::atomic<const ReplacementPlan *> plan{nullptr};
  std::mutex plan_mutex;
  std::vector<std::shared_ptr<const ReplacementPlan>> plans;
};

class KernelRegistry {
public:
  void add(std::shared_ptr<KernelEntry> kernel);
  void remove(ExecutableHandle executable);

  std::shared_ptr<KernelEntry> find(uint64_t object) const;
  std::shared_ptr<KernelEntry> find(ExecutableHandle executable, AgentHandle agent,
                                    const std::string &symbol) const;

  std::vector<std::shared_ptr<KernelEntry>> all() const;

  /// The description of a kernel; the same for the same symbol, target, module and sites. The id of
  /// `kernel` does not matter.
  std::shared_ptr<const KernelInfo> info(KernelIdentity kernel,
                                         std::shared_ptr<const ModuleSites> sites = nullptr);

private:
  using Key = std::tuple<ExecutableHandle, AgentHandle, std::string>;

  mutable std::shared_mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<KernelEntry>> by_object_;
  std::map<Key, std::shared_ptr<KernelEntry>> by_symbol_;
  std::unordered_multimap<std::string, std::shared_ptr<const KernelInfo>> infos_; ///< by symbol
  uint32_t next_id_ = 0;
};

} // namespace fade
