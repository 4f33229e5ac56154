// Counts values in 16 bins. Slow: every lane adds to the bins in memory. Fast: each workgroup
// counts in LDS and adds its sums once.
#include "../common/check.h"

constexpr int kBins = 16, kValues = 64 * 256;

__global__ void histogram_slow(const unsigned *values, unsigned *bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned bin = values[i] % kBins;
  atomicAdd(&bins[bin], 1u);
}

// The count of a bin stands 64 times in LDS, so that no two lanes of a wave want the same one.
__global__ void histogram_fast(const unsigned *values, unsigned *bins) {
  constexpr int kCopies = 64;
  __shared__ unsigned own[kBins * kCopies];
  const int lane = threadIdx.x;
  for (int i = lane; i < kBins * kCopies; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + lane; i < kValues; i += gridDim.x * blockDim.x) {
    const unsigned bin = values[i] % kBins;
    atomicAdd(&own[bin * kCopies + lane % kCopies], 1u);
  }
  __syncthreads();
  if (lane >= kBins) return;
  unsigned sum = 0;
  for (int copy = 0; copy < kCopies; ++copy) sum += own[lane * kCopies + (copy + lane) % kCopies];
  atomicAdd(&bins[lane], sum);
}

int main(int argc, char **argv) {
  const bool fast = wantsFast(argc, argv);
  std::vector<unsigned> values(kValues), expected(kBins);
  unsigned state = 1;
  for (unsigned &value : values) {
    state = state * 1664525u + 1013904223u;
    value = state >> 24;
    if (value % 4 != 0) value = 0; // most values are the same, as in a picture with a background
    ++expected[value % kBins];
  }
  unsigned *in = toGpu(values), *bins = toGpu(std::vector<unsigned>(kBins));
  if (fast)
    histogram_fast<<<8, 256>>>(in, bins);
  else
    histogram_slow<<<kValues / 256, 256>>>(in, bins);
  if (fromGpu(bins, kBins) != expected) {
    std::puts("the counts are wrong");
    return 1;
  }
  std::printf("%d values are counted\n", kValues);
  return 0;
}
