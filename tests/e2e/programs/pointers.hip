// Calls through pointers: of a table, of objects, and of a variable that another kernel has set.
// Prints a digest of what each kernel has written.
#include "check.h"

#include <cstdio>
#include <cstring>
#include <vector>

using Function = float (*)(float, int);

__device__ __attribute__((noinline)) float sum(float x, int n) {
  float all = x;
  for (int i = 0; i < n; i++) all += x;
  return all;
}
__device__ __attribute__((noinline)) float part(float x, int n) {
  return n > 3 ? x * 0.5f : x * 0.25f;
}
__device__ __attribute__((noinline)) float both(float x, int n) { return sum(x, n & 1) + 1; }
__device__ Function table[3] = {sum, part, both};

__global__ void by_table(const float *in, float *out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[i % 3](in[i], i & 7);
}

struct Shape {
  __device__ virtual float area(float scale) const = 0;
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float length) : side(length) {}
  __device__ float area(float scale) const override { return side * side * scale; }
};
struct Stripes : Shape {
  float width;
  __device__ explicit Stripes(float one) : width(one) {}
  __device__ float area(float scale) const override {
    float all = 0;
    for (int i = 0; i < 3; i++) all += width * scale;
    return all;
  }
};

__global__ void by_object(const float *in, float *out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const Square square(in[i % n]);
  const Stripes stripes(2);
  const Shape *shape = (i & 1) != 0 ? static_cast<const Shape *>(&square) : &stripes;
  if (i < n) out[i] = shape->area(in[i] + 1);
}

// Nothing in the code object but `choose` has its address.
__device__ __attribute__((noinline)) float hidden(float x, int n) {
  float all = 0;
  for (int i = 0; i <= n; i++) all = all * x + i;
  return all;
}
__device__ Function chosen;
__global__ void choose(int number) { chosen = number == 7 ? hidden : table[number]; }
__global__ void by_variable(const float *in, float *out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = chosen(in[i], i & 3) + 1;
}

int main() {
  constexpr int n = 1000;
  std::vector<float> host(n);
  for (int i = 0; i < n; i++) host[i] = i % 17 * 0.25f;
  float *in = nullptr, *out = nullptr;
  CHECK(hipMalloc(&in, n * sizeof(float)));
  CHECK(hipMalloc(&out, n * sizeof(float)));
  CHECK(hipMemcpy(in, host.data(), n * sizeof(float), hipMemcpyHostToDevice));
  const auto show = [&](const char *name) {
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(host.data(), out, n * sizeof(float), hipMemcpyDeviceToHost));
    unsigned digest = 0;
    for (const float value : host) {
      unsigned bits;
      std::memcpy(&bits, &value, sizeof bits);
      digest = digest * 31 + bits;
    }
    std::printf("%s %08x\n", name, digest);
  };
  by_table<<<4, 256>>>(in, out, n);
  show("by_table");
  by_object<<<4, 256>>>(in, out, n);
  show("by_object");
  for (const int number : {0, 7}) {
    choose<<<1, 1>>>(number);
    by_variable<<<4, 256>>>(in, out, n);
    show("by_variable");
  }
}
