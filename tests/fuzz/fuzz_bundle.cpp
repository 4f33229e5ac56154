// Bundles, alone and in a row, and everything the search for code makes of them.
#include "codeobj/finder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace fade::codeobj;
  Blob blob = Blob::borrow({data, size}, "input");
  std::vector<fade::Error> errors;
  for (const PlacedBundle &placed : findBundles(blob, errors)) {
    if (placed.bundle.size() == 0 || placed.offset + placed.bundle.size() > size) __builtin_trap();
    if (placed.bundle.compressed()) continue; // has a target of its own
    auto entries = placed.bundle.entries();
    if (!entries) __builtin_trap(); // open() has checked them
    for (const BundleEntry &entry : *entries) (void)CodeObject::open(entry.blob).ok();
  }
  (void)findCode(blob, {[](const FoundCode &) { return true; }, [](const fade::Error &) {}}).ok();
  return 0;
}
