// A library whose constructor calls the test back: the dynamic loader's lock is held meanwhile, as
// when an extension of Python allocates memory of the GPU while it is loaded.
#include <cstdlib>

namespace {
const int loaded = [] {
  if (const char *function = std::getenv("FADE_TEST_AT_LOAD"))
    reinterpret_cast<void (*)()>(std::strtoull(function, nullptr, 16))();
  return 1;
}();
} // namespace
