// Kernels whose accesses are of many kinds: side by side, far apart, in rows, anywhere, to LDS with
// and without conflicts, through pointers that may lead anywhere, atomics, copies, in functions
// that are called, in workgroups that are not whole. Prints a sum of all results.
#include "check.h"

#include <cstdint>
#include <vector>

constexpr int kCount = 4096;

__global__ void streams(const float *a, const float4 *b, float *out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const float4 four = b[i];
  out[i] = a[i] + a[i + 1] + four.x + four.w;
}

__global__ void apart(const int *in, int *out, int stride, int rounds) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  int sum = 0;
#pragma unroll 1
  for (int k = 0; k < rounds; ++k)
    if ((i + k) % 3 != 0) sum += in[(i * stride + k * 7) % kCount];
  out[kCount - 1 - i] = sum;
}

__global__ void rows(const int *in, int *out, int width) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  __shared__ int tile[16][16];
  if (x < width && y < width) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
  __syncthreads();
  if (x < width && y < width) out[x * width + y] = tile[threadIdx.x % 16][threadIdx.y];
}

__global__ void anywhere(const int *where, const int *in, int *out, unsigned *counts) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  out[i] = in[where[i]];
  atomicAdd(&counts[static_cast<unsigned>(where[i]) % 7], 1u);
  atomicAdd(&counts[8 + threadIdx.x % 4], 2u);
}

// Lanes that go anywhere, all of them or not, in LDS and in global memory, with elements of several
// sizes: again and again, so that few of them are worse than all before.
__global__ void bins(const int *where, const short *shorts, const double *doubles, int *out) {
  __shared__ unsigned counts[256];
  for (int i = static_cast<int>(threadIdx.x); i < 256; i += static_cast<int>(blockDim.x))
    counts[i] = 0;
  __syncthreads();
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  double sum = 0;
#pragma unroll 1
  for (int k = 0; k < 24; ++k) {
    const int at = where[(i * 7 + k * 61) % kCount];
    if ((at + k) % 5 == 0) continue;
    atomicAdd(&counts[at % 256], 1u);
    sum += shorts[at] + doubles[at / 2];
  }
  __syncthreads();
  out[i] = static_cast<int>(sum) + static_cast<int>(counts[where[i] % 256]);
}

__device__ __attribute__((noinline)) int sumOf(const int *from, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += from[i * 3];
  return sum;
}

__global__ void called(const int *in, int *out) {
  __shared__ int local[128];
  int own[8];
  local[threadIdx.x] = in[threadIdx.x];
  for (int i = 0; i < 8; ++i) own[i] = static_cast<int>(threadIdx.x) * i;
  __syncthreads();
  // Some lanes read LDS through the pointer, some scratch, some global memory.
  const int *from = threadIdx.x % 3 == 0 ? local : threadIdx.x % 3 == 1 ? own : in + threadIdx.x;
  out[threadIdx.x] = sumOf(from, 2) + sumOf(in + threadIdx.x, 3) + sumOf(local, 1);
}

struct Big {
  int values[24];
};
__global__ void copies(const Big *in, Big *out) { out[threadIdx.x] = in[threadIdx.x]; }

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 3;
  int *in, *out, *where;
  unsigned *counts;
  CHECK(hipMalloc(&in, 4 * kCount * sizeof(int)));
  CHECK(hipMalloc(&out, kCount * sizeof(int)));
  CHECK(hipMalloc(&where, kCount * sizeof(int)));
  CHECK(hipMalloc(&counts, 64 * sizeof(int)));
  std::vector<int> host(4 * kCount);
  uint32_t state = 1;
  for (int &v : host) v = static_cast<int>((state = state * 1664525 + 1013904223) >> 20);
  CHECK(hipMemcpy(in, host.data(), host.size() * sizeof(int), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(where, host.data(), kCount * sizeof(int), hipMemcpyHostToDevice));
  CHECK(hipMemset(counts, 0, 64 * sizeof(int)));
  CHECK(hipMemset(out, 0, kCount * sizeof(int)));
  uint64_t sum = 0;
  const auto add = [&](const void *from, std::size_t words) {
    std::vector<uint32_t> result(words);
    CHECK(hipMemcpy(result.data(), from, words * 4, hipMemcpyDeviceToHost));
    for (const uint32_t v : result) sum = sum * 31 + v;
  };
  streams<<<4, 256>>>(reinterpret_cast<float *>(in), reinterpret_cast<float4 *>(in),
                      reinterpret_cast<float *>(out), 1000);
  add(out, kCount);
  for (int stride : {1, 33, 512}) apart<<<8, 100>>>(in, out, stride, rounds);
  add(out, kCount);
  rows<<<dim3(3, 3), dim3(16, 16)>>>(in, out, 45);
  add(out, kCount);
  anywhere<<<16, 128>>>(where, in, out, counts);
  add(out, kCount);
  add(counts, 64);
  bins<<<4, 192>>>(where, reinterpret_cast<short *>(in), reinterpret_cast<double *>(in), out);
  add(out, kCount);
  called<<<1, 128>>>(in, out);
  copies<<<1, 50>>>(reinterpret_cast<Big *>(in), reinterpret_cast<Big *>(out));
  add(out, kCount);
  std::printf("%llu\n", static_cast<unsigned long long>(sum));
  return 0;
}
