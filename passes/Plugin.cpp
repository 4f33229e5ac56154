// The entry point that clang, opt and lld look for.
#include "Compat.h"
#include "FadePass.h"
#include "MachineView.h"

#include "llvm/Passes/PassBuilder.h"
#if LLVM_VERSION_MAJOR >= 22
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif

using namespace llvm;

// In the C API of LLVM 16 and later. Weak: the library does not link LLVM, it lives in a compiler.
extern "C" __attribute__((weak)) void LLVMGetVersion(unsigned *, unsigned *, unsigned *);

namespace {

unsigned majorOfHost() {
  unsigned major = 15, minor = 0, patch = 0;
  if (LLVMGetVersion) LLVMGetVersion(&major, &minor, &patch);
  return major;
}

// fade or fade<options>.
bool parsePass(StringRef name, ModulePassManager &passes) {
  if (name == "fade") {
    passes.addPass(fade::FadePass());
    return true;
  }
  if (!name.consume_front("fade<") || name.empty() || name.back() != '>') return false;
  passes.addPass(fade::FadePass(name.drop_back().str()));
  return true;
}

void registerPass(PassBuilder &builder) {
  builder.registerPipelineParsingCallback(
      [](StringRef name, ModulePassManager &passes, ArrayRef<PassBuilder::PipelineElement>) {
        return parsePass(name, passes);
      });
  const auto add = [&builder](ModulePassManager &passes, OptimizationLevel level) {
    passes.addPass(fade::FadePass(fade::machinePasses(builder, level.getSpeedupLevel())));
  };
  builder.registerOptimizerLastEPCallback([add](ModulePassManager &passes, OptimizationLevel level
#if LLVM_VERSION_MAJOR >= 20
                                                ,
                                                ThinOrFullLTOPhase
#endif
                                          ) { add(passes, level); });
  // Linking with -fgpu-rdc: the whole program is one module here. Kernels that already have a twin
  // are left alone.
  builder.registerFullLinkTimeOptimizationLastEPCallback(add);
}

} // namespace

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo llvmGetPassPluginInfo() {
  // Code built for another LLVM must not run: it would crash the compiler. An API version that no
  // LLVM has makes the compiler refuse the plugin with a message of its own.
  if (majorOfHost() != LLVM_VERSION_MAJOR)
    return {0xFADE0000u + LLVM_VERSION_MAJOR,
            "libfadeinstr (built for another LLVM; use libfadeinstr-<version>.so)", "", nullptr};
  return {LLVM_PLUGIN_API_VERSION, "libfadeinstr", FADE_VERSION, registerPass};
}
