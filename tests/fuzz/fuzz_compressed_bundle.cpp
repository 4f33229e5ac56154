// Compressed bundles: the header as it comes, and the inflaters on what follows.
#include "codeobj/bundle.h"
#include "codeobj/inflate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace fade::codeobj;
  auto bundle = Bundle::open(Blob::borrow({data, size}, "input"));
  if (bundle) (void)bundle->entries().ok();
  constexpr std::uint64_t kLimit = 1 << 20;
  for (auto result : {inflateZlib({data, size}, kLimit), inflateZstd({data, size}, kLimit)})
    if (result && result->size() > kLimit) __builtin_trap();
  return 0;
}
