// More ways to touch memory: buffer descriptors, loads to LDS, atomics of all kinds, uncommon shapes.
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ void

__device__ inline int globalId() { return blockIdx.x * blockDim.x + threadIdx.x; }

typedef int Words __attribute__((ext_vector_type(4)));
typedef float Floats __attribute__((ext_vector_type(4)));

__device__ int rawLoad(Words, int, int, int) __asm("llvm.amdgcn.raw.buffer.load.i32");
__device__ Floats rawLoad4(Words, int, int, int) __asm("llvm.amdgcn.raw.buffer.load.v4f32");
__device__ void rawStore(int, Words, int, int, int) __asm("llvm.amdgcn.raw.buffer.store.i32");
__device__ int structLoad(Words, int, int, int, int) __asm("llvm.amdgcn.struct.buffer.load.i32");
__device__ void structStore(int, Words, int, int, int, int) __asm("llvm.amdgcn.struct.buffer.store.i32");
__device__ int rawAdd(int, Words, int, int, int) __asm("llvm.amdgcn.raw.buffer.atomic.add.i32");
__device__ int structSwap(int, int, Words, int, int, int, int)
    __asm("llvm.amdgcn.struct.buffer.atomic.cmpswap.i32");

// The last word of a descriptor. From gfx10 on it says how the end of the buffer is checked: bits 28
// and 29 are 3 for raw buffers and 0 or 1 for structures.
#if defined(__GFX9__)
constexpr int raw_format = 0x00020000, struct_format = raw_format, indexed_format = raw_format;
#elif defined(__GFX10__)
constexpr int raw_format = 0x31014000, struct_format = 0x01014000, indexed_format = 0x11014000;
#else
constexpr int raw_format = 0x31004000, struct_format = 0x01004000, indexed_format = 0x11004000;
#endif

__device__ inline Words descriptor(const void *base, int stride, int records, int format) {
  unsigned long long at = reinterpret_cast<unsigned long long>(base);
  return Words{int(at), int(at >> 32 & 0xffff) | stride << 16, records, format};
}

// Some lanes lie beyond the end of the buffer and touch nothing.
KERNEL raw_buffers(const int *in, int *out, int bytes, int shift) {
  int i = globalId();
  Words from = descriptor(in, 0, bytes, raw_format);
  Words to = descriptor(out, 0, bytes, raw_format);
  int v = rawLoad(from, i * 4, shift, 0);
  Floats wide = rawLoad4(from, (i & 15) * 16, 0, 0);
  rawStore(v + int(wide.y), to, i * 4 + 8, shift, 0);
}

KERNEL struct_buffers(const int *in, int *out, int records, int shift) {
  int i = globalId();
  Words from = descriptor(in, 12, records, struct_format);
  Words to = descriptor(out, 12, records, struct_format);
  int v = structLoad(from, i, 4, shift, 0);
  structStore(v, to, records - 1 - i, 8, 0, 0);
}

KERNEL buffer_atomics(int *counts, int *slots, int bytes, int records) {
  int i = globalId();
  rawAdd(i, descriptor(counts, 0, bytes, raw_format), (i & 31) * 4, 0, 0);
  structSwap(i + 1, 0, descriptor(slots, 8, records, indexed_format), i, 4, 0, 0);
}

KERNEL lds_atomics(const int *in, int *out, unsigned long long *wide) {
  __shared__ int least;
  __shared__ unsigned long long sum[4];
  __shared__ int owner[64];
  int i = threadIdx.x;
  if (i == 0)
    least = 1 << 30;
  if (i < 4)
    sum[i] = 0;
  if (i < 64)
    owner[i] = -1;
  __syncthreads();
  atomicMin(&least, in[globalId()]);
  atomicAdd(&sum[i & 3], (unsigned long long)i);
  atomicCAS(&owner[i & 63], -1, i & 63);
  __syncthreads();
  if (i < 64)
    out[blockIdx.x * 64 + i] = owner[i] + least;
  if (i < 4)
    wide[blockIdx.x * 4 + i] = sum[i];
}

KERNEL float_atomics(float *a, double *b) {
  int i = globalId();
  atomicAdd(&a[i], 0.5f);
  atomicAdd(&b[i], 0.25);
}

struct Header {
  unsigned short kind;
  unsigned char flags[3];
  char tail;
};

KERNEL small_fields(Header *headers, int n) {
  int i = globalId();
  if (i < n) {
    headers[i].flags[i % 3] = headers[i].kind & 255;
    if (headers[i].tail > 20)
      headers[i].kind = 7;
  }
}

// Members of different sizes that are read and written whole, as HIP 6 does it with a float4.
typedef long Loose __attribute__((aligned(4)));
struct alignas(16) Mixed {
  float first;
  Loose middle;
  float last;
};

KERNEL mixed_widths(const Mixed *in, Mixed *out) {
  int i = globalId();
  float first = in[i].first, last = in[i].last;
  Loose middle = in[i].middle;
  out[i].first = first * 2;
  out[i].middle = middle;
  out[i].last = last + 1;
}

// A switch of many ways: lanes of a wave go all of them.
KERNEL ways(const int *in, int *out) {
  int i = globalId();
  switch (in[i] % 6) {
  case 0: out[i] = in[i ^ 1]; break;
  case 1: out[i] = in[i] + in[0]; break;
  case 2: out[i] += 3; break;
  case 3:
    for (int k = 0; k < in[i] % 4; ++k)
      out[i] += in[k];
    break;
  case 4: return;
  default: out[i] = -1;
  }
}

struct Matrix {
  float m[3][3];
};
__device__ __noinline__ float determinant(Matrix a, const float *scale, int i) {
  float d = a.m[0][0] * (a.m[1][1] * a.m[2][2] - a.m[1][2] * a.m[2][1]);
  return d * scale[i];
}
__device__ __noinline__ float twice(const float *p, int i) {
  Matrix a = {{{p[i], 1, 2}, {3, p[i + 1], 5}, {6, 7, p[i + 2]}}};
  return determinant(a, p, i) + determinant(a, p, i + 1);
}
KERNEL nested_calls(const float *in, float *out, int n) {
  int i = globalId();
  if (i < n)
    out[i] = twice(in, i);
}

// Overlapping, with a length known only when it runs.
KERNEL moves(char *p, const int *lengths) {
  int i = globalId();
  __builtin_memmove(p + i * 64 + 5, p + i * 64, lengths[i]);
}

template <typename T, int N> __device__ T sumOf(const T *p) {
  T sum = 0;
#pragma unroll
  for (int i = 0; i < N; ++i)
    sum += p[i];
  return sum;
}
KERNEL unrolled(const short *in, long long *out, int n) {
  int i = globalId();
  if (i < n)
    out[i] = sumOf<short, 7>(in + i * 7) + (long long)sumOf<short, 3>(in);
}
