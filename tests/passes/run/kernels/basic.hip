// Kernels that touch memory in all the ways that HIP code does. Each is run with and without
// instrumentation; what it computes is of no interest beyond being the same.
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ void

__device__ inline int globalId() { return blockIdx.x * blockDim.x + threadIdx.x; }

KERNEL vadd(const float *a, const float *b, float *c, int n) {
  int i = globalId();
  if (i < n)
    c[i] = a[i] + b[i];
}

// 2-D workgroups and an LDS tile.
KERNEL transpose(const float *in, float *out, int n) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < n && y < n)
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x;
  y = blockIdx.x * 16 + threadIdx.y;
  if (x < n && y < n)
    out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}

KERNEL matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float as[16][16];
  __shared__ float bs[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
  float sum = 0;
  for (int t = 0; t < n; t += 16) {
    as[ty][tx] = a[row * n + t + tx];
    bs[ty][tx] = b[(t + ty) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k)
      sum += as[ty][k] * bs[k][tx];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// One row per lane: divergent loops, gathers.
KERNEL spmv(const int *rows, const int *columns, const float *values, const float *x, float *y, int n) {
  int row = globalId();
  if (row >= n)
    return;
  float sum = 0;
  for (int j = rows[row]; j < rows[row + 1]; ++j)
    sum += values[j] * x[columns[j]];
  y[row] = sum;
}

KERNEL reduction(const float *in, float *out, int n) {
  extern __shared__ float partial[];
  int i = globalId();
  partial[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s)
      partial[threadIdx.x] += partial[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = partial[0];
}

KERNEL histogram(const unsigned *in, unsigned *bins, int n) {
  __shared__ unsigned local[64];
  if (threadIdx.x < 64)
    local[threadIdx.x] = 0;
  __syncthreads();
  int i = globalId();
  if (i < n)
    atomicAdd(&local[in[i] % 64], 1u);
  __syncthreads();
  if (threadIdx.x < 64)
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

KERNEL strided(const int *in, int *out, int stride, int n) {
  int i = globalId();
  if (i % 3 != 0 && i < n)
    out[i] = in[i * stride];
}

KERNEL vectors(const float4 *in, double2 *out, int n) {
  int i = globalId();
  if (i < n) {
    float4 v = in[i];
    out[i] = double2{double(v.x + v.y), double(v.z + v.w)};
  }
}

KERNEL bytes(const unsigned char *in, unsigned short *out, int n) {
  int i = globalId();
  if (i < n)
    out[i] = in[n - 1 - i] * 3;
}

struct Pixel {
  int x, y;
  char name[20];
  double value;
};

KERNEL structs(const Pixel *in, Pixel *out, int n) {
  int i = globalId();
  if (i < n)
    out[i] = in[i];
}

KERNEL byvalue(Pixel p, int *out) {
  int i = globalId();
  out[i] = p.x + p.name[i % 20];
}

KERNEL copies(char *to, const char *from, const int *lengths, int n) {
  int i = globalId();
  if (i < n)
    __builtin_memcpy(to + i * 64, from + i * 64, lengths[i]);
}

KERNEL fills(char *to, const int *lengths, int n) {
  int i = globalId();
  if (i < n)
    __builtin_memset(to + i * 32, i, lengths[i]);
}

__device__ __noinline__ int pick(const int *p, int i) {
  return p[i];
}
__device__ __noinline__ void put(int *p, int i, int v) {
  p[i] = v;
}
KERNEL called(const int *in, int *out, int n) {
  int i = globalId();
  if (i < n)
    put(out, i, pick(in, i) + pick(in, n - 1 - i));
}

__device__ __noinline__ int walk(const int *p, int i, int depth) {
  if (depth == 0)
    return p[i];
  return p[i] + walk(p, i ^ depth, depth - 1);
}
KERNEL recursion(const int *in, int *out) {
  int i = globalId();
  out[i] = walk(in, i, 1 + (i & 3));
}

using Operation = int (*)(const int *, int);
__device__ __noinline__ int first(const int *p, int i) {
  return p[i];
}
__device__ __noinline__ int second(const int *p, int i) {
  return p[i ^ 1] * 2;
}
KERNEL pointers(const int *in, int *out) {
  int i = globalId();
  Operation operation = (i & 1) ? first : second;
  asm volatile("" : "+v"(operation));
  out[i] = operation(in, i);
}

struct Shape {
  __device__ virtual int area(const int *p, int i) const = 0;
};
struct Square : Shape {
  __device__ int area(const int *p, int i) const override {
    return p[i] * p[i];
  }
};
struct Circle : Shape {
  __device__ int area(const int *p, int i) const override {
    return p[i] * 3;
  }
};
KERNEL virtuals(const int *in, int *out) {
  int i = globalId();
  Square square;
  Circle circle;
  Shape *shape = (i & 2) ? static_cast<Shape *>(&square) : &circle;
  asm volatile("" : "+v"(shape));
  out[i] = shape->area(in, i);
}

__device__ int counter;
__constant__ int weights[64] = {1, 2, 3, 4, 5, 6, 7, 8};
KERNEL globals(int *out) {
  int i = globalId();
  atomicAdd(&counter, 1);
  out[i] = weights[i & 63];
}

KERNEL atomics(int *a, unsigned long long *b) {
  int i = globalId();
  atomicMax(&a[i & 7], i);
  atomicAdd(&b[i & 3], 5ull);
  int seen = atomicCAS(&a[8 + i], 0, i + 1); // one lane per word: who comes first must not matter
  atomicExch(&a[264 + i], seen == 0);
}

KERNEL shuffles(const int *in, int *out) {
  int i = globalId();
  int v = in[i];
  for (int d = 1; d < 32; d *= 2)
    v += __shfl_xor(v, d);
  out[i] = v + (int)__popcll(__ballot(v & 1));
}

KERNEL volatiles(volatile int *p) {
  int i = globalId();
  p[i] = p[i] + 1;
  p[i] = p[i] + 2;
}

// Which space a pointer leads to is known only when it runs.
KERNEL generic(const int *in, int *out, int n) {
  __shared__ int local[256];
  int own[4] = {1, 2, 3, 4};
  int i = globalId();
  local[threadIdx.x] = threadIdx.x;
  __syncthreads();
  const int *p = i % 3 == 0 ? in + i : i % 3 == 1 ? local + (threadIdx.x ^ 1) : own + (i & 3);
  asm volatile("" : "+v"(p));
  out[i] = *p;
}

KERNEL volumes(const int *in, int *out, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
      z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < nx && y < ny && z < nz)
    out[(z * ny + y) * nx + x] = in[(z * ny + y) * nx + (nx - 1 - x)] + in[x];
}

// Lanes leave at different times and places.
KERNEL exits(const int *in, int *out, int n) {
  int i = globalId();
  if (i >= n)
    return;
  int v = in[i];
  while (true) {
    if (v < 3) {
      out[i] = v;
      return;
    }
    if (v % 5 == 0) {
      out[i] = -v;
      return;
    }
    v = in[v % n] < v ? in[v % n] : v - 1;
  }
}

KERNEL nothing() {}
