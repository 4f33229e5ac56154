// streaming MEGABYTES [dispatches]: accesses that need so many bytes of records, by lanes that are
// too far apart for a short encoding (536 bytes for a full wave).
#include "check.h"

__global__ void far(const char *low, const char *high, long rounds, int *out) {
  const char *p = threadIdx.x % 2 ? high : low;
  int sum = 0;
  for (long i = 0; i < rounds; ++i) sum += p[(i * 64 + threadIdx.x * 7) % 4096];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

int main(int argc, char **argv) {
  const long megabytes = argc > 1 ? std::atol(argv[1]) : 10;
  const int dispatches = argc > 2 ? std::atoi(argv[2]) : 1;
  constexpr long distance = 5l << 30; // memory that is not touched costs nothing
  constexpr int blocks = 16, record = 536;
  char *space;
  int *out;
  CHECK(hipMalloc(&space, distance + 4096));
  CHECK(hipMalloc(&out, blocks * 64 * sizeof(int)));
  CHECK(hipMemset(space, 1, 4096));
  CHECK(hipMemset(space + distance, 1, 4096));
  const long rounds = megabytes * 1'000'000 / record / blocks / dispatches;
  for (int i = 0; i < dispatches; ++i) {
    far<<<blocks, 64>>>(space, space + distance, rounds, out);
    CHECK(hipGetLastError());
  }
  int first = 0;
  CHECK(hipMemcpy(&first, out, sizeof first, hipMemcpyDeviceToHost));
  if (first != rounds) {
    std::printf("%d instead of %ld\n", first, rounds);
    return 1;
  }
  std::printf("%ld rounds\n", rounds);
  return 0;
}
