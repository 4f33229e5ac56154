// The instrumentation pass: gives every GPU kernel of a module an instrumented twin.
#pragma once

#include "Options.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Support/raw_ostream.h"

namespace fade {

// What passes of LLVM inherit has another name in each generation; these few functions have not.
class FadePass {
public:
  static llvm::StringRef name() { return "FadePass"; }
  void printPipeline(llvm::raw_ostream &out,
                     llvm::function_ref<llvm::StringRef(llvm::StringRef)> pass_of_class) {
    out << pass_of_class(name());
  }
  // Options from the pipeline text; without them FADE_INSTRUMENT is asked when the pass runs.
  FadePass() = default;
  explicit FadePass(std::string options) : text_(std::move(options)), has_text_(true) {}
  // `machine`: what the code generator will do to accesses (MachineView.h).
  explicit FadePass(llvm::FunctionPassManager machine)
      : machine_(std::move(machine)), knows_machine_(true) {}

  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &);
  static bool isRequired() { return true; } // functions with optnone, too

private:
  std::string text_;
  bool has_text_ = false;
  llvm::FunctionPassManager machine_;
  bool knows_machine_ = false; // what follows the pass is the code generator
};

} // namespace fade
