// C = A * B^T in tiles, with bank conflicts: three dispatches of many workgroups. The argument is
// the size of the matrices, 512 by default.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kTile = 32;

__global__ void gemm(const float *a, const float *b, float *c, int n) {
  __shared__ float of_a[kTile][kTile], of_b[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * kTile + y;
  float sum = 0;
  for (int k = 0; k < n; k += kTile) {
    of_a[y][x] = a[row * n + k + x];
    of_b[y][x] = b[(blockIdx.x * kTile + y) * n + k + x];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += of_a[y][i] * of_b[x][i];
    __syncthreads();
  }
  c[row * n + blockIdx.x * kTile + x] = sum;
}

static void check(hipError_t error) {
  if (error == hipSuccess) return;
  std::fprintf(stderr, "%s\n", hipGetErrorString(error));
  std::exit(1);
}

int main(int count, char **arguments) {
  const int n = count > 1 ? std::atoi(arguments[1]) : 512;
  const std::size_t size = static_cast<std::size_t>(n) * n, bytes = size * sizeof(float);
  std::vector<float> a(size, 0.5f), b(size, 2.f), c(size);
  float *device_a, *device_b, *device_c;
  check(hipMalloc(&device_a, bytes));
  check(hipMalloc(&device_b, bytes));
  check(hipMalloc(&device_c, bytes));
  check(hipMemcpy(device_a, a.data(), bytes, hipMemcpyHostToDevice));
  check(hipMemcpy(device_b, b.data(), bytes, hipMemcpyHostToDevice));
  for (int i = 0; i < 3; ++i)
    gemm<<<dim3(n / kTile, n / kTile), dim3(kTile, kTile)>>>(device_a, device_b, device_c, n);
  check(hipMemcpy(c.data(), device_c, bytes, hipMemcpyDeviceToHost));
  std::printf("%s\n", c[0] == static_cast<float>(n) && c[size - 1] == c[0] ? "ok" : "WRONG");
  return 0;
}
