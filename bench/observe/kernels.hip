// Kernels of several kinds, to see what it costs to watch them: bench_observe KERNEL TIMES
// Prints the seconds from the first launch to the end of the last.
#include <hip/hip_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr unsigned kItems = 1 << 16, kGroup = 256, kWidth = 128;

// Two loads and a store for one operation.
__global__ void add(float *c, const float *a, const float *b) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  c[i] = a[i] + b[i];
}

// Arithmetic in a loop.
__global__ void polynomial(float *c, const float *a, const float *) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = a[i], sum = 1;
  for (int k = 0; k < 64; ++k) sum = sum * x + 0.5f;
  c[i] = sum;
}

// Tiles in LDS.
__global__ void multiply(float *c, const float *a, const float *b) {
  __shared__ float left[16][17], right[16][17];
  const unsigned tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const unsigned row = blockIdx.x / (kWidth / 16) * 16 + ty,
                 column = blockIdx.x % (kWidth / 16) * 16 + tx;
  float sum = 0;
  for (unsigned k = 0; k < kWidth; k += 16) {
    left[ty][tx] = a[row * kWidth + k + tx];
    right[ty][tx] = b[(k + ty) * kWidth + column];
    __syncthreads();
    for (unsigned i = 0; i < 16; ++i) sum += left[ty][i] * right[i][tx];
    __syncthreads();
  }
  c[row * kWidth + column] = sum;
}

// Lanes that leave a loop at different times.
__global__ void collatz(float *c, const float *, const float *) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned steps = 0;
  for (unsigned n = i % 1024 + 1; n != 1; n = n % 2 ? 3 * n + 1 : n / 2) ++steps;
  c[i] = static_cast<float>(steps);
}

void check(hipError_t error) {
  if (error == hipSuccess) return;
  std::fprintf(stderr, "%s\n", hipGetErrorString(error));
  std::exit(1);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) return std::fprintf(stderr, "bench_observe KERNEL TIMES\n"), 2;
  const struct {
    const char *name;
    void (*kernel)(float *, const float *, const float *);
    unsigned groups;
  } all[] = {{"add", add, kItems / kGroup},
             {"polynomial", polynomial, kItems / kGroup},
             {"multiply", multiply, kWidth / 16 * (kWidth / 16)},
             {"collatz", collatz, kItems / kGroup / 4}};
  // Waiting in a loop would count as time of the run, and most where nobody observes.
  check(hipSetDeviceFlags(hipDeviceScheduleBlockingSync));
  float *a, *b, *c;
  for (float **p : {&a, &b, &c}) {
    check(hipMalloc(p, kItems * sizeof(float)));
    check(hipMemset(*p, 0, kItems * sizeof(float)));
  }
  for (const auto &one : all) {
    if (std::strcmp(one.name, argv[1]) != 0) continue;
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < std::atoi(argv[2]); ++i) one.kernel<<<one.groups, kGroup>>>(c, a, b);
    check(hipDeviceSynchronize());
    std::printf("%.6f\n",
                std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    return 0;
  }
  return std::fprintf(stderr, "there is no kernel %s\n", argv[1]), 2;
}
