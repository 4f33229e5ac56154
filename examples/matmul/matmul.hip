// Multiplies two matrices of 128 x 128 floats. Slow: each element reads a row and a column from
// memory. Fast: workgroups share tiles of 16 x 16 through LDS.
#include "../common/check.h"

constexpr int kSize = 128, kTile = 16;

__global__ void matmul_naive(const float *a, const float *b, float *c) {
  const int column = blockIdx.x * kTile + threadIdx.x, row = blockIdx.y * kTile + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < kSize; ++k) {
    const float left = a[row * kSize + k];
    const float right = b[k * kSize + column];
    sum += left * right;
  }
  c[row * kSize + column] = sum;
}

__global__ void matmul_tiled(const float *a, const float *b, float *c) {
  __shared__ float left[kTile][kTile], right[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int column = blockIdx.x * kTile + x, row = blockIdx.y * kTile + y;
  float sum = 0;
  for (int tile = 0; tile < kSize; tile += kTile) {
    left[y][x] = a[row * kSize + tile + x];
    right[y][x] = b[(tile + y) * kSize + column];
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += left[y][k] * right[k][x];
    __syncthreads();
  }
  c[row * kSize + column] = sum;
}

int main(int argc, char **argv) {
  const bool fast = wantsFast(argc, argv);
  // Small whole numbers: all sums are exact, in any order.
  std::vector<float> a(kSize * kSize), b(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i % 7);
    b[i] = static_cast<float>(i % 5) - 2;
  }
  float *ga = toGpu(a), *gb = toGpu(b), *gc = toGpu(std::vector<float>(a.size()));
  const dim3 grid(kSize / kTile, kSize / kTile), block(kTile, kTile);
  if (fast)
    matmul_tiled<<<grid, block>>>(ga, gb, gc);
  else
    matmul_naive<<<grid, block>>>(ga, gb, gc);
  const std::vector<float> c = fromGpu(gc, a.size());
  for (int row = 0; row < kSize; ++row)
    for (int column = 0; column < kSize; ++column) {
      float sum = 0;
      for (int k = 0; k < kSize; ++k) sum += a[row * kSize + k] * b[k * kSize + column];
      if (c[row * kSize + column] != sum) {
        std::printf("element %d, %d is wrong\n", row, column);
        return 1;
      }
    }
  std::printf("the product of two %d x %d matrices is right\n", kSize, kSize);
  return 0;
}
