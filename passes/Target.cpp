#include "Target.h"

#include "Compat.h"

using namespace llvm;

namespace fade {

bool isAMDGCN(const Module &module) { return startsWith(targetTriple(module), "amdgcn"); }
bool isNVPTX(const Module &module) { return startsWith(targetTriple(module), "nvptx64"); }

std::string targetProcessor(const Module &module) {
  for (const Function &function : module)
    if (function.hasFnAttribute("target-cpu"))
      return function.getFnAttribute("target-cpu").getValueAsString().str();
  return "";
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
  return 0;
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
