// A program with something for every part of the report: columns read without coalescing, an LDS
// tile whose columns share a bank, atomics that meet, lanes that take different ways, two queues.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    const hipError_t error = (call);                                                               \
    if (error != hipSuccess) {                                                                     \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error));                           \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (false)

constexpr int kTile = 32;

// Neighboring lanes write n floats apart: one cache line for each lane.
__global__ void transpose_naive(float *out, const float *in, int n) {
  const int x = blockIdx.x * kTile + threadIdx.x;
  const int y = blockIdx.y * 8 + threadIdx.y;
  out[x * n + y] = in[y * n + x];
}

// Through LDS. The columns of a 32-wide tile all lie in one bank.
__global__ void transpose_tiled(float *out, const float *in, int n) {
  __shared__ float tile[kTile][kTile];
  const int x = blockIdx.x * kTile + threadIdx.x;
  const int y = blockIdx.y * kTile + threadIdx.y;
  for (int row = 0; row < kTile; row += 8)
    tile[threadIdx.y + row][threadIdx.x] = in[(y + row) * n + x];
  __syncthreads();
  const int u = blockIdx.y * kTile + threadIdx.x;
  const int v = blockIdx.x * kTile + threadIdx.y;
  for (int row = 0; row < kTile; row += 8)
    out[(v + row) * n + u] = tile[threadIdx.x][threadIdx.y + row];
}

// Few bins, so that many lanes of a wave want the same one.
__global__ void histogram(unsigned *bins, const float *in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[static_cast<unsigned>(in[i]) % 4], 1u);
}

// Lanes leave the loop at different times.
__global__ void collatz(int *steps, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned value = static_cast<unsigned>(i) + 1;
  int count = 0;
  while (value != 1) {
    if (value % 2 == 0)
      value /= 2;
    else
      value = 3 * value + 1;
    ++count;
  }
  steps[i] = count;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 128;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  const int total = n * n;
  const size_t bytes = sizeof(float) * total;
  std::vector<float> host(total), back(total);
  for (int i = 0; i < total; ++i) host[i] = static_cast<float>(i);
  float *in, *out;
  unsigned *bins;
  int *steps;
  CHECK(hipMalloc(&in, bytes));
  CHECK(hipMalloc(&out, bytes));
  CHECK(hipMalloc(&bins, 64 * sizeof(unsigned)));
  CHECK(hipMalloc(&steps, 256 * sizeof(int)));
  CHECK(hipMemcpy(in, host.data(), bytes, hipMemcpyHostToDevice));
  CHECK(hipMemset(bins, 0, 64 * sizeof(unsigned)));
  hipStream_t streams[2];
  for (hipStream_t &stream : streams) CHECK(hipStreamCreate(&stream));
  const dim3 group(kTile, 8);
  for (int round = 0; round < rounds; ++round) {
    transpose_naive<<<dim3(n / kTile, n / 8), group, 0, streams[0]>>>(out, in, n);
    histogram<<<total / 256, 256, 0, streams[1]>>>(bins, in, total);
    transpose_tiled<<<dim3(n / kTile, n / kTile), group, 0, streams[0]>>>(out, in, n);
    collatz<<<1, 256, 0, streams[1]>>>(steps, 250);
  }
  CHECK(hipGetLastError());
  // ROCr 5.2 may not look for faults while a thread waits in it.
  if (std::getenv("SHOWCASE_ASKS"))
    for (hipStream_t stream : streams)
      while (hipStreamQuery(stream) == hipErrorNotReady) usleep(1000);
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemcpy(back.data(), out, bytes, hipMemcpyDeviceToHost));
  for (int i = 0; i < total; ++i)
    if (back[i] != host[i % n * n + i / n]) {
      std::printf("wrong at %d\n", i);
      return 1;
    }
  std::printf("%d elements are transposed\n", total);
  return argc > 3 ? std::atoi(argv[3]) : 0;
}
