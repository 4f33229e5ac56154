// Lanes of a wave exchange values and vote.
#include "../check.h"

#include <bitset>
#include <functional>

static uint64_t mixed(uint64_t x) { return (x ^ x >> 31) * 0x9e3779b97f4a7c15ull; }

template <class T> __global__ void shuffle(const T *in, T *out, int width, int argument) {
  int i = threadIdx.x, n = blockDim.x;
  T v = in[i];
  out[i] = __shfl(v, (argument + i / 3) % width, width); // HIP 5.2 does not reduce it itself
  out[n + i] = __shfl_up(v, argument, width);
  out[2 * n + i] = __shfl_down(v, argument, width);
  out[3 * n + i] = __shfl_xor(v, argument, width);
}

// What the programming guide says of one lane, relative to its group of width lanes.
template <class T> static void shuffles(int warp) {
  const int n = 2 * warp;
  std::vector<T> in(n);
  for (int i = 0; i < n; ++i) in[i] = static_cast<T>(static_cast<int64_t>(mixed(i)) >> 7);
  check::Device<T> from(in), to(4 * n);
  for (int width = 2; width <= warp; width *= 2)
    for (int a : {0, 1, 3 % width, width / 2, width - 1}) {
      LAUNCH(shuffle<T>, 1, n, from.get(), to.get(), width, a);
      std::vector<T> want(4 * n);
      for (int i = 0; i < n; ++i) {
        int lane = i % width, group = i - lane;
        want[i] = in[group + (a + i / 3) % width];
        want[n + i] = lane - a < 0 ? in[i] : in[i - a];
        want[2 * n + i] = lane + a >= width ? in[i] : in[i + a];
        want[3 * n + i] = in[group + (lane ^ a)];
      }
      EXPECT_SAME(to.read(), want);
    }
}

__global__ void votes(const int *in, uint64_t *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return; // the last wave is partly off
  bool p = in[i] % 3 == 0;
  out[i * 5] = __ballot(p);
  out[i * 5 + 1] = __any(p) | __all(p) << 1 | __any(in[i] > 1000000) << 2 | __all(in[i] >= 0) << 3;
  out[i * 5 + 2] = __lane_id();
  if (in[i] % 2) { // only some lanes are here
    out[i * 5 + 3] = __ballot(1);
    out[i * 5 + 4] = __popcll(__ballot(in[i] % 5 == 0)) * 100 +
                     __ffsll(static_cast<unsigned long long>(__ballot(1)));
  } else {
    out[i * 5 + 3] = out[i * 5 + 4] = 0;
  }
}

static void lanes_vote(int warp) {
  const int n = 4 * warp - 11;
  std::vector<int> in(n);
  for (int i = 0; i < n; ++i) in[i] = static_cast<int>(mixed(i + 5) % 1000) * (i < warp ? 3 : 1);
  check::Device<int> from(in);
  check::Device<uint64_t> to(5 * n);
  LAUNCH(votes, 2, 2 * warp, from.get(), to.get(), n);
  std::vector<uint64_t> want(5 * n);
  for (int first = 0; first < n; first += warp) {
    int last = std::min(n, first + warp);
    auto ballot = [&](std::function<bool(int)> f) {
      uint64_t bits = 0;
      for (int i = first; i < last; ++i) bits |= uint64_t{f(in[i])} << (i - first);
      return bits;
    };
    uint64_t third = ballot([](int v) { return v % 3 == 0; }),
             odd = ballot([](int v) { return v % 2 == 1; });
    uint64_t odd_fifth = ballot([](int v) { return v % 2 == 1 && v % 5 == 0; }),
             all = ballot([](int) { return true; });
    for (int i = first; i < last; ++i) {
      want[i * 5] = third;
      want[i * 5 + 1] = (third != 0) | (third == all) << 1 | 8;
      want[i * 5 + 2] = i - first;
      if (in[i] % 2) {
        want[i * 5 + 3] = odd;
        want[i * 5 + 4] =
            std::bitset<64>(odd_fifth).count() * 100 + (odd ? __builtin_ctzll(odd) + 1 : 0);
      }
    }
  }
  EXPECT_SAME(to.read(), want);
}

// Reduction and prefix sum by shuffles.
__global__ void scan_and_reduce(const int *in, int *sums, int *total) {
  int lane = threadIdx.x % warpSize, v = in[threadIdx.x], sum = v;
  for (int step = 1; step < warpSize; step *= 2) {
    int below = __shfl_up(sum, step);
    if (lane >= step) sum += below;
  }
  sums[threadIdx.x] = sum;
  for (int step = warpSize / 2; step > 0; step /= 2) v += __shfl_xor(v, step);
  total[threadIdx.x] = v;
}

static void scans(int warp) {
  std::vector<int> in(4 * warp), want(4 * warp), want_total(4 * warp);
  for (int i = 0; i < 4 * warp; ++i) {
    in[i] = static_cast<int>(mixed(i) % 2001) - 1000;
    want[i] = in[i] + (i % warp ? want[i - 1] : 0);
  }
  for (int i = 0; i < 4 * warp; ++i) want_total[i] = want[i / warp * warp + warp - 1];
  check::Device<int> from(in), sums(4 * warp), total(4 * warp);
  LAUNCH(scan_and_reduce, 1, 4 * warp, from.get(), sums.get(), total.get());
  EXPECT_SAME(sums.read(), want);
  EXPECT_SAME(total.read(), want_total);
}

int main() {
  const int warp = check::architecture().rfind("gfx9", 0) == 0 ? 64 : 32;
  shuffles<int>(warp);
  shuffles<unsigned>(warp);
  shuffles<float>(warp);
  shuffles<long long>(warp);
  shuffles<double>(warp);
  lanes_vote(warp);
  scans(warp);
  return check::result();
}
