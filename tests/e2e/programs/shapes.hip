// Kernels with no arguments and with forty, with static and dynamic LDS, scratch, and text printed
// by the GPU; checked by the host.
#include "check.h"

#include <vector>

__device__ int calls;
__global__ void nothing() { atomicAdd(&calls, 1); }

#define FOUR(a) int a##0, int a##1, int a##2, int a##3
#define SUM(a, f) (f * a##0 + (f + 1) * a##1 + (f + 2) * a##2 + (f + 3) * a##3)
__global__ void forty(int *out, FOUR(a), FOUR(b), FOUR(c), FOUR(d), FOUR(e), FOUR(f), FOUR(g),
                      FOUR(h), FOUR(i), char x, short y, int z) {
  out[threadIdx.x] = SUM(a, 1) + SUM(b, 5) + SUM(c, 9) + SUM(d, 13) + SUM(e, 17) + SUM(f, 21) +
                     SUM(g, 25) + SUM(h, 29) + SUM(i, 33) + x + y + z + threadIdx.x;
}

__global__ void reversed(int *data) {
  __shared__ int fixed[64];
  extern __shared__ int dynamic[];
  fixed[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  dynamic[threadIdx.x] = fixed[63 - threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = dynamic[threadIdx.x] + 1;
}

__global__ void scratch(int *data, int pick) {
  volatile int own[40];
  for (int i = 0; i < 40; ++i) own[i] = i * data[threadIdx.x];
  data[threadIdx.x] = own[pick];
}

__global__ void speaks() {
  if (threadIdx.x == 0) printf("hello from block %d\n", static_cast<int>(blockIdx.x));
}

#define EXPECT(what)                                                                               \
  if (!(what)) {                                                                                   \
    std::printf("line %d: %s\n", __LINE__, #what);                                                 \
    return 1;                                                                                      \
  }

int main() {
  int *data;
  CHECK(hipMalloc(&data, 64 * sizeof(int)));
  std::vector<int> host(64);
  const auto read = [&] {
    CHECK(hipMemcpy(host.data(), data, 64 * sizeof(int), hipMemcpyDeviceToHost));
  };

  nothing<<<3, 70>>>();
  int count = 0;
  CHECK(hipMemcpyFromSymbol(&count, HIP_SYMBOL(calls), sizeof count));
  EXPECT(count == 210);

  forty<<<1, 64>>>(data, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                   22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39);
  read();
  int expected = 37 + 38 + 39;
  for (int i = 1; i <= 36; ++i) expected += i * i;
  for (int i = 0; i < 64; ++i) EXPECT(host[i] == expected + i);

  reversed<<<1, 64, 64 * sizeof(int)>>>(data);
  read();
  for (int i = 0; i < 64; ++i) EXPECT(host[i] == expected + 63 - i + 1);

  scratch<<<1, 64>>>(data, 7);
  read();
  for (int i = 0; i < 64; ++i) EXPECT(host[i] == 7 * (expected + 63 - i + 1));

  speaks<<<2, 64>>>();
  CHECK(hipDeviceSynchronize());
  std::puts("all shapes are right");
  return 0;
}
