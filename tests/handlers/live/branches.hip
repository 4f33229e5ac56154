// Branches whose lanes can be counted by hand. The comment at the end of a line is the name under
// which the test knows it.
#include <hip/hip_runtime.h>

#include <cstdio>

__global__ void branches(int *out, int n) {
  const int i = threadIdx.x;
  int value = i;
  if (i % 4 == 0) { // branches.if
#pragma unroll 1
    for (int k = 0; k < n; ++k)
      value = value * 3 + k; // branches.loop
  } else {
    out[i + 1024] = value; // branches.else
  }
  out[i] = value; // branches.end
}

// Lanes leave the loop one eighth at a time.
__global__ void countdown(int *out) {
  const int i = threadIdx.x;
  int value = i;
#pragma unroll 1
  for (int k = 0; k < i % 8; ++k)
    value = value * 5 + k; // countdown.loop
  out[i] = value;          // countdown.end
}

int main() {
  int *out = nullptr;
  if (hipMalloc(&out, 1 << 16) != hipSuccess) return 1;
  branches<<<1, 256>>>(out, 10);
  countdown<<<1, 256>>>(out);
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  std::puts("done");
  return 0;
}
