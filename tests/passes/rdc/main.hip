// A program of two files with device code: a kernel here calls a function there, and there is a kernel there.
#include "shared.h"

#include <cstdio>
#include <vector>

__global__ void weighAll(const float *table, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = weigh(table, i) + 1; // WRITE weighAll
}

int main() {
  constexpr int n = 256;
  std::vector<float> in(n), out(n);
  for (int i = 0; i < n; ++i)
    in[i] = float(i);
  float *table, *result;
  if (hipMalloc(&table, n * 4) != hipSuccess || hipMalloc(&result, n * 4) != hipSuccess)
    return 2;
  (void)hipMemcpy(table, in.data(), n * 4, hipMemcpyHostToDevice);
  weighAll<<<n / 64, 64>>>(table, result, n);
  tripleAll<<<n / 64, 64>>>(result, n);
  if (hipMemcpy(out.data(), result, n * 4, hipMemcpyDeviceToHost) != hipSuccess)
    return 3;
  for (int i = 0; i < n; ++i)
    if (out[i] != (float(i) * 0.5f + 1) * 3)
      return 1;
  std::puts("right");
  return 0;
}
