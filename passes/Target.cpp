#include "Target.h"

#include "Compat.h"

using namespace llvm;

namespace fade {

// Since LLVM 24 the processor is part of the triple: amdgpu9.0a-amd-amdhsa.
bool isAMDGCN(const Module &module) {
  const std::string triple = targetTriple(module);
  return startsWith(triple, "amdgcn") || startsWith(triple, "amdgpu");
}
bool isNVPTX(const Module &module) { return startsWith(targetTriple(module), "nvptx64"); }

namespace {

// gfx90a of amdgpu9.0a-amd-amdhsa, gfx9-4-generic of amdgpu9.4-…: major number, and both digits of
// the rest, or of a generic processor at most one. Empty if the triple has none.
std::string processorInTriple(const Module &module) {
  const std::string triple = targetTriple(module);
  StringRef name = StringRef(triple).split('-').first;
  if (!name.consume_front("amdgpu") || name.empty()) return "";
  const auto [major, rest] = name.split('.');
  if (rest.size() >= 2) return ("gfx" + major + rest).str();
  return ("gfx" + major + (rest.empty() ? "" : "-") + rest + "-generic").str();
}

} // namespace

std::string targetProcessor(const Module &module) {
  for (const Function &function : module)
    if (function.hasFnAttribute("target-cpu"))
      return function.getFnAttribute("target-cpu").getValueAsString().str();
  return processorInTriple(module);
}

unsigned processorMajor(StringRef processor) {
  if (!processor.consume_front("gfx")) return 0;
  unsigned major = 0;
  // The last two characters are minor and stepping: gfx90a, gfx1030.
  const StringRef digits =
      processor.contains('-') ? processor.split('-').first : processor.drop_back(2);
  if (digits.getAsInteger(10, major)) return 0;
  return major;
}

unsigned waveSize(const Module &module) {
  if (isNVPTX(module)) return 32;
  const unsigned major = processorMajor(targetProcessor(module));
  if (major == 0) return 0;
  if (major < 10) return 64;
  for (const Function &function : module) {
    if (!function.hasFnAttribute("target-features")) continue;
    const StringRef features = function.getFnAttribute("target-features").getValueAsString();
    if (features.contains("+wavefrontsize64")) return 64;
    if (features.contains("+wavefrontsize32")) return 32;
  }
  // Where the triple has the processor, only what differs from its defaults is said.
  return processorInTriple(module).empty() ? 0 : 32;
}

std::unique_ptr<Target> Target::of(const Module &module, FunctionAnalysisManager &analyses) {
  if (isAMDGCN(module)) return makeAmdgcnTarget();
  if (isNVPTX(module)) return makeNvptxTarget(module, analyses);
  return nullptr;
}

Target::~Target() = default;

Function *Target::createTwin(Function &kernel, FunctionType *type, const std::string &name) {
  return Function::Create(type, kernel.getLinkage(), kernel.getAddressSpace(), name,
                          kernel.getParent());
}

Value *Target::toAddress(IRBuilder<> &builder, Value *pointer) const {
  // The offset in the workgroup's memory has 32 bits, whatever the size of the pointer.
  if (pointer->getType()->getPointerAddressSpace() == FADE_SPACE_LDS)
    return builder.CreateZExt(builder.CreatePtrToInt(pointer, builder.getInt32Ty()),
                              builder.getInt64Ty());
  return builder.CreatePtrToInt(pointer, builder.getInt64Ty());
}

Value *Target::lanesAtStart(IRBuilder<> &) const { return nullptr; }
void Target::rejoin(IRBuilder<> &, Value *) const {}

} // namespace fade
