// The kernels of tests/passes/run/kernels/corners.hip, and one whose lanes are gigabytes apart.
// Prints a sum of all results.
#include "check.h"

#include "../../passes/run/kernels/corners.hip"

#include <cstdint>
#include <vector>

constexpr int kCount = 4096;
constexpr uint64_t kFar = uint64_t{1} << 32; // bytes

// One lane is 4 GiB away every other time: of its distance the lower half does not change.
KERNEL gigabytes(In in, Out out) {
  int i = globalId(), sum = 0;
#pragma unroll 1
  for (int k = 0; k < 10; ++k)
    sum += *(In)((const volatile char *)in + 4 * i + (k % 2 != 0 && i % 64 == 1 ? kFar : 0));
  out[i] = sum;
}

int main() {
  int *in, *out;
  CHECK(hipMalloc(&in, kFar + kCount * sizeof(int)));
  CHECK(hipMalloc(&out, kCount * sizeof(int)));
  std::vector<int> host(kCount);
  uint32_t state = 1;
  for (int &v : host) v = static_cast<int>((state = state * 1664525 + 1013904223) >> 12) % 1000;
  CHECK(hipMemcpy(in, host.data(), host.size() * sizeof(int), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(reinterpret_cast<char *>(in) + kFar, host.data(), host.size() * sizeof(int),
                  hipMemcpyHostToDevice));
  uint64_t sum = 0;
  for (auto *kernel : {far_apart, backwards, one_address, in_rows, gathered, scattered,
                       some_atomics, conflicts, widths, anywhere, leaving, single, gigabytes}) {
    CHECK(hipMemset(out, 0, kCount * sizeof(int)));
    kernel<<<4, 64>>>(in, out);
    std::vector<uint32_t> result(kCount);
    CHECK(hipMemcpy(result.data(), out, kCount * sizeof(int), hipMemcpyDeviceToHost));
    for (const uint32_t v : result) sum = sum * 31 + v;
  }
  std::printf("%llu\n", static_cast<unsigned long long>(sum));
  return 0;
}
