// Adds two vectors: the smallest program to try FADE on.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    const hipError_t error = (call);                                                               \
    if (error != hipSuccess) {                                                                     \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error));                           \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (false)

__global__ void vadd(const float *a, const float *b, float *c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 4096;
  const int launches = argc > 2 ? std::atoi(argv[2]) : 1;
  std::vector<float> a(n), b(n), c(n);
  for (int i = 0; i < n; ++i) {
    a[i] = static_cast<float>(i);
    b[i] = static_cast<float>(2 * i);
  }
  float *da, *db, *dc;
  const size_t bytes = sizeof(float) * n;
  CHECK(hipMalloc(&da, bytes));
  CHECK(hipMalloc(&db, bytes));
  CHECK(hipMalloc(&dc, bytes));
  CHECK(hipMemcpy(da, a.data(), bytes, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(db, b.data(), bytes, hipMemcpyHostToDevice));
  for (int i = 0; i < launches; ++i) vadd<<<(n + 255) / 256, 256>>>(da, db, dc, n);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(c.data(), dc, bytes, hipMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i)
    if (c[i] != a[i] + b[i]) {
      std::printf("wrong at %d: %f\n", i, static_cast<double>(c[i]));
      return 1;
    }
  std::printf("%d sums are right\n", n);
  return 0;
}
