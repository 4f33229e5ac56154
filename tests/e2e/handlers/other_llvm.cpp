// Another LLVM in the process, as ROCm's own compiler is in many: whoever takes it for the LLVM he
// was built with comes to a bad end.
#include <cstdio>
#include <cstdlib>

namespace {
[[noreturn]] void mistake(const char *name) {
  std::fprintf(stderr, "%s of another LLVM was called\n", name);
  std::abort();
}
} // namespace

#define OTHER(name)                                                                                \
  extern "C" __attribute__((visibility("default"))) void name() { mistake(#name); }
OTHER(LLVMInitializeAMDGPUTargetInfo)
OTHER(LLVMInitializeAMDGPUTargetMC)
OTHER(LLVMInitializeAMDGPUDisassembler)
OTHER(_ZN4llvm15MCTargetOptionsC1Ev)
OTHER(_ZN4llvm6TripleC1ERKNS_5TwineE)
OTHER(_ZN4llvm5nullsEv)
