// What scalar instructions do, as code.
#pragma once

#include "exec/jit_code.h"
#include "jit/scalar_file.h"

namespace fade::sim::jit {

class Stage;

class ScalarOperations {
public:
  ScalarOperations(llvm::IRBuilder<> &builder, ScalarFile &scalars, Stage &stage,
                   const JitRequest &request)
      : b(builder), scalars_(scalars), stage_(stage), request_(request) {}

  bool knows(const Instruction &in) const;
  // Makes its code; what it needs of the stage is run before.
  void add(const Instruction &in);
  // Whether a conditional branch is taken; null if it is none that is known.
  llvm::Value *condition(const Instruction &in);

private:
  llvm::IRBuilder<> &b;
  ScalarFile &scalars_;
  Stage &stage_;
  const JitRequest &request_;
};

} // namespace fade::sim::jit
