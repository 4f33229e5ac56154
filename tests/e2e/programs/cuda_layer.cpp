// A library with CUDA's names that calls HIP, as ZLUDA does.
#include <cstddef>
#include <dlfcn.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

static void *hip = nullptr;

EXPORT void layer_start(void *library) { hip = library; }

// Its caller's frame must stay: no jump at the end.
EXPORT int cudaMalloc(void **memory, std::size_t size) {
  const auto allocate = reinterpret_cast<int (*)(void **, std::size_t)>(dlsym(hip, "hipMalloc"));
  volatile int result = allocate(memory, size);
  return result;
}
