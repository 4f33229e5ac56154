// Kernels of all shapes of control flow, for those who rewrite machine code. Prints a digest of
// what each of them has written.
#include "check.h"

#include <cstdio>
#include <cstring>
#include <vector>

// FULL: kernels leave no vector registers free.
#if defined(FULL)
#define KERNEL __global__ __launch_bounds__(256)
#define TAKE_VECTORS() asm volatile("v_mov_b32 v255, 0" ::: "v255")
#elif defined(WIDE) // the same, for workgroups of 1,024
#define KERNEL __global__ __launch_bounds__(1024)
#define TAKE_VECTORS() asm volatile("v_mov_b32 v127, 0" ::: "v127")
#else
#define KERNEL __global__
#define TAKE_VECTORS() static_cast<void>(0)
#endif

__device__ unsigned found[4];
__constant__ float weights[4] = {0.5f, 0.25f, 2, 1};

__device__ __attribute__((noinline)) float series(float x, int n) {
  float sum = 0;
  for (int i = 0; i < n; i++) sum = sum * x + i;
  return sum;
}

__device__ __attribute__((noinline)) int steps(int n) {
  return n <= 1 ? 0 : 1 + steps(n / 2); // without much stack
}

KERNEL void straight(const float *in, float *out, int n) {
  TAKE_VECTORS();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] + weights[i % 4];
}

KERNEL void diverging(const float *in, float *out, int n) {
  TAKE_VECTORS();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int j = 0; j < (i & 15); j++) {
    if ((i + j) % 3 == 0)
      sum += in[(i + j) % n];
    else if (j > 9)
      break;
    else
      sum -= in[j];
  }
  out[i] = sum;
  if (sum > 3) atomicAdd(&found[1], 1u);
}

KERNEL void together(const float *in, float *out, int n, int rounds) {
  TAKE_VECTORS();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = in[i % n];
  for (int k = 0; k < rounds; k++) {
    sum = sum * 1.01f + k;
    if (k == 3) sum -= 1;
    for (int l = 0; l < k; l++) sum += in[(i + l) % n] * weights[l % 4];
  }
  if (i < n) out[i] = sum;
}

KERNEL void shared(const float *in, float *out, int n) {
  TAKE_VECTORS();
  __shared__ float tile[256];
  const int i = threadIdx.x;
  tile[i] = in[(blockIdx.x * 256 + i) % n];
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (i < half) tile[i] += tile[i + half];
    __syncthreads();
  }
  if (i == 0) out[blockIdx.x] = tile[0];
}

KERNEL void calling(const float *in, float *out, int n) {
  TAKE_VECTORS();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = series(in[i], i & 7) + series(1.5f, 3);
}

KERNEL void recursive(float *out, int n) {
  TAKE_VECTORS();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = steps(i % 9 + 1);
}

KERNEL void spilling(const float *in, float *out, int n) {
  TAKE_VECTORS();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float last[40];
  for (int k = 0; k < 40; k++) last[k] = in[(i * 7 + k) % n];
  for (int k = 0; k < 40; k++) last[static_cast<int>(last[k] * 3) % 40] += k;
  float sum = 0;
  for (int k = 0; k < 40; k++) sum += last[k] * k;
  if (i < n) out[i] = sum;
}

// Through descriptors, as Triton and Tensile do it.
typedef unsigned Words __attribute__((ext_vector_type(4)));
typedef float Floats __attribute__((ext_vector_type(4)));
__device__ float load1(Words buffer, int offset, int scalar_offset,
                       int cache) __asm("llvm.amdgcn.raw.buffer.load.f32");
__device__ Floats load4(Words buffer, int offset, int scalar_offset,
                        int cache) __asm("llvm.amdgcn.raw.buffer.load.v4f32");
__device__ void store1(float value, Words buffer, int offset, int scalar_offset,
                       int cache) __asm("llvm.amdgcn.raw.buffer.store.f32");
__device__ int compareAndSwap(int value, int expected, Words buffer, int offset, int scalar_offset,
                              int cache) __asm("llvm.amdgcn.raw.buffer.atomic.cmpswap.i32");

__device__ __forceinline__ Words bufferOf(const float *at, int n) {
#if defined(__GFX9__)
  constexpr unsigned kind = 0x27000;
#elif defined(__GFX10__)
  constexpr unsigned kind = 0x31014000;
#else
  constexpr unsigned kind = 0x31004000;
#endif
  const auto address = reinterpret_cast<unsigned long>(at);
  return {static_cast<unsigned>(address), static_cast<unsigned>(address >> 32) & 0xffff,
          static_cast<unsigned>(n * sizeof(float)), kind};
}

KERNEL void through_buffers(const float *in, float *out, int n, int first) {
  TAKE_VECTORS();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const Words from = bufferOf(in, n), to = bufferOf(out, n);
  const Floats four = load4(from, i * 16, 0, 0); // three quarters of the lanes are outside
  const int before = compareAndSwap(1, 0, to, i * 4, 0, 0);
  store1(four.x + four.w + load1(from, i * 4 + 20, first * 4, 0) + (before == 0), to, i * 4, 0, 0);
}

// What nobody can move.
KERNEL void looking(float *out) {
  TAKE_VECTORS();
  unsigned long here;
  asm volatile("s_getpc_b64 %0" : "=s"(here));
  out[threadIdx.x] = here != 0 ? 1 : 0;
}

KERNEL void without_arguments() {
  TAKE_VECTORS();
  found[2] += threadIdx.x == 3;
}

int main() {
  constexpr int n = 1000;
  std::vector<float> host(n);
  for (int i = 0; i < n; i++) host[i] = i % 17 * 0.25f;
  float *in = nullptr, *out = nullptr;
  CHECK(hipMalloc(&in, n * sizeof(float)));
  CHECK(hipMalloc(&out, n * sizeof(float)));
  CHECK(hipMemcpy(in, host.data(), n * sizeof(float), hipMemcpyHostToDevice));
  const auto show = [&](const char *name) {
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(host.data(), out, n * sizeof(float), hipMemcpyDeviceToHost));
    unsigned digest = 0, all[4];
    for (const float value : host) {
      unsigned bits;
      std::memcpy(&bits, &value, sizeof bits);
      digest = digest * 31 + bits;
    }
    CHECK(hipMemcpyFromSymbol(all, HIP_SYMBOL(found), sizeof all));
    std::printf("%s %08x %u %u\n", name, digest, all[1], all[2]);
    CHECK(hipMemset(out, 0, n * sizeof(float)));
  };
  CHECK(hipMemset(out, 0, n * sizeof(float)));
  straight<<<4, 256>>>(in, out, n);
  show("straight");
  for (int twice = 0; twice < 2; twice++) diverging<<<4, 256>>>(in, out, n);
  show("diverging");
  together<<<dim3(5), 200>>>(in, out, n, 9);
  show("together");
  shared<<<3, 256>>>(in, out, n);
  show("shared");
  calling<<<4, 256>>>(in, out, n);
  show("calling");
  recursive<<<4, 256>>>(out, n);
  show("recursive");
  spilling<<<4, 256>>>(in, out, n);
  show("spilling");
  through_buffers<<<4, 256>>>(in, out, n, 2);
  show("through_buffers");
  looking<<<1, 64>>>(out);
  show("looking");
  without_arguments<<<1, 64>>>();
  show("without_arguments");
}
