// A program that loads HIP for itself alone, as Python's extensions do, and checks that its memory
// works. An LD_PRELOAD wrapper of hipMalloc would never be called.
#include <cstdio>
#include <dlfcn.h>
#include <initializer_list>
#include <vector>

namespace {

template <class F> F find(void *library, const char *name) {
  return reinterpret_cast<F>(dlsym(library, name));
}

} // namespace

int main() {
  void *hip = nullptr;
  for (const char *name : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"})
    if (!hip) hip = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!hip) return 2;
  const auto allocate = find<int (*)(void **, size_t)>(hip, "hipMalloc");
  const auto release = find<int (*)(void *)>(hip, "hipFree");
  const auto set = find<int (*)(void *, int, size_t)>(hip, "hipMemset");
  const auto copy = find<int (*)(void *, const void *, size_t, int)>(hip, "hipMemcpy");
  if (!allocate || !release || !set || !copy) return 2;
  for (const size_t size : {size_t{24} << 20, size_t{40} << 20}) {
    void *memory = nullptr;
    if (allocate(&memory, size) != 0) return 3;
    std::vector<unsigned char> back(size);
    if (set(memory, 0x5a, size) != 0 || copy(back.data(), memory, size, 2) != 0) return 4;
    for (const unsigned char byte : back)
      if (byte != 0x5a) return 5;
    if (release(memory) != 0) return 6;
  }
  std::puts("right");
  return 0;
}
