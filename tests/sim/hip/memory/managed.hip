// Managed memory is one thing for host and device, under one address.
#include "../check.h"

#include <numeric>

struct Node {
  int value;
  Node *next;
};

__global__ void scale(int *v, int n, int by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] *= by;
}

__global__ void sum_list(const Node *first, int *sum) {
  int s = 0;
  for (const Node *n = first; n; n = n->next) s += n->value;
  *sum = s;
}

__managed__ int shared_counter = 5;
__global__ void count(int by) { atomicAdd(&shared_counter, by); }

int main() {
  const int n = 5000;
  int *v;
  HIP(hipMallocManaged(&v, n * sizeof(int)));
  std::iota(v, v + n, -100);
  LAUNCH(scale, 20, 256, v, n, 3);
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < n; ++i) v[i] += 1; // the host goes on with what the device left
  HIP(hipMemPrefetchAsync(v, n * sizeof(int), 0, nullptr));
  LAUNCH(scale, 20, 256, v, n, -1);
  HIP(hipDeviceSynchronize());
  std::vector<int> want(n);
  for (int i = 0; i < n; ++i) want[i] = -((i - 100) * 3 + 1);
  EXPECT_SAME(std::vector<int>(v, v + n), want);

  // It takes part in copies.
  check::Device<int> copy(n);
  HIP(hipMemcpy(copy, v, n * sizeof(int), hipMemcpyDefault));
  EXPECT_SAME(copy.read(), want);
  HIP(hipMemset(v, 0, 40));
  std::fill_n(want.begin(), 10, 0);
  EXPECT_SAME(std::vector<int>(v, v + n), want);
  HIP(hipFree(v));

  // Pointers stored by the host lead the device from block to block.
  Node *first = nullptr;
  int expected = 0;
  for (int i = 1; i <= 50; ++i) {
    Node *node;
    HIP(hipMallocManaged(&node, sizeof(Node)));
    *node = {i * i, first};
    first = node;
    expected += i * i;
  }
  int *sum;
  HIP(hipMallocManaged(&sum, sizeof(int)));
  LAUNCH(sum_list, 1, 1, first, sum);
  HIP(hipDeviceSynchronize());
  EXPECT_EQ(*sum, expected);
  while (first) HIP(hipFree(std::exchange(first, first->next)));
  HIP(hipFree(sum));

  EXPECT_EQ(shared_counter, 5);
  LAUNCH(count, 3, 100, 2);
  HIP(hipDeviceSynchronize());
  EXPECT_EQ(shared_counter, 605);
  shared_counter = -600;
  LAUNCH(count, 3, 100, 2);
  HIP(hipDeviceSynchronize());
  EXPECT_EQ(shared_counter, 0);
  return check::result();
}
