// Copies a matrix. Slow: each lane copies a row of its own. Fast: neighboring lanes copy
// neighboring elements.
#include "../common/check.h"

constexpr int kRows = 256, kColumns = 64;

__global__ void copy_a_row_each(const float *in, float *out) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  for (int column = 0; column < kColumns; ++column) {
    const float value = in[row * kColumns + column];
    out[row * kColumns + column] = value;
  }
}

__global__ void copy_side_by_side(const float *in, float *out) {
  const int column = threadIdx.x;
  for (int row = blockIdx.x * 64; row < blockIdx.x * 64 + 64; ++row) {
    const float value = in[row * kColumns + column];
    out[row * kColumns + column] = value;
  }
}

int main(int argc, char **argv) {
  const bool fast = wantsFast(argc, argv);
  std::vector<float> values(kRows * kColumns);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  float *in = toGpu(values), *out = toGpu(std::vector<float>(values.size()));
  if (fast)
    copy_side_by_side<<<kRows / 64, 64>>>(in, out);
  else
    copy_a_row_each<<<kRows / 64, 64>>>(in, out);
  if (fromGpu(out, values.size()) != values) {
    std::puts("the copy is wrong");
    return 1;
  }
  std::printf("%d x %d elements are copied\n", kRows, kColumns);
  return 0;
}
