// A libamdhip64 that finds the GPU and then does nothing: its launches return success, and no
// packet ever reaches a queue. For the tests of fadeprobe trace.
#include <cstddef>
#include <cstdint>
#include <hsa/hsa.h>

#define EXPORT extern "C" __attribute__((visibility("default"), noinline))

struct Dim3 {
  uint32_t x, y, z;
};

namespace {
volatile int calls = 0;
}

EXPORT int hipInit(unsigned) {
  calls = calls + 1;
  return hsa_init() == HSA_STATUS_SUCCESS ? 0 : 100;
}
EXPORT int hipLaunchKernel(const void *, Dim3, Dim3, void **, size_t, void *) {
  calls = calls + 1;
  return 0;
}
EXPORT int hipDeviceSynchronize() {
  calls = calls + 1;
  return 0;
}
