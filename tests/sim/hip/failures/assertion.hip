// An assertion that fails in one work-item names itself and ends the program.
#include "../check.h"

#include <cassert>

__global__ void positive_only(const int *values) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(values[i] >= 0);
}

int main() {
  std::vector<int> values(200, 1);
  check::Device<int> fine(values);
  LAUNCH(positive_only, 2, 100, fine.get());
  HIP(hipDeviceSynchronize()); // nothing happens
  values[150] = -1;
  check::Device<int> bad(values);
  LAUNCH(positive_only, 2, 100, bad.get());
  static_cast<void>(hipDeviceSynchronize());
  std::puts("the program went on");
  return 0;
}
