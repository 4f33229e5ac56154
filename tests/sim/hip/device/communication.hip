// Blocks of one grid talk to each other through memory: the last block sums up, a scan looks back
// at its predecessors, a persistent kernel obeys the host.
#include "../check.h"

#include <chrono>
#include <numeric>

// ---- every block leaves its sum; the one that comes last adds them
__global__ void sum(const uint32_t *in, int n, uint32_t *partial, uint32_t *arrived,
                    uint32_t *total) {
  __shared__ uint32_t tile[256];
  __shared__ bool last;
  uint32_t s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    s += in[i];
  tile[threadIdx.x] = s;
  __syncthreads();
  for (unsigned half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) tile[threadIdx.x] += tile[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = tile[0];
    __threadfence();
    last = atomicAdd(arrived, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x) return;
  __threadfence();
  uint32_t all = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) all += static_cast<volatile uint32_t *>(partial)[b];
  *total = all;
}

static void last_block_sums_up() {
  const int n = 100000, blocks = 60;
  auto in = check::Random(1).bytes<uint32_t>(n);
  check::Device<uint32_t> from(in), partial(blocks), arrived(1), total(1);
  for (int round = 0; round < 5; ++round) {
    arrived.fill(0);
    total.fill(0);
    LAUNCH(sum, blocks, 256, from.get(), n, partial.get(), arrived.get(), total.get());
    EXPECT_EQ(total.read()[0], std::accumulate(in.begin(), in.end(), 0u));
  }
}

// ---- prefix sum in one pass: state of a block is its sum, then the sum up to it
constexpr unsigned invalid = 0, aggregate = 1, prefix = 2;

__global__ void scan(const uint32_t *in, uint32_t *out, unsigned long long *state,
                     unsigned *ticket) {
  __shared__ uint32_t tile[256];
  __shared__ unsigned block;
  __shared__ uint32_t before;
  if (threadIdx.x == 0)
    block = atomicAdd(ticket, 1u); // in order of start, so that predecessors run
  __syncthreads();
  const unsigned i = block * 256 + threadIdx.x;
  tile[threadIdx.x] = in[i];
  __syncthreads();
  for (unsigned step = 1; step < 256; step *= 2) {
    uint32_t below = threadIdx.x >= step ? tile[threadIdx.x - step] : 0;
    __syncthreads();
    tile[threadIdx.x] += below;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    auto publish = [&](unsigned kind, uint32_t value) {
      __hip_atomic_store(&state[block], static_cast<unsigned long long>(kind) << 32 | value,
                         __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    };
    uint32_t sum = 0;
    if (block > 0) {
      publish(aggregate, tile[255]);
      for (unsigned b = block; b-- > 0;) {
        unsigned long long s;
        do s = __hip_atomic_load(&state[b], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
        while (s >> 32 == invalid);
        sum += static_cast<uint32_t>(s);
        if (s >> 32 == prefix) break;
      }
    }
    publish(prefix, sum + tile[255]);
    before = sum;
  }
  __syncthreads();
  out[i] = before + tile[threadIdx.x];
}

static void look_back() {
  const int blocks = 300, n = blocks * 256;
  auto in = check::Random(2).bytes<uint32_t>(n);
  std::vector<uint32_t> want(n);
  std::partial_sum(in.begin(), in.end(), want.begin());
  check::Device<uint32_t> from(in), to(n);
  check::Device<unsigned long long> state(blocks);
  check::Device<unsigned> ticket(1);
  for (int round = 0; round < 3; ++round) {
    state.fill(0);
    ticket.fill(0);
    LAUNCH(scan, blocks, 256, from.get(), to.get(), state.get(), ticket.get());
    EXPECT_SAME(to.read(), want);
  }
}

// ---- a kernel that stays and answers requests of the host, in order
struct Mailbox {
  unsigned request, answer;
  int operand[64], result[64];
};

__global__ void serve(Mailbox *box) {
  for (unsigned turn = 1;; ++turn) {
    __shared__ unsigned request;
    if (threadIdx.x == 0) do
        request = __hip_atomic_load(&box->request, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
      while (request != turn && request != ~0u);
    __syncthreads();
    if (request == ~0u) return;
    box->result[threadIdx.x] = box->operand[threadIdx.x] * 3 + static_cast<int>(turn);
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0)
      __hip_atomic_store(&box->answer, turn, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  }
}

static void a_kernel_that_stays() {
  Mailbox *box;
  HIP(hipHostMalloc(&box, sizeof *box, hipHostMallocCoherent));
  std::memset(box, 0, sizeof *box);
  LAUNCH(serve, 1, 64, box);
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (unsigned turn = 1; turn <= 200; ++turn) {
    for (int i = 0; i < 64; ++i) box->operand[i] = i * static_cast<int>(turn);
    __atomic_store_n(&box->request, turn, __ATOMIC_RELEASE);
    while (__atomic_load_n(&box->answer, __ATOMIC_ACQUIRE) != turn &&
           std::chrono::steady_clock::now() < deadline) {
    }
    std::vector<int> want(64);
    for (int i = 0; i < 64; ++i) want[i] = i * static_cast<int>(turn) * 3 + static_cast<int>(turn);
    EXPECT_SAME(std::vector<int>(box->result, box->result + 64), want);
  }
  EXPECT_EQ(hipStreamQuery(nullptr), hipErrorNotReady); // it is still the same kernel
  __atomic_store_n(&box->request, ~0u, __ATOMIC_RELEASE);
  HIP(hipDeviceSynchronize());
  HIP(hipHostFree(box));
}

// ---- mutual exclusion among all blocks
__global__ void critical(int *lock, int *balance, int *history) {
  if (threadIdx.x) return;
  for (int k = 0; k < 10; ++k) {
    while (__hip_atomic_exchange(lock, 1, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT))
      __builtin_amdgcn_s_sleep(1);
    int v = *balance;
    history[v] = static_cast<int>(blockIdx.x);
    *balance = v + 1;
    __hip_atomic_store(lock, 0, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  }
}

static void locks_exclude() {
  const int blocks = 50;
  check::Device<int> lock(1), balance(1), history(blocks * 10);
  lock.fill(0);
  balance.fill(0);
  history.fill(0xff);
  LAUNCH(critical, blocks, 64, lock.get(), balance.get(), history.get());
  EXPECT_EQ(balance.read()[0], blocks * 10);
  std::vector<int> times(blocks);
  for (int b : history.read())
    if (EXPECT(b >= 0 && b < blocks)) ++times[b];
  EXPECT_SAME(times, std::vector<int>(blocks, 10));
}

int main() {
  last_block_sums_up();
  look_back();
  a_kernel_that_stays();
  locks_exclude();
  return check::result();
}
