// Cooperative launches: all blocks of a grid meet at a barrier; blocks and tiles work as groups.
#include "../check.h"
#include "../grid_sync.h"

#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

// Each step reads what other blocks wrote in the step before.
__global__ void diffuse(int *a, int *b, int n, int steps) {
  cg::grid_group grid = cg::this_grid();
  for (int s = 0; s < steps; ++s) {
    int *from = s % 2 ? b : a, *to = s % 2 ? a : b;
    for (int i = grid.thread_rank(); i < n; i += grid.size())
      to[i] = from[(i + n - 1) % n] + 3 * from[(i + n / 2) % n] + 1;
    grid.sync();
  }
}

static void grids_meet(int blocks, int threads, int steps) {
  const int n = 3000;
  std::vector<int> x(n), next(n);
  for (int i = 0; i < n; ++i) x[i] = i % 17;
  check::Device<int> a(x), b(n);
  int *pa = a, *pb = b, count = n;
  void *args[] = {&pa, &pb, &count, &steps};
  HIP(hipLaunchCooperativeKernel(reinterpret_cast<void *>(diffuse), dim3(blocks), dim3(threads),
                                 args, 0, nullptr));
  for (int s = 0; s < steps; ++s) {
    for (int i = 0; i < n; ++i)
      next[i] = static_cast<int>(static_cast<uint32_t>(x[(i + n - 1) % n]) +
                                 3u * x[(i + n / 2) % n] + 1u);
    x.swap(next);
  }
  EXPECT_SAME(steps % 2 ? b.read() : a.read(), x);
}

__global__ void tiles(int *out) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  int v = block.thread_rank();
  for (int step = 8; step > 0; step /= 2) v += tile.shfl_down(v, step);
  v = tile.shfl(v, 0); // sum over the tile
  block.sync();
  out[blockIdx.x * block.size() + block.thread_rank()] = v * 100 + tile.thread_rank();
}

int main() {
  int supported = 0;
  HIP(hipDeviceGetAttribute(&supported, hipDeviceAttributeCooperativeLaunch, 0));
  EXPECT_EQ(supported, 1);
  grids_meet(1, 64, 5);
  grids_meet(8, 128, 20);
  grids_meet(40, 256, 9);

  check::Device<int> out(3 * 96);
  LAUNCH(tiles, 3, 96, out.get());
  std::vector<int> want(3 * 96);
  for (int i = 0; i < 3 * 96; ++i) {
    int t = i % 96, first = t / 16 * 16;
    want[i] = (16 * first + 120) * 100 + t % 16;
  }
  EXPECT_SAME(out.read(), want);

  // A grid that cannot be resident at once is refused, as its barrier would never end.
  int dummy = 0, *none = nullptr;
  void *args[] = {&none, &none, &dummy, &dummy};
  EXPECT_EQ(hipLaunchCooperativeKernel(reinterpret_cast<void *>(diffuse), dim3(1000000), dim3(1024),
                                       args, 0, nullptr),
            hipErrorCooperativeLaunchTooLarge);
  return check::result();
}
