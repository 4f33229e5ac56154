// rocRAND's generators inside of a kernel give the numbers that the same code gives on the host.
#define FQUALIFIERS __forceinline__ __host__ __device__
#include "../check.h"

#include <rocrand/rocrand_mrg32k3a.h>
#include <rocrand/rocrand_philox4x32_10.h>
#include <rocrand/rocrand_uniform.h>
#include <rocrand/rocrand_xorwow.h>

constexpr int states = 96, each = 20;
constexpr unsigned long long seed = 0x123456789abcdefull;

// Everything that one state gives; far into the sequence, so that the skipping counts as well.
template <class State> struct Draw {
  unsigned first, words[each];
  float uniform[each];
  double uniform_double[each];

  __host__ __device__ void make(unsigned long long which) {
    State state;
    rocrand_init(seed, which * 1000003, which * 77, &state);
    first = rocrand(&state);
    skipahead(1ull << (which % 40), &state);
    for (int i = 0; i < each; ++i) words[i] = rocrand(&state);
    for (int i = 0; i < each; ++i) uniform[i] = rocrand_uniform(&state);
    skipahead_subsequence(which + 3, &state);
    for (int i = 0; i < each; ++i) uniform_double[i] = rocrand_uniform_double(&state);
  }
};

template <class State> __global__ void draw(Draw<State> *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i].make(i);
}

template <class State> static void agrees() {
  check::Device<Draw<State>> device(states);
  LAUNCH(draw<State>, states / 32, 32, device.get());
  const auto got = device.read();
  for (int s = 0; s < states; ++s) {
    static Draw<State> want;
    want.make(s);
    EXPECT_EQ(got[s].first, want.first);
    for (int i = 0; i < each; ++i) {
      EXPECT_EQ(got[s].words[i], want.words[i]);
      EXPECT_EQ(got[s].uniform[i], want.uniform[i]);
      EXPECT_EQ(got[s].uniform_double[i], want.uniform_double[i]);
    }
  }
}

int main() {
  agrees<rocrand_state_xorwow>();
  agrees<rocrand_state_mrg32k3a>();
  agrees<rocrand_state_philox4x32_10>();
  return check::result();
}
