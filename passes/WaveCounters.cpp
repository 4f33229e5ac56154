#include "WaveCounters.h"

#include "Target.h"

namespace fade {

WaveCounters::~WaveCounters() = default;

std::unique_ptr<WaveCounters> WaveCounters::of(const llvm::Module &module, const Target &target) {
  return isNVPTX(module) ? makeThreadCounters(module, target) : makeRegisterCounters(module);
}

} // namespace fade
