// What is known about the GPU that a module is compiled for.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace fade {

bool isAMDGCN(const llvm::Module &module);

// The processor, like gfx90a; empty if the module does not say (plain IR, -mcpu given later).
std::string targetProcessor(const llvm::Module &module);

// Major number of a processor: 9 for gfx90a, 10 for gfx1030; 0 if unknown.
unsigned processorMajor(llvm::StringRef processor);

// 32 or 64; 0 if it may still be decided when code is generated.
unsigned waveSize(const llvm::Module &module);

} // namespace fade
