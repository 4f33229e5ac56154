// Sites of a kernel as the compiler made it, for records that are not its own: the software GPU
// tells what it does. One site for each instruction that accesses memory, in its functions, too.
#pragma once

#include "dispatch/kernel_registry.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace fade {

struct ObservedKernel {
  std::shared_ptr<const KernelInfo> info; ///< with sites
  uint64_t delta = 0;                     ///< from addresses in the code object to those in memory

  /// The site of an instruction; FADE_NO_INDEX if it is none.
  uint32_t siteOf(uint64_t pc) const;

  struct Instruction {
    uint64_t address;
    uint32_t site;
  };
  std::vector<Instruction> instructions; ///< by address in the code object
};

/// Made when a kernel is dispatched for the first time: libraries have thousands.
class ObservedKernels {
public:
  Result<std::shared_ptr<const ObservedKernel>> find(const std::shared_ptr<KernelEntry> &kernel,
                                                     KernelRegistry &registry);

private:
  std::mutex mutex_;
  std::map<std::shared_ptr<KernelEntry>, std::shared_ptr<const ObservedKernel>> kernels_;
};

/// The sites of one kernel and their addresses. `object` must have it.
Result<std::vector<std::byte>> makeSites(const std::shared_ptr<const codeobj::CodeObject> &object,
                                         const std::string &symbol,
                                         std::vector<ObservedKernel::Instruction> &instructions);

} // namespace fade
