// many [dispatches] [streams] [events]: short kernels on several streams, checked at the end. With
// a third argument every launch is timed by events, so that the application reads its own signals.
#include "check.h"

#include <vector>

__global__ void step(unsigned *data, unsigned add) {
  data[blockIdx.x * blockDim.x + threadIdx.x] += add;
}

int main(int argc, char **argv) {
  const int dispatches = argc > 1 ? std::atoi(argv[1]) : 100;
  const int streams = argc > 2 ? std::atoi(argv[2]) : 1;
  const bool timed = argc > 3;
  constexpr int n = 128;
  std::vector<hipStream_t> queue(streams);
  std::vector<unsigned *> data(streams);
  for (int s = 0; s < streams; ++s) {
    CHECK(hipStreamCreate(&queue[s]));
    CHECK(hipMalloc(&data[s], n * sizeof(unsigned)));
    CHECK(hipMemset(data[s], 0, n * sizeof(unsigned)));
  }
  CHECK(hipDeviceSynchronize());
  hipEvent_t start, stop;
  CHECK(hipEventCreate(&start));
  CHECK(hipEventCreate(&stop));
  for (int i = 0; i < dispatches; ++i) {
    const int s = i % streams;
    if (timed) CHECK(hipEventRecord(start, queue[s]));
    step<<<2, 64, 0, queue[s]>>>(data[s], i % 7);
    if (timed) {
      CHECK(hipEventRecord(stop, queue[s]));
      CHECK(hipEventSynchronize(stop));
      float ms = -1;
      CHECK(hipEventElapsedTime(&ms, start, stop));
      if (!(ms >= 0 && ms < 60000)) {
        std::printf("impossible time %f\n", static_cast<double>(ms));
        return 1;
      }
    }
  }
  CHECK(hipDeviceSynchronize());
  for (int s = 0; s < streams; ++s) {
    unsigned expected = 0;
    for (int i = s; i < dispatches; i += streams) expected += i % 7;
    std::vector<unsigned> host(n);
    CHECK(hipMemcpy(host.data(), data[s], n * sizeof(unsigned), hipMemcpyDeviceToHost));
    for (const unsigned value : host)
      if (value != expected) {
        std::printf("stream %d: %u instead of %u\n", s, value, expected);
        return 1;
      }
  }
  std::printf("%d dispatches are right\n", dispatches);
  return 0;
}
