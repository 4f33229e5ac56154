// Kernel descriptors and target names: the input is "target\0descriptor".
#include "codeobj/descriptor.h"
#include "codeobj/occupancy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace fade::codeobj;
  ByteView input(data, size);
  auto name = cString(input, 0);
  if (!name) return 0;
  auto target = parseTarget(*name);
  if (!target) return 0;
  // A target that was understood can be written down and understood again.
  auto again = parseTarget(target->isaName());
  if (!again || again->id() != target->id()) __builtin_trap();
  ByteView bytes = input.subspan(name->size() + 1);
  for (auto descriptor : {decodeDescriptor(bytes, *target), decodeOldDescriptor(bytes, *target)}) {
    if (!descriptor) continue;
    Kernel kernel;
    kernel.descriptor = *descriptor;
    if (auto o = occupancy(*target, kernel); o && o->waves_per_simd > o->max_waves)
      __builtin_trap();
  }
  return 0;
}
