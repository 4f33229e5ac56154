// Iterates a formula, on odd elements many times, on even ones a few times. Slow: even and odd
// elements are neighbors in a wave, which therefore runs both loops for all its lanes. Fast: waves
// take either even or odd elements.
#include "../common/check.h"

constexpr int kCount = 4096, kMany = 32, kFew = 2;

__device__ float many_times(float value, int times) {
  for (int i = 0; i < times; ++i) value = value * 0.5f + 1.0f;
  return value;
}

__device__ float few_times(float value, int times) {
  for (int i = 0; i < times; ++i) value = value * 0.25f + 2.0f;
  return value;
}

__global__ void iterate_slow(const float *in, float *out, int many, int few) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = in[i];
  if (i % 2 == 1)
    value = many_times(value, many);
  else
    value = few_times(value, few);
  out[i] = value;
}

__global__ void iterate_fast(const float *in, float *out, int many, int few) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount / 2)
    out[2 * i + 1] = many_times(in[2 * i + 1], many);
  else
    out[2 * (i - kCount / 2)] = few_times(in[2 * (i - kCount / 2)], few);
}

int main(int argc, char **argv) {
  const bool fast = wantsFast(argc, argv);
  std::vector<float> values(kCount), expected(kCount);
  for (int i = 0; i < kCount; ++i) {
    values[i] = expected[i] = static_cast<float>(i % 64);
    // Powers of two, so that a multiplication and an addition round like one operation.
    for (int n = 0; n < (i % 2 == 1 ? kMany : kFew); ++n)
      expected[i] = i % 2 == 1 ? expected[i] * 0.5f + 1.0f : expected[i] * 0.25f + 2.0f;
  }
  float *in = toGpu(values), *out = toGpu(std::vector<float>(kCount));
  if (fast)
    iterate_fast<<<kCount / 256, 256>>>(in, out, kMany, kFew);
  else
    iterate_slow<<<kCount / 256, 256>>>(in, out, kMany, kFew);
  if (fromGpu(out, kCount) != expected) {
    std::puts("the result is wrong");
    return 1;
  }
  std::printf("%d elements are right\n", kCount);
  return 0;
}
