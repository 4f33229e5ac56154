// rocPRIM picks, splits, counts and encodes over the whole device.
#include "rocprim_check.h"

#include <rocprim/device/device_histogram.hpp>
#include <rocprim/device/device_partition.hpp>
#include <rocprim/device/device_run_length_encode.hpp>
#include <rocprim/device/device_select.hpp>
#include <rocprim/device/device_transform.hpp>

#include <algorithm>

struct IsOdd {
  __device__ bool operator()(int v) const { return v & 1; }
};
struct Squared {
  __device__ int operator()(int v) const { return v * v; }
};

constexpr size_t n = 100000;

static std::vector<int> numbers() {
  std::vector<int> v(n);
  check::Random random(1);
  for (size_t i = 0; i < n; ++i)
    v[i] = i && random.below(3) ? v[i - 1] : static_cast<int>(random.below(5000));
  return v;
}

template <class T> static std::vector<T> first(const check::Device<T> &from, size_t count) {
  auto v = from.read();
  v.resize(count);
  return v;
}

int main() {
  const auto in = numbers();
  check::Device<int> from(in), to(n), lengths(n);
  check::Device<unsigned> count(1);

  std::vector<int> odd, rest;
  for (int v : in) (v & 1 ? odd : rest).push_back(v);
  run_rocprim([&](void *t, size_t &s) {
    return rocprim::select(t, s, from.get(), to.get(), count.get(), n, IsOdd());
  });
  EXPECT_EQ(count.read()[0], odd.size());
  EXPECT_SAME(first(to, odd.size()), odd);

  run_rocprim([&](void *t, size_t &s) {
    return rocprim::partition(t, s, from.get(), to.get(), count.get(), n, IsOdd());
  });
  EXPECT_EQ(count.read()[0], odd.size());
  auto split = odd; // those left come last, back to front
  split.insert(split.end(), rest.rbegin(), rest.rend());
  EXPECT_SAME(to.read(), split);

  std::vector<int> unique(in), runs;
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  run_rocprim([&](void *t, size_t &s) {
    return rocprim::unique(t, s, from.get(), to.get(), count.get(), n);
  });
  EXPECT_EQ(count.read()[0], unique.size());
  EXPECT_SAME(first(to, unique.size()), unique);

  for (size_t i = 0; i < n; ++i)
    if (i && in[i] == in[i - 1])
      ++runs.back();
    else
      runs.push_back(1);
  run_rocprim([&](void *t, size_t &s) {
    return rocprim::run_length_encode(t, s, from.get(), n, to.get(), lengths.get(), count.get());
  });
  EXPECT_EQ(count.read()[0], runs.size());
  EXPECT_SAME(first(to, runs.size()), unique);
  EXPECT_SAME(first(lengths, runs.size()), runs);

  const unsigned levels = 51; // 50 bins of 100
  check::Device<int> bins(levels - 1);
  run_rocprim([&](void *t, size_t &s) {
    return rocprim::histogram_even(t, s, from.get(), static_cast<unsigned>(n), bins.get(), levels,
                                   0, 5000);
  });
  std::vector<int> want(levels - 1);
  for (int v : in) ++want[v / 100];
  EXPECT_SAME(bins.read(), want);

  HIP(rocprim::transform(from.get(), to.get(), n, Squared()));
  HIP(hipDeviceSynchronize());
  std::vector<int> squares(in);
  for (int &v : squares) v *= v;
  EXPECT_SAME(to.read(), squares);
  return check::result();
}
