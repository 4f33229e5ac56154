// Transposes a matrix of 256 x 256 floats, in tiles of 32 x 32 that go through LDS.
//
// Slow: neighboring lanes use a column of the tile, and write to a column of the result. Fast: the
// tile has a column more than it needs, and neighboring lanes write neighboring elements.
#include "../common/check.h"

constexpr int kSize = 256, kTile = 32;

__global__ void transpose_slow(const float *in, float *out) {
  __shared__ float tile[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int from_x = blockIdx.x * kTile + x, from_y = blockIdx.y * kTile + y;
  const float value = in[from_y * kSize + from_x];
  tile[x][y] = value;
  __syncthreads();
  const float turned = tile[x][y];
  out[from_x * kSize + from_y] = turned;
}

__global__ void transpose_fast(const float *in, float *out) {
  __shared__ float tile[kTile][kTile + 1];
  const int x = threadIdx.x, y = threadIdx.y;
  const int from_x = blockIdx.x * kTile, from_y = blockIdx.y * kTile;
  const float value = in[(from_y + y) * kSize + from_x + x];
  tile[y][x] = value;
  __syncthreads();
  const float turned = tile[x][y];
  out[(from_x + y) * kSize + from_y + x] = turned;
}

int main(int argc, char **argv) {
  const bool fast = wantsFast(argc, argv);
  std::vector<float> values(kSize * kSize);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  float *in = toGpu(values), *out = toGpu(std::vector<float>(values.size()));
  const dim3 grid(kSize / kTile, kSize / kTile), block(kTile, kTile);
  if (fast)
    transpose_fast<<<grid, block>>>(in, out);
  else
    transpose_slow<<<grid, block>>>(in, out);
  const std::vector<float> result = fromGpu(out, values.size());
  for (int y = 0; y < kSize; ++y)
    for (int x = 0; x < kSize; ++x)
      if (result[x * kSize + y] != values[y * kSize + x]) {
        std::printf("element %d, %d is wrong\n", x, y);
        return 1;
      }
  std::printf("%d x %d elements are transposed\n", kSize, kSize);
  return 0;
}
