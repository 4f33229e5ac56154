// Kernels in different streams run at the same time: each of these needs the others to go on.
#include "../check.h"

__global__ void pass_the_baton(int *turn, int me, int runners, int rounds, int *log) {
  for (int r = 0; r < rounds; ++r) {
    int mine = r * runners + me;
    while (__hip_atomic_load(turn, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) != mine)
      __builtin_amdgcn_s_sleep(1);
    log[mine] = me;
    __hip_atomic_store(turn, mine + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  }
}

// Many blocks of one kernel wait, more than there are workers; another kernel lets them go.
__global__ void wait_then_count(const int *go, int *count) {
  while (__hip_atomic_load(go, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {
  }
  atomicAdd(count, 1);
}
__global__ void open_the_gate(int *go) {
  __hip_atomic_store(go, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

int main() {
  const int runners = 3, rounds = 25;
  check::Device<int> turn(1), log(runners * rounds);
  turn.fill(0);
  log.fill(0xff);
  HIP(hipDeviceSynchronize());
  std::vector<hipStream_t> stream(runners);
  for (auto &s : stream) HIP(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
  for (int i = 0; i < runners; ++i)
    pass_the_baton<<<1, 1, 0, stream[i]>>>(turn, i, runners, rounds, log);
  for (auto &s : stream) HIP(hipStreamSynchronize(s));
  std::vector<int> want(runners * rounds);
  for (size_t i = 0; i < want.size(); ++i) want[i] = static_cast<int>(i % runners);
  EXPECT_SAME(log.read(), want);

  check::Device<int> gate(1), count(1);
  gate.fill(0);
  count.fill(0);
  HIP(hipDeviceSynchronize());
  wait_then_count<<<64, 256, 0, stream[0]>>>(gate, count);
  EXPECT_EQ(hipStreamQuery(stream[0]), hipErrorNotReady);
  open_the_gate<<<1, 1, 0, stream[1]>>>(gate);
  HIP(hipDeviceSynchronize());
  EXPECT_EQ(count.read()[0], 64 * 256);
  for (auto &s : stream) HIP(hipStreamDestroy(s));
  return check::result();
}
