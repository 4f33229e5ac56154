#include "Target.h"

#include "Compat.h"

using namespace llvm;

namespace fade {

bool isAMDGCN(const Module &module) { return startsWith(targetTriple(module), "amdgcn"); }

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

} // namespace fade
