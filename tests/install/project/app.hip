// Two kernels of which fade_instrument asks for one, and one that it does not ask for.
#include <cstdio>
#include <hip/hip_runtime.h>

int answer(int value); // in answer.cpp

__global__ void copy(const int *from, int *to) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = from[i];
}

__global__ void twice(int *data) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] *= 2;
}

int main() {
  constexpr int n = 1024;
  static int values[n];
  for (int i = 0; i < n; i++) values[i] = i;
  int *from = nullptr, *to = nullptr;
  if (hipMalloc(&from, sizeof values) != hipSuccess || hipMalloc(&to, sizeof values) != hipSuccess) return 1;
  if (hipMemcpy(from, values, sizeof values, hipMemcpyHostToDevice) != hipSuccess) return 1;
  copy<<<n / 256, 256>>>(from, to);
  twice<<<n / 256, 256>>>(to);
  if (hipMemcpy(values, to, sizeof values, hipMemcpyDeviceToHost) != hipSuccess) return 1;
  for (int i = 0; i < n; i++)
    if (values[i] != answer(i)) return 2;
  std::puts("right");
  return 0;
}
