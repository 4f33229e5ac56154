// Atomic operations across the grid lose nothing, return what was there before, and are atomic with
// the host, too.
#include "../check.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <thread>

constexpr int blocks = 24, threads = 256, lanes = blocks * threads;

__global__ void integers(unsigned *u, int *s, unsigned long long *w) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, h = i * 2654435761u;
  atomicAdd(&u[0], h);
  atomicSub(&u[1], h);
  atomicAnd(&u[2], ~(1u << h % 20));
  atomicOr(&u[3], 1u << h % 20);
  atomicXor(&u[4], h);
  atomicMin(&u[5], h);
  atomicMax(&u[6], h);
  atomicMin(&s[0], static_cast<int>(h));
  atomicMax(&s[1], static_cast<int>(h));
  atomicAdd(&s[2], -3);
  unsigned long long h64 = h * 0x9e3779b97f4a7c15ull;
  atomicAdd(&w[0], h64);
  atomicAnd(&w[1], ~(1ull << h64 % 60));
  atomicOr(&w[2], 1ull << h64 % 60);
  atomicXor(&w[3], h64);
  atomicMin(&w[4], h64);
  atomicMax(&w[5], h64);
}

static void integer_operations() {
  std::vector<unsigned> u = {5, 6, ~0u, 0, 0, ~0u, 0};
  std::vector<int> s = {0, 0, 0};
  std::vector<unsigned long long> w = {7, ~0ull, 0, 0, ~0ull, 0};
  check::Device<unsigned> du(u);
  check::Device<int> ds(s);
  check::Device<unsigned long long> dw(w);
  LAUNCH(integers, blocks, threads, du.get(), ds.get(), dw.get());
  for (unsigned i = 0; i < lanes; ++i) {
    unsigned h = i * 2654435761u;
    unsigned long long h64 = h * 0x9e3779b97f4a7c15ull;
    u = {u[0] + h, u[1] - h,          u[2] & ~(1u << h % 20), u[3] | 1u << h % 20,
         u[4] ^ h, std::min(u[5], h), std::max(u[6], h)};
    s = {std::min(s[0], static_cast<int>(h)), std::max(s[1], static_cast<int>(h)), s[2] - 3};
    w = {w[0] + h64, w[1] & ~(1ull << h64 % 60), w[2] | 1ull << h64 % 60,
         w[3] ^ h64, std::min(w[4], h64),        std::max(w[5], h64)};
  }
  EXPECT_SAME(du.read(), u);
  EXPECT_SAME(ds.read(), s);
  EXPECT_SAME(dw.read(), w);
}

// What is returned is the value before: a counter gives every ticket once.
__global__ void tickets(unsigned *counter, unsigned long long *wide, unsigned *ticket,
                        unsigned long long *wide_ticket) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  ticket[i] = atomicAdd(counter, 1u);
  wide_ticket[i] = atomicAdd(wide, 3ull);
}

static void every_ticket_once() {
  check::Device<unsigned> counter(1), ticket(lanes);
  check::Device<unsigned long long> wide(1), wide_ticket(lanes);
  counter.fill(0);
  wide.fill(0);
  LAUNCH(tickets, blocks, threads, counter.get(), wide.get(), ticket.get(), wide_ticket.get());
  auto got = ticket.read();
  auto got_wide = wide_ticket.read();
  std::sort(got.begin(), got.end());
  std::sort(got_wide.begin(), got_wide.end());
  for (unsigned i = 0; i < lanes; ++i) {
    EXPECT_EQ(got[i], i);
    EXPECT_EQ(got_wide[i], 3ull * i);
  }
}

// Sums whose every partial sum is exact, so that order does not matter.
__global__ void floats(float *f, double *d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(f, static_cast<float>(i % 64) * 0.25f);
  atomicAdd(d, i * 0x1p-20);
  atomicAdd(f + 1 + i % 8, 1.0f);
}

// Built from compare-and-swap, on 32 and 64 bits; exchange as a lock-free stack.
__global__ void by_swapping(unsigned *product, double *sum, int *head, int *next) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned old = *product, seen;
  do {
    seen = old;
    old = atomicCAS(product, seen, seen * 3u);
  } while (old != seen);
  auto *bits = reinterpret_cast<unsigned long long *>(sum);
  unsigned long long was = *bits, expected;
  do {
    expected = was;
    was = atomicCAS(bits, expected, __double_as_longlong(__longlong_as_double(expected) + 0.5));
  } while (was != expected);
  next[i] = atomicExch(head, i);
}

static void swaps_and_floats() {
  check::Device<float> f(9);
  check::Device<double> d(1), sum(1);
  f.fill(0);
  d.fill(0);
  sum.fill(0);
  LAUNCH(floats, blocks, threads, f.get(), d.get());
  float want_f = 0;
  double want_d = 0;
  for (int i = 0; i < lanes; ++i) want_f += i % 64 * 0.25f, want_d += i * 0x1p-20;
  EXPECT_EQ(f.read()[0], want_f);
  EXPECT_EQ(d.read()[0], want_d);
  for (int k = 0; k < 8; ++k) EXPECT_EQ(f.read()[1 + k], lanes / 8.0f);

  check::Device<unsigned> product(std::vector<unsigned>{1});
  check::Device<int> head(std::vector<int>{-1}), next(lanes);
  LAUNCH(by_swapping, blocks, threads, product.get(), sum.get(), head.get(), next.get());
  unsigned want = 1;
  for (int i = 0; i < lanes; ++i) want *= 3;
  EXPECT_EQ(product.read()[0], want);
  EXPECT_EQ(sum.read()[0], lanes * 0.5);
  std::set<int> seen; // the list goes through every work-item
  auto links = next.read();
  for (int i = head.read()[0]; i >= 0 && seen.insert(i).second; i = links[i]) {
  }
  EXPECT_EQ(seen.size(), size_t{lanes});
}

__global__ void in_lds(unsigned *histogram, unsigned *total) {
  __shared__ unsigned bins[32], sum;
  if (threadIdx.x < 32) bins[threadIdx.x] = 0;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned before = atomicAdd(&bins[i * 2654435761u >> 27], 1u);
  atomicMax(&sum, before);
  __syncthreads();
  if (threadIdx.x < 32) atomicAdd(&histogram[threadIdx.x], bins[threadIdx.x]);
  if (threadIdx.x == 0) atomicAdd(total, sum);
}

static void in_lds_and_global() {
  check::Device<unsigned> histogram(32), total(1);
  histogram.fill(0);
  total.fill(0);
  LAUNCH(in_lds, blocks, threads, histogram.get(), total.get());
  std::vector<unsigned> want(32);
  unsigned want_total = 0;
  for (unsigned b = 0; b < blocks; ++b) {
    std::vector<unsigned> bins(32);
    for (unsigned t = 0; t < threads; ++t) ++bins[(b * threads + t) * 2654435761u >> 27];
    for (int k = 0; k < 32; ++k) want[k] += bins[k];
    want_total += *std::max_element(bins.begin(), bins.end()) - 1;
  }
  EXPECT_SAME(histogram.read(), want);
  EXPECT_EQ(total.read()[0], want_total);
}

__global__ void with_the_host(unsigned *counter, unsigned long long *bits, int rounds) {
  for (int r = 0; r < rounds; ++r) {
    atomicAdd_system(counter, 1u);
    atomicXor_system(bits, 1ull << (threadIdx.x % 32));
  }
}

static void together_with_the_host() {
  unsigned *counter;
  unsigned long long *bits;
  HIP(hipHostMalloc(&counter, sizeof *counter, hipHostMallocCoherent));
  HIP(hipHostMalloc(&bits, sizeof *bits, hipHostMallocCoherent));
  *counter = 0;
  *bits = 0;
  const int rounds =
      51; // odd: 64 * 4 lanes / 32 bits is even, so the device's bits end as they began
  with_the_host<<<4, 64>>>(counter, bits, rounds);
  unsigned own = 0;
  for (; own < 20000; ++own) {
    __atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED);
    __atomic_fetch_xor(bits, 1ull << 40, __ATOMIC_RELAXED);
  }
  HIP(hipDeviceSynchronize());
  EXPECT_EQ(*counter, own + 256u * rounds);
  EXPECT_EQ(*bits, 0ull);
  HIP(hipHostFree(counter));
  HIP(hipHostFree(bits));
}

int main() {
  integer_operations();
  every_ticket_once();
  swaps_and_floats();
  in_lds_and_global();
  together_with_the_host();
  return check::result();
}
