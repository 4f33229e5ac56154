// Kernels as the compiler made them, for records that are not their own: the software GPU tells
// what they do.
#pragma once

#include "dispatch/kernel_registry.h"
#include "dispatch/observed_sites.h"

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace fade {

struct ObservedKernel {
  std::shared_ptr<const KernelInfo> info; ///< with sites
  uint64_t delta = 0;                     ///< from addresses in the code object to those in memory
  std::vector<ObservedPlace> accesses, blocks; ///< by address in the code object

  /// The site of an access, and of a block that begins there; FADE_NO_INDEX if there is none.
  uint32_t siteOf(uint64_t pc) const { return find(accesses, pc - delta); }
  uint32_t blockAt(uint64_t pc) const { return find(blocks, pc - delta); }
  /// Those from `pc` up to `end`.
  std::span<const fade_site_instruction> instructions(uint64_t pc, uint64_t end) const;

private:
  static uint32_t find(const std::vector<ObservedPlace> &places, uint64_t address);
};

/// Made when a kernel is dispatched for the first time: libraries have thousands.
class ObservedKernels {
public:
  /// The same parts each time.
  Result<std::shared_ptr<const ObservedKernel>> find(const std::shared_ptr<KernelEntry> &kernel,
                                                     KernelRegistry &registry, ObservedParts parts);

private:
  std::mutex mutex_;
  std::map<std::shared_ptr<KernelEntry>, std::shared_ptr<const ObservedKernel>> kernels_;
};

} // namespace fade
