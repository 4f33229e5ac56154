// rocPRIM over the whole device: reduce, scan (by looking back), by key and by segment.
#include "rocprim_check.h"

#include <rocprim/device/device_reduce.hpp>
#include <rocprim/device/device_reduce_by_key.hpp>
#include <rocprim/device/device_scan.hpp>
#include <rocprim/device/device_segmented_reduce.hpp>

#include <algorithm>
#include <numeric>

static void reduce(size_t n) {
  auto in = check::Random(n).bytes<uint32_t>(n);
  check::Device<uint32_t> from(in), to(1);
  run_rocprim([&](void *t, size_t &s) {
    return rocprim::reduce(t, s, from.get(), to.get(), 7u, n, rocprim::plus<uint32_t>());
  });
  EXPECT_EQ(to.read()[0], std::accumulate(in.begin(), in.end(), 7u));
}

static void reduce_doubles(size_t n) {
  std::vector<double> in(n);
  check::Random random(n);
  for (auto &v : in) v = random.real(-1e6, 1e6);
  check::Device<double> from(in), to(1);
  run_rocprim([&](void *t, size_t &s) {
    return rocprim::reduce(t, s, from.get(), to.get(), -1e9, n, rocprim::maximum<double>());
  });
  EXPECT_EQ(to.read()[0], *std::max_element(in.begin(), in.end()));
}

static void scan(size_t n) {
  auto in = check::Random(n + 1).bytes<uint32_t>(n);
  check::Device<uint32_t> from(in), to(n);
  std::vector<uint32_t> want(n);
  std::partial_sum(in.begin(), in.end(), want.begin());
  run_rocprim([&](void *t, size_t &s) {
    return rocprim::inclusive_scan(t, s, from.get(), to.get(), n, rocprim::plus<uint32_t>());
  });
  EXPECT_SAME(to.read(), want);
  std::exclusive_scan(in.begin(), in.end(), want.begin(), 42u);
  run_rocprim([&](void *t, size_t &s) {
    return rocprim::exclusive_scan(t, s, from.get(), to.get(), 42u, n, rocprim::plus<uint32_t>());
  });
  EXPECT_SAME(to.read(), want);
}

static void by_key(size_t n) {
  check::Random random(9);
  std::vector<int> keys(n), values(n), want_keys, want;
  for (size_t i = 0, key = 0; i < n; ++i) {
    key += random.below(4) == 0;
    keys[i] = static_cast<int>(key);
    values[i] = static_cast<int>(random.below(100));
    if (want_keys.empty() || want_keys.back() != keys[i])
      want_keys.push_back(keys[i]), want.push_back(0);
    want.back() += values[i];
  }
  check::Device<int> k(keys), v(values), out_keys(n), out(n);
  check::Device<unsigned> count(1);
  run_rocprim([&](void *t, size_t &s) {
    return rocprim::reduce_by_key(t, s, k.get(), v.get(), n, out_keys.get(), out.get(),
                                  count.get());
  });
  EXPECT_EQ(count.read()[0], want.size());
  auto got_keys = out_keys.read(), got = out.read();
  got_keys.resize(want.size());
  got.resize(want.size());
  EXPECT_SAME(got_keys, want_keys);
  EXPECT_SAME(got, want);
}

static void by_segment() {
  std::vector<int> offsets{0};
  check::Random random(3);
  while (offsets.size() < 200)
    offsets.push_back(offsets.back() + static_cast<int>(random.below(600)));
  std::vector<int> in(offsets.back()), want;
  for (auto &v : in) v = static_cast<int>(random.below(1000));
  for (size_t i = 0; i + 1 < offsets.size(); ++i)
    want.push_back(std::accumulate(in.begin() + offsets[i], in.begin() + offsets[i + 1], 0));
  check::Device<int> from(in), bounds(offsets), to(want.size());
  run_rocprim([&](void *t, size_t &s) {
    return rocprim::segmented_reduce(t, s, from.get(), to.get(), want.size(), bounds.get(),
                                     bounds.get() + 1, rocprim::plus<int>(), 0);
  });
  EXPECT_SAME(to.read(), want);
}

int main() {
  for (size_t n : {size_t{1}, size_t{1000}, size_t{300000}}) {
    reduce(n);
    reduce_doubles(n);
    scan(n);
  }
  by_key(50000);
  by_segment();
  return check::result();
}
