// Host threads that launch at the same time, on streams of their own and on one in common.
#include "../check.h"

#include <thread>

__global__ void mix(uint32_t *x, int n, uint32_t by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = (x[i] ^ by) * 2654435761u;
}
__global__ void count(uint32_t *total) { atomicAdd(total, 1u); }

constexpr int n = 2000, rounds = 30;

struct Outcome {
  std::vector<uint32_t> got, want;
};

static Outcome work_alone(uint32_t seed) {
  Outcome o;
  o.want = check::Random(seed).bytes<uint32_t>(n);
  hipStream_t stream;
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  for (int r = 0; r < rounds; ++r) { // with allocations in between, which touch the address space
    check::Device<uint32_t> block(n);
    HIP(hipMemcpyAsync(block, o.want.data(), n * 4, hipMemcpyHostToDevice, stream));
    mix<<<8, 256, 0, stream>>>(block, n, seed + r);
    o.got.resize(n);
    HIP(hipMemcpyAsync(o.got.data(), block, n * 4, hipMemcpyDeviceToHost, stream));
    HIP(hipStreamSynchronize(stream));
    for (auto &v : o.want) v = (v ^ (seed + r)) * 2654435761u;
    if (o.got != o.want) break;
  }
  HIP(hipStreamDestroy(stream));
  return o;
}

int main() {
  const int threads = 6;
  std::vector<Outcome> outcome(threads);
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) team.emplace_back([&, t] { outcome[t] = work_alone(100 + t); });
  for (auto &t : team) t.join();
  for (auto &o : outcome) EXPECT_SAME(o.got, o.want);

  check::Device<uint32_t> total(1);
  total.fill(0);
  hipStream_t common;
  HIP(hipStreamCreate(&common));
  HIP(hipDeviceSynchronize());
  team.clear();
  for (int t = 0; t < threads; ++t)
    team.emplace_back([&] {
      for (int r = 0; r < rounds; ++r) count<<<2, 64, 0, common>>>(total);
    });
  for (auto &t : team) t.join();
  HIP(hipStreamSynchronize(common));
  EXPECT_EQ(total.read()[0], threads * rounds * 2u * 64u);
  HIP(hipStreamDestroy(common));
  return check::result();
}
