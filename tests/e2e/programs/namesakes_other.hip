// The other kernel of namesakes.hip: it writes one integer of each cache line.
#include "check.h"

namespace {

__global__ void work(int *numbers, int count) {
  const int i = 32 * static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) numbers[i] *= 3;
}

} // namespace

void launchOther(int *numbers, int count) { work<<<count / 64, 64>>>(numbers, count); }
