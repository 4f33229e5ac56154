// Kernels whose operations, and bytes through every level, are worked out by hand in
// tests/e2e/profile.py (test_rooflines_are_those_worked_out_by_hand): 1024 work-items each, in
// workgroups of 256, unless they say otherwise.
#include <hip/hip_runtime.h>

#include "check.h"

typedef float f32x2 __attribute__((ext_vector_type(2)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x8 __attribute__((ext_vector_type(8)));
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef double f64x4 __attribute__((ext_vector_type(4)));
typedef int i32x2 __attribute__((ext_vector_type(2)));
typedef int i32x4 __attribute__((ext_vector_type(4)));
typedef short i16x2 __attribute__((ext_vector_type(2)));
typedef short i16x4 __attribute__((ext_vector_type(4)));
typedef short i16x8 __attribute__((ext_vector_type(8)));
typedef short i16x16 __attribute__((ext_vector_type(16)));
typedef _Float16 f16x2 __attribute__((ext_vector_type(2)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
typedef _Float16 f16x8 __attribute__((ext_vector_type(8)));
typedef _Float16 f16x16 __attribute__((ext_vector_type(16)));

__device__ unsigned item() { return blockIdx.x * blockDim.x + threadIdx.x; }

// ---- arithmetic
__global__ void f64_chain(double *to, const double *from, int turns) {
  double x = from[item()];
#pragma unroll 4
  for (int i = 0; i < turns; ++i) x = __builtin_fma(x, 0.5, 1.0);
  to[item()] = x;
}
__global__ void f32_packed(f32x2 *to, const f32x2 *from, int turns) {
  f32x2 x = from[item()];
  for (int i = 0; i < turns; ++i) x = __builtin_elementwise_fma(x, x, x);
  to[item()] = x * x;
}
__global__ void f16_packed(f16x2 *to, const f16x2 *from, int turns) {
  f16x2 x = from[item()];
  for (int i = 0; i < turns; ++i) x = __builtin_elementwise_fma(x, x, x);
  to[item()] = x * x;
}
__global__ void dot(float *to, const f16x2 *from) {
  to[item()] = __builtin_amdgcn_fdot2(from[item()], from[item()], 1.0f, false);
}
__global__ void matrix(float *to, const float *from) {
  const float x = from[item()];
#if __gfx908__ || __gfx90a__ || __gfx942__ || __gfx950__
  const auto half = static_cast<_Float16>(x);
  const f16x4 h = {half, half, half, half};
  f32x16 a = {};
  for (int i = 0; i < 5; ++i) a = __builtin_amdgcn_mfma_f32_32x32x2f32(x, x, a, 0, 0, 0);
#if __gfx908__
  const i16x2 s = {static_cast<short>(item()), 2};
  a = __builtin_amdgcn_mfma_f32_32x32x4bf16(s, s, a, 0, 0, 0);
#else
  const i16x4 s = {static_cast<short>(item()), 2, 3, 4};
  a = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(s, s, a, 0, 0, 0);
#endif
  f32x4 b = {};
  b = __builtin_amdgcn_mfma_f32_16x16x16f16(h, h, b, 0, 0, 0);
  b = __builtin_amdgcn_mfma_f32_4x4x4f16(h, h, b, 0, 0, 0); // 16 blocks
#if !__gfx908__
  f64x4 c = {};
  c = __builtin_amdgcn_mfma_f64_16x16x4f64(x, x, c, 0, 0, 0);
  const double d = __builtin_amdgcn_mfma_f64_4x4x4f64(x, 2.0, 1.0, 0, 0, 0); // 4 blocks
  asm volatile("" ::"v"(c), "v"(d));
#endif
  i32x4 n = {};
#if __gfx908__ || __gfx90a__
  n = __builtin_amdgcn_mfma_i32_16x16x16i8(static_cast<int>(item()), 3, n, 0, 0, 0);
#else
  n = __builtin_amdgcn_mfma_i32_16x16x32_i8(item(), 3, n, 0, 0, 0);
  b = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(item(), 3, b, 0, 0, 0);
#endif
  asm volatile("" ::"v"(a), "v"(b), "v"(n));
#elif __GFX12__
  f16x8 h;
  i16x8 s;
  for (int i = 0; i < 8; ++i) h[i] = static_cast<_Float16>(x), s[i] = static_cast<short>(item());
  const i32x2 q = {static_cast<int>(item()), 3};
  f32x8 a = {};
  for (int i = 0; i < 3; ++i) a = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(h, h, a);
  a = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(s, s, a);
  a = __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(q, q, a);
  asm volatile("" ::"v"(a));
#elif __GFX11__
  f16x16 h;
  i16x16 s;
  for (int i = 0; i < 16; ++i) h[i] = static_cast<_Float16>(x), s[i] = static_cast<short>(item());
  f32x8 a = {};
  for (int i = 0; i < 3; ++i) a = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(h, h, a);
  a = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(s, s, a);
  asm volatile("" ::"v"(a));
#endif
  to[item()] = x;
}

// ---- lanes that do not take part
__global__ void divergent(float *to) {
  float x = item();
#pragma unroll 1
  for (unsigned i = 0; i < threadIdx.x % 16; ++i)
    asm volatile("v_fma_f32 %0, %0, %0, %0" : "+v"(x));
  to[item()] = x;
}
__global__ void partial(float *to, const float *from, unsigned n) {
  if (item() < n) to[item()] = from[item()] * 3.0f;
}
__device__ __attribute__((noinline)) float called(float x) {
  return __builtin_fmaf(x, x, 2.0f) * x;
}
__global__ void calls(float *to) { to[item()] = called(item()) + called(threadIdx.x); }

// ---- memory
__global__ void stencil(float *to, const float *from, unsigned n) {
  const unsigned i = item();
  if (i < 2 || i >= n - 2) return;
  to[i] = 0.1f * from[i - 2] + 0.2f * from[i - 1] + 0.4f * from[i] + 0.2f * from[i + 1] +
          0.1f * from[i + 2];
}
__global__ void gather(float *to, const float *from, const unsigned *at) {
  to[item()] = from[at[item()]] + 1.0f;
}
/// 64 times 64, in workgroups of 16 times 16.
__global__ void transpose(float *to, const float *from) {
  const unsigned x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  to[x * 64 + y] = from[y * 64 + x];
}
__global__ void tiled(float *c, const float *a, const float *b) {
  __shared__ float as[16][16], bs[16][16];
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const unsigned row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (unsigned t = 0; t < 64; t += 16) {
    as[y][x] = a[row * 64 + t + x];
    bs[y][x] = b[(t + y) * 64 + column];
    __syncthreads();
    for (unsigned k = 0; k < 16; ++k) sum = __builtin_fmaf(as[y][k], bs[k][x], sum);
    __syncthreads();
  }
  c[row * 64 + column] = sum;
}
__global__ void reduction(float *to, const float *from) {
  __shared__ float part[256];
  const unsigned t = threadIdx.x;
  part[t] = from[item()];
  __syncthreads();
#pragma unroll 1
  for (unsigned s = 128; s != 0; s >>= 1) {
    if (t < s) part[t] += part[t + s];
    __syncthreads();
  }
  if (t == 0) to[blockIdx.x] = part[0];
}
__global__ void wide(float4 *to, const float4 *from) {
  const float4 a = from[item() * 2], b = from[item() * 2 + 1];
  to[item()] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__global__ void scalar(float *to, const float *table, int n) {
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) sum += table[i];
  to[item()] = sum;
}
/// The compiler loads four at a time by the scalar unit.
__global__ void scratch(float *to, const int *from) {
  float all[32];
  for (int i = 0; i < 32; ++i) all[i] = i + threadIdx.x;
  for (int i = 0; i < 8; ++i) all[from[i] & 31] = all[(from[i] + threadIdx.x) & 31] * 2.0f;
  float sum = 0;
  for (float x : all) sum += x;
  to[item()] = sum;
}
__global__ void atomics(unsigned *to, unsigned long long *wide, float *single) {
  atomicAdd(to + item() % 128, item());
  atomicMax(wide + threadIdx.x, static_cast<unsigned long long>(item()));
  atomicExch(single + item(), 1.0f);
}
__global__ void one_counter(unsigned *to) { atomicAdd(to, 1u); } // by one lane of each wave

int main() {
  constexpr unsigned kItems = 1024;
  unsigned at[kItems];
  for (unsigned i = 0; i < kItems; ++i) at[i] = i * 17 % kItems;
  double *a = nullptr, *b = nullptr, *c = nullptr;
  for (double **one : {&a, &b, &c}) {
    CHECK(hipMalloc(one, 1 << 18));
    CHECK(hipMemset(*one, 0, 1 << 18));
  }
  CHECK(hipMemcpy(c, at, sizeof at, hipMemcpyHostToDevice));
  auto *fa = reinterpret_cast<float *>(a), *fb = reinterpret_cast<float *>(b),
       *fc = reinterpret_cast<float *>(c);
  auto *words = reinterpret_cast<unsigned *>(c);
  f64_chain<<<4, 256>>>(a, b, 50);
  f32_packed<<<4, 256>>>(reinterpret_cast<f32x2 *>(a), reinterpret_cast<f32x2 *>(b), 9);
  f16_packed<<<4, 256>>>(reinterpret_cast<f16x2 *>(a), reinterpret_cast<f16x2 *>(b), 9);
  dot<<<4, 256>>>(fa, reinterpret_cast<f16x2 *>(b));
  matrix<<<4, 256>>>(fa, fb);
  divergent<<<4, 256>>>(fa);
  partial<<<4, 256>>>(fa, fb, 1000);
  calls<<<4, 256>>>(fa);
  stencil<<<4, 256>>>(fa, fb, 1000);
  gather<<<4, 256>>>(fa, fb, words);
  transpose<<<dim3(4, 4), dim3(16, 16)>>>(fa, fb);
  tiled<<<dim3(4, 4), dim3(16, 16)>>>(fa, fb, fc);
  reduction<<<4, 256>>>(fa, fb);
  wide<<<4, 256>>>(reinterpret_cast<float4 *>(a), reinterpret_cast<float4 *>(b));
  scalar<<<4, 256>>>(fa, fb, 40);
  scratch<<<4, 256>>>(fa, reinterpret_cast<int *>(c));
  atomics<<<4, 256>>>(reinterpret_cast<unsigned *>(a), reinterpret_cast<unsigned long long *>(b),
                      fc);
  one_counter<<<4, 256>>>(words);
  CHECK(hipDeviceSynchronize());
}
