#include "WaveCounters.h"

#include "Target.h"

#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/Instructions.h"

namespace fade {

WaveCounters::~WaveCounters() = default;

std::unique_ptr<WaveCounters> WaveCounters::of(const llvm::Module &module, const Target &target) {
  return isNVPTX(module) ? makeThreadCounters(module, target)
                         : makeRegisterCounters(module, target);
}

llvm::Instruction &endOf(llvm::BasicBlock &block, const Target &target) {
  for (llvm::Instruction &instruction : block)
    if (const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction))
      if (target.endsWave(*call)) return instruction;
  return *block.getTerminator();
}

} // namespace fade
