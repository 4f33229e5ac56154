// The smallest program that does something: one kernel, one value.
#include "../check.h"

__global__ void answer(int *x) { *x = 42; }

int main() {
  check::Device<int> x(1);
  LAUNCH(answer, 1, 1, x.get());
  EXPECT_EQ(x.read()[0], 42);
  return check::result();
}
