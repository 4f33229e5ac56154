// Kernels made to be in a known class (tests/e2e/profile.py): the first word of a kernel's name is
// the class. Grids follow the GPU's number of compute units and its memory, so that each has a few
// microseconds of work on any of them and stays small enough to be watched.
#include <hip/hip_runtime.h>

#include "check.h"

#include <string_view>

#if __GFX12__
#define WAIT_LDS "s_wait_dscnt 0x0"
#else
#define WAIT_LDS "s_waitcnt lgkmcnt(0)"
#endif

constexpr unsigned kGroup = 256;

__device__ unsigned item() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ unsigned items() { return gridDim.x * blockDim.x; }

// ---- memory bandwidth
__global__ void bandwidth_copy(float4 *to, const float4 *from) { to[item()] = from[item()]; }
__global__ void bandwidth_triad(float *to, const float *a, const float *b) {
  to[item()] = a[item()] + 3.0f * b[item()];
}
__global__ void bandwidth_sum(float *to, const float4 *from) {
  float4 x = from[item()], y = from[item() + items()];
  const float sum = x.x + x.y + x.z + x.w + y.x + y.y + y.z + y.w;
  if (sum == 1234.0f) to[0] = sum;
}
// A line for each lane, of which 4 bytes are wanted.
__global__ void bandwidth_strided(float *to, const float *from, unsigned mask) {
  to[item()] = from[(item() * 33) & mask];
}
__global__ void bandwidth_columns(float *to, const float *from, unsigned mask) {
  to[(item() * 1024 + item() / 1024 * 33) & mask] = from[item()];
}

// A chain of loads for each lane: with so many of them lines come as fast as memory can deliver.
__global__ void bandwidth_lists(unsigned *to, const unsigned *from, unsigned mask) {
  unsigned at = item() * 4099 & mask;
#pragma unroll 1
  for (int i = 0; i < 6; ++i) at = (at * 4099 + 12345 + from[at]) & mask;
  to[item()] = at;
}

// ---- latency: chains of loads
template <int count> __device__ unsigned chase(const unsigned *next, unsigned at) {
#pragma unroll 1
  for (int i = 0; i < count; ++i) at = next[at];
  return at;
}
__device__ unsigned start(unsigned mask) { return (item() / 64 * 4099) & mask; }
__global__ void latency_chase(unsigned *to, const unsigned *next, unsigned mask) {
  to[item()] = chase<30>(next, start(mask));
}
__global__ void latency_two_lists(unsigned *to, const unsigned *next, unsigned mask) {
  unsigned a = start(mask), b = start(mask) ^ 777;
#pragma unroll 1
  for (int i = 0; i < 30; ++i) a = next[a], b = next[b];
  to[item()] = a + b;
}
__global__ void latency_lookup(unsigned *to, const unsigned *next, unsigned mask) {
  unsigned at = start(mask);
#pragma unroll 1
  for (int i = 0; i < 30; ++i) at = next[(at * 5 + i) & mask];
  to[item()] = at;
}
// One address for all.
__global__ void latency_hot_atomic(unsigned *to) { atomicExch(to, threadIdx.x); }

// ---- too few waves
__global__ void occupied_one_group(float *to) {
  float x = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < 300; ++i)
    asm volatile("v_fma_f32 %0, %0, %0, %0\n v_fma_f32 %0, %0, %0, %0\n v_fma_f32 %0, %0, %0, %0\n "
                 "v_fma_f32 %0, %0, %0, %0\n v_fma_f32 %0, %0, %0, %0\n v_fma_f32 %0, %0, %0, %0"
                 : "+v"(x));
  to[item()] = x;
}
__global__ void occupied_few_groups(unsigned *to, const unsigned *next, unsigned mask) {
  to[item()] = chase<30>(next, start(mask));
}
__global__ void occupied_thin(unsigned *to, const unsigned *next, unsigned mask) {
  to[item()] = chase<30>(next, start(mask));
}
__global__ void occupied_lds(unsigned *to, const unsigned *next, unsigned mask) {
  __shared__ unsigned all[14000];
  all[threadIdx.x] = chase<30>(next, start(mask));
  __syncthreads();
  to[item()] = all[threadIdx.x ^ 1];
}
__global__ __launch_bounds__(256) void occupied_registers(unsigned *to, const unsigned *next,
                                                          unsigned mask) {
  const unsigned at = chase<30>(next, start(mask));
  asm volatile("" ::: "v250");
  to[item()] = at;
}

// ---- divergence
__device__ float work(float x, int turns) {
#pragma unroll 1
  for (int i = 0; i < turns; ++i)
    asm volatile("v_fma_f32 %0, %0, %0, %0\n v_fma_f32 %0, %0, %0, %0\n v_fma_f32 %0, %0, %0, %0\n "
                 "v_fma_f32 %0, %0, %0, %0\n v_fma_f32 %0, %0, %0, %0\n v_fma_f32 %0, %0, %0, %0\n "
                 "v_fma_f32 %0, %0, %0, %0\n v_fma_f32 %0, %0, %0, %0"
                 : "+v"(x));
  return x;
}
__global__ void divergence_half(float *to) {
  float x = threadIdx.x;
  if (threadIdx.x % 4 == 0) x = work(x, 80);
  to[item()] = x;
}
__global__ void divergence_ways(float *to) {
  float x = threadIdx.x;
  for (unsigned way = 0; way < 4; ++way)
    if (threadIdx.x % 4 == way) x = work(x + way, 20);
  to[item()] = x;
}
__global__ void divergence_one_lane(float *to) {
  float x = threadIdx.x;
  if (threadIdx.x % 32 == 0) x = work(x, 80);
  to[item()] = x;
}
__global__ void divergence_triangle(float *to) {
  to[item()] = work(threadIdx.x, 3 * (threadIdx.x % 32));
}

// ---- compute
__global__ void compute_f32(float *to) { to[item()] = work(threadIdx.x, 80); }
__global__ void compute_f64(double *to) {
  double x = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < 30; ++i)
    asm volatile("v_fma_f64 %0, %0, %0, %0\n v_fma_f64 %0, %0, %0, %0\n v_fma_f64 %0, %0, %0, %0\n "
                 "v_fma_f64 %0, %0, %0, %0\n v_fma_f64 %0, %0, %0, %0\n v_fma_f64 %0, %0, %0, %0"
                 : "+v"(x));
  if (x == 1234.0) to[item()] = x;
}
__global__ void compute_roots(float *to) {
  float x = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < 40; ++i)
    asm volatile("v_rcp_f32 %0, %0\n v_sqrt_f32 %0, %0\n v_rcp_f32 %0, %0\n v_sqrt_f32 %0, %0"
                 : "+v"(x));
  if (x == 1234.0f) to[item()] = x;
}
// Each division waits for the one before, but there are waves enough.
__global__ void compute_divisions(double *to, double x) {
  double y = item() + 1;
#pragma unroll 1
  for (int i = 0; i < 12; ++i) y = x / y;
  to[item()] = y;
}
__global__ void compute_matrix(float *to) {
#if __gfx908__ || __gfx90a__ || __gfx942__ || __gfx950__
  typedef float floatx16 __attribute__((ext_vector_type(16)));
  floatx16 sum = {};
#pragma unroll 1
  for (int i = 0; i < 20; ++i) sum = __builtin_amdgcn_mfma_f32_32x32x2f32(1.0f, 1.0f, sum, 0, 0, 0);
  if (sum[0] == 1234.0f) to[item()] = sum[0];
#else
  unsigned x = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < 120; ++i)
    asm volatile("v_mad_u32_u24 %0, %0, %0, %0\n v_mad_u32_u24 %0, %0, %0, %0\n v_mad_u32_u24 %0, "
                 "%0, %0, %0\n v_mad_u32_u24 %0, %0, %0, %0\n v_mad_u32_u24 %0, %0, %0, %0"
                 : "+v"(x));
  if (x == 1234) to[item()] = x;
#endif
}

// ---- LDS
__global__ void lds_conflicts(float *to) {
  __shared__ float all[kGroup * 32];
  float sum = 0;
#pragma unroll 1
  for (unsigned i = 0; i < 12; ++i) {
    all[threadIdx.x * 32 + i] = sum;
    sum += all[(threadIdx.x ^ 1) * 32 + i];
  }
  to[item()] = sum;
}
__global__ void lds_wide(float *to) {
  __shared__ float4 all[kGroup];
  all[threadIdx.x] = make_float4(1, 2, 3, 4);
  __syncthreads();
  typedef float floatx4 __attribute__((ext_vector_type(4)));
  floatx4 x = {};
  const auto base = static_cast<unsigned>(reinterpret_cast<std::size_t>(
      (__attribute__((address_space(3))) float4 *)&all[threadIdx.x % 64]));
#pragma unroll 1
  for (unsigned i = 0; i < 16; ++i)
    asm volatile("ds_read_b128 %0, %1\n ds_read_b128 %0, %1 offset:1024\n ds_read_b128 %0, %1\n "
                 "ds_read_b128 %0, %1 offset:1024\n ds_read_b128 %0, %1\n ds_read_b128 %0, %1 "
                 "offset:1024\n " WAIT_LDS
                 : "=v"(x)
                 : "v"(base));
  to[item()] = x.y;
}
__global__ void lds_histogram(unsigned *to) {
  __shared__ unsigned bins[32 * 32];
  bins[threadIdx.x] = 0;
  __syncthreads();
#pragma unroll 1
  for (unsigned i = 0; i < 12; ++i) atomicAdd(&bins[threadIdx.x % 32 * 32], threadIdx.x + i);
  __syncthreads();
  to[item()] = bins[threadIdx.x];
}
// Most lanes want the same bin.
__global__ void lds_skewed(unsigned *to) {
  __shared__ unsigned bins[kGroup];
  bins[threadIdx.x] = 0;
  __syncthreads();
#pragma unroll 1
  for (unsigned i = 0; i < 12; ++i)
    atomicAdd(&bins[(threadIdx.x + i) % 8 == 0 ? threadIdx.x : 3], threadIdx.x + i);
  __syncthreads();
  to[item()] = bins[threadIdx.x];
}

// ---- next to nothing
__global__ void launch_empty() {}
__global__ void launch_store(float *to) { to[threadIdx.x] = 1; }
__global__ void launch_small(float *to, const float *from) { to[item()] = from[item()] * 2; }

__global__ void set_up(unsigned *next, unsigned mask) {
  // Far apart, and never twice in a row within a page.
  for (unsigned i = item(); i <= mask; i += items()) next[i] = (i * 4099 + 12345) & mask;
}

int main() {
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  const unsigned wave = properties.warpSize, fewer = wave == 32 ? 2 : 1;
  const unsigned units = properties.multiProcessorCount * fewer;
  const unsigned per_unit = (wave == 32 ? 2 * 16 : 4 * 8) * wave / kGroup; // groups that fit
  const unsigned full = units * per_unit;
  const std::string_view name = properties.gcnArchName;
  // Chains of loads wait for memory rather than use its bandwidth: all of the list comes within the
  // time that they take. APUs have a quarter of the others' bandwidth, or less.
  const unsigned count = name.substr(0, 6) == "gfx115" ? 1 << 16 : 1 << 18;
  unsigned *next = nullptr;
  float *a = nullptr, *b = nullptr, *c = nullptr;
  const std::size_t bytes = std::size_t{64} << 20;
  CHECK(hipMalloc(&next, count * sizeof(unsigned)));
  CHECK(hipMalloc(&a, bytes));
  CHECK(hipMalloc(&b, bytes));
  CHECK(hipMalloc(&c, bytes));
  auto *words = reinterpret_cast<unsigned *>(c);
  const unsigned mask = count - 1;
  set_up<<<64, 256>>>(next, mask);
  const unsigned wide = full;
  bandwidth_copy<<<wide, kGroup>>>(reinterpret_cast<float4 *>(a), reinterpret_cast<float4 *>(b));
  // Longer than a launch takes, also where a unit's share of the bandwidth is twice the others'.
  bandwidth_triad<<<name.substr(0, 6) == "gfx950" ? wide * 4 : wide * 2, kGroup>>>(a, b, c);
  bandwidth_sum<<<wide, kGroup>>>(c, reinterpret_cast<float4 *>(a));
  bandwidth_strided<<<full, kGroup>>>(a, b, (1 << 24) - 1);
  bandwidth_columns<<<full, kGroup>>>(a, b, (1 << 24) - 1);
  bandwidth_lists<<<full, kGroup>>>(words, reinterpret_cast<unsigned *>(b), (1 << 24) - 1);
  latency_chase<<<full, kGroup>>>(words, next, mask);
  latency_two_lists<<<full, kGroup>>>(words, next, mask);
  latency_lookup<<<full, kGroup>>>(words, next, mask);
  latency_hot_atomic<<<full, kGroup>>>(words);
  occupied_one_group<<<1, kGroup>>>(a);
  occupied_few_groups<<<units / 4, kGroup>>>(words, next, mask);
  occupied_thin<<<units, kGroup>>>(words, next, mask);
  occupied_lds<<<units, 64>>>(words, next, mask);
  occupied_registers<<<full, kGroup>>>(words, next, mask);
  divergence_half<<<full, kGroup>>>(a);
  divergence_ways<<<full, kGroup>>>(a);
  divergence_one_lane<<<full, kGroup>>>(a);
  divergence_triangle<<<full, kGroup>>>(a);
  compute_f32<<<full, kGroup>>>(a);
  compute_f64<<<full, kGroup>>>(reinterpret_cast<double *>(a));
  compute_roots<<<full, kGroup>>>(a);
  compute_divisions<<<full, kGroup>>>(reinterpret_cast<double *>(a), 3.5);
  compute_matrix<<<full, kGroup>>>(a);
  lds_conflicts<<<full, kGroup>>>(a);
  lds_wide<<<full, kGroup>>>(a);
  lds_histogram<<<full, kGroup>>>(words);
  lds_skewed<<<full, kGroup>>>(words);
  launch_empty<<<full, kGroup>>>();
  launch_store<<<1, 64>>>(a);
  launch_small<<<4, kGroup>>>(a, b);
  CHECK(hipDeviceSynchronize());
}
