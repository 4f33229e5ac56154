// Kernels with few accesses of one kind each, to count what a record costs.
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ void

__device__ inline int globalId() { return blockIdx.x * blockDim.x + threadIdx.x; }

KERNEL one_store(int *out) {
  int i = globalId();
  out[i] = i;
}

// Different addresses for each access, so that nothing is shared between the calls.
KERNEL four_loads(const int *a, const int *b, const int *c, const int *d, int *out) {
  int i = globalId();
  int v = a[i] + b[i + 1] * c[i + 2] - d[i + 3];
  if (v == 0x12345678) // never: the loads must not be optimised away
    out[i] = v;
}

KERNEL in_a_loop(const int *in, int *out, int n) {
  int i = globalId(), v = 0;
#pragma unroll 1
  for (int k = 0; k < n; ++k)
    v += in[i + k * 256];
  if (v == 0x12345678)
    out[i] = v;
}

// A pointer of which the compiler does not know the space.
KERNEL one_flat_store(int *out) {
  int i = globalId();
  asm volatile("" : "+v"(out));
  out[i] = i;
}

KERNEL two_lds_accesses(int *out) {
  __shared__ int local[256];
  local[threadIdx.x] = threadIdx.x + 1;
  __syncthreads();
  if (local[255 - threadIdx.x] == -1) // never
    out[0] = 1;
}

// Lanes at random within 2 GiB.
KERNEL gather(const int *where, int *out) {
  int i = globalId();
  out[where[i]] = 1;
}

KERNEL gather_in_a_loop(const int *where, const int *in, int *out, int n) {
  int i = globalId(), v = 0;
#pragma unroll 1
  for (int k = 0; k < n; ++k)
    v += in[where[i + k * 256]];
  if (v == 0x12345678)
    out[i] = v;
}

KERNEL bins_in_a_loop(const int *where, int *out, int n) {
  __shared__ int bins[256];
  int i = globalId();
#pragma unroll 1
  for (int k = 0; k < n; ++k)
    atomicAdd(&bins[where[i + k * 256] & 255], 1);
  if (bins[threadIdx.x] == 0x12345678)
    out[i] = 1;
}

KERNEL some_lanes_gather(const int *where, int *out, int n) {
  int i = globalId();
  if ((i * 7) % 64 < n)
    out[where[i]] = 1;
}

// One access each of lanes that are not on one line: in rows of a matrix, scattered, alone.
KERNEL tile(int *out) {
  int i = globalId();
  out[i % 16 + i / 16 * 20] = i;
}

KERNEL scattered(int *out) {
  int i = globalId();
  out[(i * 0x9e3779b1u) >> 23] = 1;
}

KERNEL half_scattered(int *out) {
  unsigned i = globalId(), hash = i * 0x9e3779b1u;
  if (i % 32 < 2 || (hash >> 15 & 1))
    out[hash >> 23] = 1;
}

KERNEL one_lane(int *out) {
  int i = globalId();
  if (i % 64 == 7)
    out[i] = i;
}

// Branches and loops, for block counts.
KERNEL blocks(const int *in, int *out, int n) {
  int i = globalId(), v = in[i];
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    if (v & 1)
      v = v * 3 + in[v & 63];
    else
      v = v / 2 + in[(v >> 8) & 63];
    if (v % 7 == 0)
      out[i] = v;
  }
  out[i] += v;
}

// The same without accesses in them.
KERNEL blocks_alone(int *out, int n) {
  int i = globalId(), v = i;
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    if (k & 1)
      asm volatile("v_mul_lo_u32 %0, %0, 3" : "+v"(v)); // not to become a selection
    if (v & 8)
      asm volatile("v_xor_b32 %0, 5, %0" : "+v"(v));
  }
  out[i] = v;
}

// Each element of the result by itself: lanes of a row read the same element of `a`, which moves on
// by four bytes, and a line of `b`.
KERNEL naive_matmul(const float *a, const float *b, float *out, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = globalId();
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < n; ++k)
    sum += a[row * n + k] * b[k * n + column];
  out[row * n + column] = sum;
}
