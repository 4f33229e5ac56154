// LDS whose size is chosen at launch, alone and beside LDS of fixed size, up to all of it.
#include "../check.h"

__global__ void rotate(uint32_t *x, int words, int by) {
  extern __shared__ uint32_t tile[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) tile[i] = x[blockIdx.x * words + i];
  __syncthreads();
  for (int i = threadIdx.x; i < words; i += blockDim.x)
    x[blockIdx.x * words + i] = tile[(i + by) % words];
}

static void rotated(int words, int blocks, int threads) {
  auto x = check::Random(words).bytes<uint32_t>(size_t{1} * words * blocks);
  check::Device<uint32_t> device(x);
  rotate<<<blocks, threads, words * 4>>>(device, words, 5);
  HIP(hipGetLastError());
  auto want = x;
  for (int b = 0; b < blocks; ++b)
    for (int i = 0; i < words; ++i) want[b * words + i] = x[b * words + (i + 5) % words];
  EXPECT_SAME(device.read(), want);
}

// Fixed and dynamic LDS do not overlap; the dynamic part is cut into arrays of several types.
__global__ void both(double *out, int n) {
  __shared__ int fixed[300];
  extern __shared__ __align__(16) unsigned char dynamic[];
  auto *d = reinterpret_cast<double *>(dynamic);
  auto *f = reinterpret_cast<float *>(d + n);
  auto *c = reinterpret_cast<char *>(f + n);
  int i = threadIdx.x;
  if (i < 300) fixed[i] = i;
  d[i] = i * 0.5;
  f[i] = i * 2.0f;
  c[i] = static_cast<char>(i % 100);
  __syncthreads();
  int j = n - 1 - i;
  out[i] = d[j] + f[j] * 1000.0 + c[j] * 1e6 + fixed[j % 300] * 1e9;
}

int main() {
  rotated(1, 3, 64);
  rotated(100, 10, 64);
  rotated(4096, 4, 256);
  rotated(16384, 3, 512); // 64 KiB: all there is
  const int n = 256;
  check::Device<double> out(n);
  both<<<1, n, n * 13>>>(out, n);
  HIP(hipGetLastError());
  std::vector<double> want(n);
  for (int i = 0; i < n; ++i) {
    int j = n - 1 - i;
    want[i] = j * 0.5 + j * 2000.0 + j % 100 * 1e6 + j % 300 * 1e9;
  }
  EXPECT_SAME(out.read(), want);
  return check::result();
}
