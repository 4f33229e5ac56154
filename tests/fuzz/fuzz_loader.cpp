// What the doctor reads of libraries and of the loader's cache: whatever the bytes, an answer or an
// error.
#include "doctor/loader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace fade;
  const auto dynamic = doctor::readDynamic(codeobj::Blob::borrow({data, size}, "input"));
  if (!dynamic && dynamic.error().message().empty()) __builtin_trap();
  const auto cache = doctor::readLoaderCache({data, size});
  if (cache && cache->size() > size) __builtin_trap();
  return 0;
}
