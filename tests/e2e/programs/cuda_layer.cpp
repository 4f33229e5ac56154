// A library with CUDA's names that calls HIP, as ZLUDA does: it loads HIP for itself and takes each
// function with dlsym.
#include <cstddef>
#include <dlfcn.h>
#include <initializer_list>

#define EXPORT extern "C" __attribute__((visibility("default")))

static void *hip() {
  static void *const library = [] {
    for (const char *name : {"libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so.7"})
      if (void *found = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return found;
    return static_cast<void *>(nullptr);
  }();
  return library;
}
template <typename Function> static Function *take(const char *name) {
  return reinterpret_cast<Function *>(dlsym(hip(), name));
}

// Its frame stays: no jump at the end.
EXPORT int cudaMalloc(void **memory, std::size_t size) {
  volatile int result = take<int(void **, std::size_t)>("hipMalloc")(memory, size);
  return result;
}

// Nothing but a jump, as compilers make of such a function: it is on no stack.
EXPORT int cudaFree(void *memory) {
  static auto *const release = take<int(void *)>("hipFree");
#if defined(__clang__)
  [[clang::musttail]] return release(memory);
#else
  return release(memory);
#endif
}
