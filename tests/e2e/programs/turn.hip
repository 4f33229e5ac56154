// Turns a small matrix, and says whether that worked.
#include <hip/hip_runtime.h>

#include "../kernels/turn.hip"

#include <cstdio>
#include <vector>

int main() {
  const int n = 128;
  std::vector<float> values(n * n), result(n * n);
  for (int i = 0; i < n * n; ++i) values[i] = 1.0f + static_cast<float>(i);
  float *in = nullptr, *out = nullptr;
  const size_t size = values.size() * sizeof(float);
  if (hipMalloc(reinterpret_cast<void **>(&in), size) != hipSuccess) return 1;
  if (hipMalloc(reinterpret_cast<void **>(&out), size) != hipSuccess) return 1;
  if (hipMemcpy(in, values.data(), size, hipMemcpyHostToDevice) != hipSuccess) return 1;
  turn<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(in, out, n);
  if (hipMemcpy(result.data(), out, size, hipMemcpyDeviceToHost) != hipSuccess) return 1;
  for (int i = 0; i < n * n; ++i)
    if (result[i] != values[i % n * n + i / n]) return 1;
  std::puts("turned");
  return 0;
}
