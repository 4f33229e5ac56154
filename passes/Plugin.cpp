// The entry point that clang, opt and lld look for.
#include "Compat.h"
#include "FadePass.h"
#include "MachineView.h"
#include "compiler_line.h"
#include "fade/compiler.h"

#include "llvm/Passes/PassBuilder.h"
#if __has_include("llvm/Plugins/PassPlugin.h") // since 22
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace llvm;

// Weak, because the library does not link LLVM and clang: it lives in a compiler. LLVM 15 does not
// have the first one. Programs other than clang do not have the second one, and where the name of
// std::string is another one (libc++), neither has clang: its name does not fit either.
extern "C" __attribute__((weak)) void LLVMGetVersion(unsigned *, unsigned *, unsigned *);
namespace clang {
__attribute__((weak)) std::string getClangFullVersion();
}

// What this library was built for; fadeprobe reads it from the file.
extern "C" __attribute__((used, visibility("hidden"), section(FADE_COMPILER_SECTION)))
const char fade_built_for[] = FADE_COMPILER_LINE;

namespace {

// What the program that has loaded this library is, if it is not what the library was built for;
// else empty.
std::string misfit() {
  if (clang::getClangFullVersion) {
    std::string line = clang::getClangFullVersion();
    return fade::pluginFits(fade_built_for, line) ? "" : line;
  }
  // fadeprobe cc has asked the compiler; lld and clang without symbols are of the same LLVM.
  const char *said = std::getenv("FADE_COMPILER");
  const bool is_said = said && *said;
  if (is_said && !fade::pluginFits(fade_built_for, said)) return said;
  if (!LLVMGetVersion)
    return is_said || LLVM_VERSION_MAJOR == 15 ? "" : "an LLVM that does not say its version";
  std::array<unsigned, 3> number{};
  LLVMGetVersion(&number[0], &number[1], &number[2]);
  // Releases that differ in the last number only have the same interface.
  const auto own = fade::clangVersion(fade_built_for);
  if (own && number[0] == own->number[0] && number[1] == own->number[1] &&
      (own->is_release || number[2] == own->number[2]))
    return "";
  return "LLVM " + std::to_string(number[0]) + "." + std::to_string(number[1]) + "." +
         std::to_string(number[2]);
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
  // Since LLVM 20 the first of the two places also tells the phase.
  const auto add = [&builder](ModulePassManager &passes, OptimizationLevel level, auto...) {
    passes.addPass(fade::FadePass(fade::machinePasses(builder, fade::speedupLevel(level))));
  };
  builder.registerOptimizerLastEPCallback(add);
  // Linking with -fgpu-rdc: the whole program is one module here. Kernels that already have a twin
  // are left alone.
  builder.registerFullLinkTimeOptimizationLastEPCallback(add);
}

} // namespace

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo llvmGetPassPluginInfo() {
  // Code built for another LLVM must not run: it would crash the compiler. An API version that no
  // LLVM has makes the compiler refuse the plugin with a message of its own.
  if (const std::string host = misfit(); !host.empty()) {
    std::fprintf(stderr,
                 "fade: this plugin was built for '%s', and is loaded into '%s': 'fadeprobe cc -- "
                 "COMPILER ...' chooses the right one\n",
                 fade_built_for, host.c_str());
    return {0xFADE0000u + LLVM_VERSION_MAJOR, "libfadeinstr (built for another LLVM)", "", nullptr};
  }
  return {LLVM_PLUGIN_API_VERSION, "libfadeinstr", FADE_VERSION, registerPass};
}
