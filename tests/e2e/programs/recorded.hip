// A kernel that records values of its own, and what is to be known of a dispatch: its arguments, who
// allocated what they point to, and where its waves ran.
#include "check.h"

#include <fade/user.h>

#include <vector>

constexpr int kItems = 256;

__global__ void recording(int *out, const int *in, int n, float scale) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  fade::record<7>(in[i] - 3); // integer
  if (i % 2 == 0) fade::record<9>(scale * static_cast<float>(i)); // float
  out[i] = in[i] * 2;
}

static int *input() {
  int *data = nullptr;
  CHECK(hipMalloc(&data, kItems * sizeof(int))); // input
  return data;
}

int main() {
  int *in = input(), *out = nullptr;
  CHECK(hipMalloc(&out, 2 * kItems * sizeof(int))); // output
  std::vector<int> values(kItems);
  for (int i = 0; i < kItems; ++i) values[static_cast<std::size_t>(i)] = i % 8;
  CHECK(hipMemcpy(in, values.data(), kItems * sizeof(int), hipMemcpyHostToDevice));
  recording<<<4, 64>>>(out, in, kItems, 0.5f);
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemcpy(values.data(), out, kItems * sizeof(int), hipMemcpyDeviceToHost));
  long sum = 0;
  for (const int value : values) sum += value;
  std::printf("%ld\n", sum);
  return 0;
}
