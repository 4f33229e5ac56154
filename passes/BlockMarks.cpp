#include "BlockMarks.h"

#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Instruction.h"

using namespace llvm;

namespace fade {

void markBlock(BasicBlock &original, uint32_t site) {
  for (Instruction &instruction : original)
    if (const DILocation *place = instruction.getDebugLoc().get())
      instruction.setDebugLoc(place->cloneWithDiscriminator(discriminatorOf(site)));
}

} // namespace fade
