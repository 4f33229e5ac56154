// Inlined calls several deep, loops, branches and a call that stays a call: for line tables, inline chains and blocks.
#include "gpu.h"

__device__ float scale(float x, float factor) { return x * factor + 1.0f; }

__device__ float twice(const float *in, unsigned i) {
  float a = scale(in[i], 2.0f);
  float b = scale(in[i + 1], 3.0f);
  return a + b;
}

template <int N> __device__ float sum(const float *in, unsigned start) {
  float total = 0;
  for (int k = 0; k < N; ++k) total += twice(in, start + k);
  return total;
}

__device__ __attribute__((noinline)) float stays_a_call(float x) {
  float y = x;
  for (int i = 0; i < 100 && y < 1e6f; ++i) y = y * y + x;
  return y;
}

extern "C" __global__ void nested(const float *in, float *out, int n) {
  unsigned i = global_x();
  if (i >= n) return;
  float value = sum<4>(in, i);
  if (value > 10.0f)
    value = stays_a_call(value);
  else
    value = scale(value, -1.0f);
  out[i] = value;
}

// Four loads of one line become one access of 16 bytes.
extern "C" __global__ void copy_four(const float *__restrict in, float *__restrict out) {
  unsigned i = 4 * global_x();
  float a = in[i], b = in[i + 1], c = in[i + 2], d = in[i + 3];
  out[i] = a, out[i + 1] = b, out[i + 2] = c, out[i + 3] = d;
}

extern "C" __global__ void loop(float *data, int n) {
  __shared__ float tile[256];
  float x = data[thread_x()];
  for (int k = 0; k < n; ++k) {
    tile[thread_x()] = x;
    synchronize();
    x = __builtin_fmaf(tile[(thread_x() + k) & 255], x, 1.0f);
    synchronize();
  }
  __atomic_fetch_add(reinterpret_cast<int *>(data) + 1024, static_cast<int>(x), __ATOMIC_RELAXED);
  data[thread_x()] = x;
}
