// A kernel with a twin as the instrumentation names it, and one without.
#include "gpu.h"
extern "C" __global__ void scale(float *data, float factor) { data[thread_x()] *= factor; }
extern "C" __global__ void __fade_scale(float *data, float factor, void *control) {
  if (control != nullptr) *static_cast<volatile int *>(control) = 1;
  data[thread_x()] *= factor;
}
extern "C" __global__ void plain(int *out) { out[0] = 1; }
