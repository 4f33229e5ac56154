// Every work-item of grids of all shapes runs exactly once and knows its place.
#include "../check.h"

__global__ void mark(uint32_t *seen, uint32_t *place, dim3 whole) {
  uint32_t x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
           z = blockIdx.z * blockDim.z + threadIdx.z;
  uint32_t i = (z * whole.y + y) * whole.x + x;
  atomicAdd(&seen[i], 1u);
  uint32_t inside = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  uint32_t block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  place[i] = block * 1024 + inside;
}

static void shape(dim3 grid, dim3 block) {
  dim3 whole(grid.x * block.x, grid.y * block.y, grid.z * block.z);
  size_t n = size_t{whole.x} * whole.y * whole.z;
  check::Device<uint32_t> seen(n), place(n);
  seen.fill(0);
  place.fill(0xff);
  LAUNCH(mark, grid, block, seen.get(), place.get(), whole);
  std::vector<uint32_t> want(n);
  for (uint32_t z = 0; z < whole.z; ++z)
    for (uint32_t y = 0; y < whole.y; ++y)
      for (uint32_t x = 0; x < whole.x; ++x) {
        uint32_t b = ((z / block.z) * grid.y + y / block.y) * grid.x + x / block.x;
        uint32_t t = (z % block.z * block.y + y % block.y) * block.x + x % block.x;
        want[(size_t{z} * whole.y + y) * whole.x + x] = b * 1024 + t;
      }
  EXPECT_SAME(seen.read(), std::vector<uint32_t>(n, 1));
  EXPECT_SAME(place.read(), want);
}

// Barriers and LDS in blocks that do not fill their last wave.
__global__ void reverse(uint32_t *x) {
  __shared__ uint32_t tile[1024];
  uint32_t *mine = x + blockIdx.x * blockDim.x;
  tile[threadIdx.x] = mine[threadIdx.x];
  __syncthreads();
  mine[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

static void reversed_blocks(uint32_t size) {
  const uint32_t blocks = 5;
  std::vector<uint32_t> x(size * blocks), want(size * blocks);
  for (uint32_t i = 0; i < x.size(); ++i) {
    x[i] = i * 7;
    want[i] = (i / size * size + size - 1 - i % size) * 7;
  }
  check::Device<uint32_t> device(x);
  LAUNCH(reverse, blocks, size, device.get());
  EXPECT_SAME(device.read(), want);
}

__global__ void only(uint32_t *out) { out[0] = blockDim.x * 10000 + gridDim.x; }

static void impossible_launches() {
  check::Device<uint32_t> out(1);
  out.fill(0);
  auto refused = [&](dim3 grid, dim3 block, size_t lds) {
    only<<<grid, block, lds>>>(out);
    return hipGetLastError() != hipSuccess;
  };
  EXPECT(refused(dim3(1), dim3(1025), 0));
  EXPECT(refused(dim3(1), dim3(64, 64), 0));
  EXPECT(refused(dim3(0), dim3(64), 0));
  EXPECT(refused(dim3(1), dim3(0), 0));
  EXPECT(refused(dim3(1), dim3(64), 1 << 20));
  EXPECT_EQ(out.read()[0], 0u);
  LAUNCH(only, 7, 64, out.get()); // the device goes on
  EXPECT_EQ(out.read()[0], 640007u);
}

int main() {
  for (auto [grid, block] : {std::pair<dim3, dim3>{dim3(1), dim3(1)},
                             {dim3(1000), dim3(1)},
                             {dim3(3), dim3(1024)},
                             {dim3(7), dim3(33)},
                             {dim3(5, 4, 3), dim3(8, 4, 2)},
                             {dim3(2, 3, 4), dim3(5, 7, 3)},
                             {dim3(1, 9, 1), dim3(1, 100, 1)},
                             {dim3(1, 1, 11), dim3(1, 1, 64)},
                             {dim3(3, 2, 2), dim3(16, 8, 8)}})
    shape(grid, block);
  for (uint32_t size : {1, 2, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 257, 1000, 1024})
    reversed_blocks(size);
  impossible_launches();
  return check::result();
}
