// Runs two kernels whose results nobody looks at but those who capture them.
#include <hip/hip_runtime.h>

#include "../kernels/pressed.hip"

#include <cstdio>
#include <vector>

int main() {
  std::vector<float> values(64 * 161);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 1.0f + static_cast<float>(i % 7) / 16;
  float *in = nullptr, *out = nullptr;
  const size_t size = values.size() * sizeof(float);
  if (hipMalloc(reinterpret_cast<void **>(&in), size) != hipSuccess) return 1;
  if (hipMalloc(reinterpret_cast<void **>(&out), 256) != hipSuccess) return 1;
  if (hipMemcpy(in, values.data(), size, hipMemcpyHostToDevice) != hipSuccess) return 1;
  press<<<1, 64>>>(in, out);
  follow<<<1, 64>>>(reinterpret_cast<int *>(in), reinterpret_cast<int *>(out), 99);
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  std::puts("pressed");
  return 0;
}
