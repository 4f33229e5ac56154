// Puts the body of a function of the runtime in the place of its call.
#pragma once

#include "llvm/IR/InstrTypes.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace fade {

inline void inlineCall(llvm::CallBase &call) {
  llvm::InlineFunctionInfo info;
  llvm::InlineFunction(call, info);
}

} // namespace fade
