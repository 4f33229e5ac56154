// rocPRIM within a block: reduce, scan, radix sort, exchange, on the primitives of warps.
#include "../check.h"

#include <rocprim/block/block_exchange.hpp>
#include <rocprim/block/block_radix_sort.hpp>
#include <rocprim/block/block_reduce.hpp>
#include <rocprim/block/block_scan.hpp>

#include <algorithm>
#include <numeric>

constexpr unsigned size = 256, blocks = 6, each = 4;

template <rocprim::block_reduce_algorithm how> __global__ void reduce(const int *in, int *out) {
  using Reduce = rocprim::block_reduce<int, size, how>;
  __shared__ typename Reduce::storage_type storage;
  int sum = 0;
  Reduce().reduce(in[blockIdx.x * size + threadIdx.x], sum, storage, rocprim::plus<int>());
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

template <rocprim::block_reduce_algorithm how> static void reduced(const std::vector<int> &in) {
  check::Device<int> from(in), to(blocks);
  LAUNCH(reduce<how>, blocks, size, from.get(), to.get());
  std::vector<int> want(blocks);
  for (unsigned b = 0; b < blocks; ++b)
    want[b] = std::accumulate(in.begin() + b * size, in.begin() + (b + 1) * size, 0);
  EXPECT_SAME(to.read(), want);
}

template <rocprim::block_scan_algorithm how>
__global__ void scan(const int *in, int *inclusive, int *exclusive) {
  using Scan = rocprim::block_scan<int, size, how>;
  __shared__ typename Scan::storage_type storage;
  unsigned i = blockIdx.x * size + threadIdx.x;
  Scan().inclusive_scan(in[i], inclusive[i], storage, rocprim::maximum<int>());
  rocprim::syncthreads();
  Scan().exclusive_scan(in[i], exclusive[i], 100, storage, rocprim::plus<int>());
}

template <rocprim::block_scan_algorithm how> static void scanned(const std::vector<int> &in) {
  check::Device<int> from(in), inclusive(in.size()), exclusive(in.size());
  LAUNCH(scan<how>, blocks, size, from.get(), inclusive.get(), exclusive.get());
  std::vector<int> most(in.size()), sums(in.size());
  for (unsigned i = 0; i < in.size(); ++i) {
    bool first = i % size == 0;
    most[i] = first ? in[i] : std::max(most[i - 1], in[i]);
    sums[i] = first ? 100 : sums[i - 1] + in[i - 1];
  }
  EXPECT_SAME(inclusive.read(), most);
  EXPECT_SAME(exclusive.read(), sums);
}

__global__ void sort(unsigned *keys, int *values) {
  using Sort = rocprim::block_radix_sort<unsigned, size, each, int>;
  __shared__ typename Sort::storage_type storage;
  unsigned k[each];
  int v[each];
  unsigned first = (blockIdx.x * size + threadIdx.x) * each;
  for (unsigned e = 0; e < each; ++e) k[e] = keys[first + e], v[e] = values[first + e];
  Sort().sort(k, v, storage);
  for (unsigned e = 0; e < each; ++e) keys[first + e] = k[e], values[first + e] = v[e];
}

static void sorted() {
  const unsigned n = size * each;
  auto keys = check::Random(5).bytes<unsigned>(blocks * n);
  for (auto &k : keys) k >>= 20; // so that some are equal: the sort is stable
  std::vector<int> values(keys.size());
  std::iota(values.begin(), values.end(), 0);
  check::Device<unsigned> k(keys);
  check::Device<int> v(values);
  LAUNCH(sort, blocks, size, k.get(), v.get());
  for (unsigned b = 0; b < blocks; ++b)
    std::stable_sort(values.begin() + b * n, values.begin() + (b + 1) * n,
                     [&](int x, int y) { return keys[x] < keys[y]; });
  std::vector<unsigned> want(keys.size());
  for (size_t i = 0; i < want.size(); ++i) want[i] = keys[values[i]];
  EXPECT_SAME(k.read(), want);
  EXPECT_SAME(v.read(), values);
}

__global__ void exchange(const int *in, int *out) {
  using Exchange = rocprim::block_exchange<int, size, each>;
  __shared__ typename Exchange::storage_type storage;
  int v[each];
  for (unsigned e = 0; e < each; ++e) v[e] = in[threadIdx.x * each + e];
  Exchange().blocked_to_striped(v, v, storage);
  for (unsigned e = 0; e < each; ++e) out[threadIdx.x * each + e] = v[e];
}

static void exchanged() {
  std::vector<int> in(size * each), want(size * each);
  std::iota(in.begin(), in.end(), 0);
  for (unsigned t = 0; t < size; ++t)
    for (unsigned e = 0; e < each; ++e) want[t * each + e] = in[e * size + t];
  check::Device<int> from(in), to(size * each);
  LAUNCH(exchange, 1, size, from.get(), to.get());
  EXPECT_SAME(to.read(), want);
}

int main() {
  std::vector<int> in(size * blocks);
  check::Random random(1);
  for (auto &v : in) v = static_cast<int>(random.below(2001)) - 1000;
  reduced<rocprim::block_reduce_algorithm::using_warp_reduce>(in);
  reduced<rocprim::block_reduce_algorithm::raking_reduce>(in);
  scanned<rocprim::block_scan_algorithm::using_warp_scan>(in);
  scanned<rocprim::block_scan_algorithm::reduce_then_scan>(in);
  sorted();
  exchanged();
  return check::result();
}
