// rocPRIM sorts over the whole device: by radix and by merging, keys alone and with values.
#include "rocprim_check.h"

#include <rocprim/device/device_merge_sort.hpp>
#include <rocprim/device/device_radix_sort.hpp>

#include <algorithm>
#include <numeric>

static void radix_keys(size_t n) {
  auto in = check::Random(n).bytes<uint32_t>(n);
  check::Device<uint32_t> from(in), to(n);
  run_rocprim(
      [&](void *t, size_t &s) { return rocprim::radix_sort_keys(t, s, from.get(), to.get(), n); });
  std::sort(in.begin(), in.end());
  EXPECT_SAME(to.read(), in);
}

// Signed, descending, with values; equal keys keep their order.
static void radix_pairs(size_t n) {
  std::vector<int> keys(n), values(n), order(n);
  check::Random random(2);
  for (auto &k : keys) k = static_cast<int>(random.below(1000)) - 500;
  std::iota(values.begin(), values.end(), 0);
  order = values;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] > keys[b]; });
  std::vector<int> want(n);
  for (size_t i = 0; i < n; ++i) want[i] = keys[order[i]];
  check::Device<int> k(keys), v(values), sorted_keys(n), sorted_values(n);
  run_rocprim([&](void *t, size_t &s) {
    return rocprim::radix_sort_pairs_desc(t, s, k.get(), sorted_keys.get(), v.get(),
                                          sorted_values.get(), n);
  });
  EXPECT_SAME(sorted_keys.read(), want);
  EXPECT_SAME(sorted_values.read(), order);
}

static void merge(size_t n) {
  std::vector<float> in(n);
  check::Random random(n + 7);
  for (auto &v : in) v = static_cast<float>(random.real(-1000, 1000));
  check::Device<float> from(in), to(n);
  run_rocprim([&](void *t, size_t &s) {
    return rocprim::merge_sort(t, s, from.get(), to.get(), n, rocprim::greater<float>());
  });
  std::sort(in.begin(), in.end(), std::greater<float>());
  EXPECT_SAME(to.read(), in);
}

int main() {
  for (size_t n : {size_t{100}, size_t{5000}, size_t{200000}}) {
    radix_keys(n);
    merge(n);
  }
  radix_pairs(60000);
  return check::result();
}
