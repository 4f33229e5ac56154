// What the runtime says about the device and about kernels is that of the card, and agrees with
// itself.
#include "../check.h"

#include <map>

__global__ void light(int *x) { x[threadIdx.x] += 1; }
__global__ void __launch_bounds__(256) uses_lds(int *x) {
  __shared__ int tile[4096];
  for (int i = threadIdx.x; i < 4096; i += 256) tile[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < 4096; i += 256) x[i] = tile[4095 - i];
}
__global__ void uses_stack(int *x, int at) {
  volatile int local[100];
  for (int i = 0; i < 100; ++i) local[i] = i;
  x[threadIdx.x] = local[at];
}

struct Card {
  int units, warp, simds, clock_rate_above;
  size_t memory_above;
};

static void properties() {
  const std::map<std::string, Card> cards = {{"gfx90a", {104, 64, 4, 1000000, size_t{60} << 30}},
                                             {"gfx1030", {72, 32, 2, 1500000, size_t{15} << 30}}};
  hipDeviceProp_t p;
  HIP(hipGetDeviceProperties(&p, 0));
  auto card = cards.find(check::architecture());
  EXPECT(card != cards.end());
  if (card == cards.end()) return;
  const Card &c = card->second;
  EXPECT_EQ(p.warpSize, c.warp);
  EXPECT(p.totalGlobalMem > c.memory_above);
  EXPECT_EQ(p.sharedMemPerBlock, size_t{64} << 10);
  EXPECT_EQ(p.maxThreadsPerBlock, 1024);
  EXPECT(p.clockRate > c.clock_rate_above);
  EXPECT(p.memoryClockRate > 0 && p.memoryBusWidth > 0 && p.l2CacheSize > 0);
  EXPECT(p.multiProcessorCount == c.units ||
         p.multiProcessorCount * 2 == c.units); // RDNA: may count pairs
  EXPECT(p.cooperativeLaunch == 1 && p.concurrentKernels == 1 && p.canMapHostMemory == 1);
  EXPECT(std::strlen(p.name) > 0);
  int value = 0;
  HIP(hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 0));
  EXPECT_EQ(value, c.warp);
  HIP(hipDeviceGetAttribute(&value, hipDeviceAttributeMaxSharedMemoryPerBlock, 0));
  EXPECT_EQ(value, 64 << 10);
}

static void kernel_attributes() {
  hipFuncAttributes a;
  HIP(hipFuncGetAttributes(&a, reinterpret_cast<const void *>(uses_lds)));
  EXPECT_EQ(a.sharedSizeBytes, 16384u);
  EXPECT_EQ(a.maxThreadsPerBlock, 256);
  HIP(hipFuncGetAttributes(&a, reinterpret_cast<const void *>(uses_stack)));
  EXPECT(a.localSizeBytes >= 400);
  HIP(hipFuncGetAttributes(&a, reinterpret_cast<const void *>(light)));
  EXPECT_EQ(a.localSizeBytes, 0u);
  EXPECT(a.numRegs > 0);
}

static void occupancy() {
  int of_light, of_lds, with_dynamic;
  HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&of_light, light, 256, 0));
  HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&of_lds, uses_lds, 256, 0));
  HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&with_dynamic, light, 256, 64 << 10));
  EXPECT(of_light >= 8);
  EXPECT(of_lds >= 4 && of_lds < of_light); // 16 KiB of 64
  EXPECT(with_dynamic >= 1 && with_dynamic < of_lds);
  int grid, block;
  HIP(hipOccupancyMaxPotentialBlockSize(&grid, &block, light, 0, 0));
  EXPECT(block >= 64 && block <= 1024 && grid > 0);
  check::Device<int> x(block);
  x.fill(0);
  LAUNCH(light, grid, block, x.get()); // and what it says can be launched
  HIP(hipDeviceSynchronize());
}

int main() {
  properties();
  kernel_attributes();
  occupancy();
  return check::result();
}
