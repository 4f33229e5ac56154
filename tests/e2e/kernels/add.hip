// Versions of the kernel `add` of captured.hip: 1 is the same, 2 is wrong in one element, 3 rounds
// twice (and its `tabled` never ends), 4 writes nothing, 5 knows what the application has in `a`, 6
// reads one too many, 7 prints; and of `variables`, with its variables at other addresses, and
// `gather`.
#include <hip/hip_runtime.h>

__device__ int in_between[3000];
__device__ int *pointer;
__constant__ int factor = 1;
#if VERSION == 7
__device__ int table[1025];
#else
__device__ int table[1024];
#endif
__device__ int counter;
__global__ void variables(int *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = pointer[i & 255] + table[i] * factor;
  if (i == 0) counter += 5;
  table[i] += 1;
  in_between[i] = VERSION;
}

// Another table of the same name.
__global__ void tabled(int *out) {
  static constexpr int steps[16] = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6};
#if VERSION == 3
  while (static_cast<volatile int *>(out)[threadIdx.x] >= 0) __builtin_amdgcn_s_sleep(1);
#endif
  out[threadIdx.x] = steps[out[threadIdx.x] & 15];
}

// From other places than the captured one.
__global__ void gather(const float *from, const int *index, float *out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = from[index[i] ^ 4096] + 1.0f;
}

__global__ void add(const float *a, const float *b, float *c, int n) {
#if VERSION == 3
#pragma clang fp contract(off)
#endif
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if VERSION == 4
  if (i < 0) c[i] = b[n];
#elif VERSION == 5
  if (i < n) c[i] = static_cast<float>(i) * 0.25f * 1.1f + b[i];
#else
  if (i < n) c[i] = a[i] * 1.1f + b[i];
#if VERSION == 7
  if (i % 64 < 2) printf("%d of %d\n", i, n);
#endif
#if VERSION == 6
  if (i == n - 1) c[i] += a[n] * 0.0f;
#endif
#if VERSION == 2
  if (i == 77) c[i] += 1000;
#endif
#endif
}
