// Kernels of different kinds, each timed: what checking costs is the ratio of two runs (run).
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

void check(hipError_t error) {
  if (error == hipSuccess) return;
  std::fprintf(stderr, "%s\n", hipGetErrorString(error));
  std::exit(1);
}

/// Nothing but loads and stores.
__global__ void copy(float *out, const float *in, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = in[i] * 2;
}

/// Four elements at a time.
__global__ void copy_wide(float4 *out, const float4 *in, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = in[i];
}

/// Scattered loads.
__global__ void gather(float *out, const float *in, const int *index, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[index[i]];
}

/// Tiles in LDS, with barriers.
__global__ void multiply(float *c, const float *a, const float *b, int n) {
  __shared__ float left[16][16], right[16][16];
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    left[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  c[y * n + x] = sum;
}

/// A tree in LDS, then one atomic.
__global__ void reduce(float *total, const float *in, int n) {
  __shared__ float part[256];
  float sum = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += in[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = 128; s > 0; s /= 2) {
    if (int(threadIdx.x) < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(total, part[0]);
}

/// Atomics in LDS and in global memory.
__global__ void histogram(unsigned *bins, const int *in, int n) {
  __shared__ unsigned own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
    atomicAdd(&own[in[i] & 255], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

/// Neighbors.
__global__ void stencil(float *out, const float *in, int n) {
  const int x = blockIdx.x * 64 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  out[y * n + x] = (in[y * n + x] + in[y * n + x - 1] + in[y * n + x + 1] + in[(y - 1) * n + x] +
                    in[(y + 1) * n + x]) /
                   5;
}

/// Mostly arithmetic.
__global__ void compute(float *out, const float *in) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = in[i], b = 1;
  for (int k = 0; k < 200; ++k) a = a * 0.999f + b, b = b * 1.0001f - a * 0.001f;
  out[i] = a + b;
}

/// All lanes of all waves change one place by compare-and-swap.
__global__ void contend(unsigned *p) {
  unsigned old = *p, seen = 0;
  do {
    seen = old;
    old = atomicCAS(p, seen, seen + 1);
  } while (old != seen);
}

/// Of all threads: other programs on a busy machine do not count.
double processorTime() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// The shortest of several runs, in milliseconds.
template <class F> void time(const char *name, F &&launch) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double began = processorTime();
    launch();
    check(hipGetLastError());
    check(hipDeviceSynchronize());
    best = std::min(best, processorTime() - began);
  }
  std::printf("%s %.3f\n", name, best);
}

} // namespace

int main() {
  check(hipSetDeviceFlags(hipDeviceScheduleBlockingSync)); // waiting takes no processor time
  constexpr int n = 1 << 19, side = 512, small = 128;
  float *a, *b, *c;
  int *index;
  unsigned *bins;
  check(hipMalloc(&a, n * sizeof *a));
  check(hipMalloc(&b, n * sizeof *b));
  check(hipMalloc(&c, n * sizeof *c));
  check(hipMalloc(&index, n * sizeof *index));
  check(hipMalloc(&bins, 256 * sizeof *bins));
  check(hipMemset(a, 0, n * sizeof *a));
  check(hipMemset(b, 0, n * sizeof *b));
  check(hipMemset(bins, 0, 256 * sizeof *bins));
  int *on_host = static_cast<int *>(std::malloc(n * sizeof *on_host));
  for (int i = 0; i < n; ++i) on_host[i] = static_cast<int>(i * 2654435761u % n);
  check(hipMemcpy(index, on_host, n * sizeof *index, hipMemcpyHostToDevice));
  std::free(on_host);
  time("copy", [&] { copy<<<256, 256>>>(c, a, n); });
  time("copy_wide", [&] {
    copy_wide<<<128, 256>>>(reinterpret_cast<float4 *>(c), reinterpret_cast<float4 *>(a), n / 4);
  });
  time("gather", [&] { gather<<<n / 256, 256>>>(c, a, index, n); });
  time("multiply",
       [&] { multiply<<<dim3(small / 16, small / 16), dim3(16, 16)>>>(c, a, b, small); });
  time("reduce", [&] { reduce<<<64, 256>>>(c, a, n); });
  time("histogram", [&] { histogram<<<64, 256>>>(bins, index, n); });
  time("stencil", [&] { stencil<<<dim3(side / 64, side / 4), dim3(64, 4)>>>(c, a, side); });
  time("contend", [&] { contend<<<256, 256>>>(bins); });
  time("compute", [&] { compute<<<128, 256>>>(c, a); });
}
