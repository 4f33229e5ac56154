// malloc and free, new and delete in kernels.
#include "../check.h"

struct Node {
  int value;
  Node *next;
};

// Every work-item builds a list, keeps it across kernels, and gives it back.
__global__ void build(Node **lists, int length) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  Node *first = nullptr;
  for (int k = 0; k < length; ++k) {
    auto *n = static_cast<Node *>(malloc(sizeof(Node)));
    if (!n) break;
    n->value = i * 100 + k;
    n->next = first;
    first = n;
  }
  lists[i] = first;
}

__global__ void sum_and_free(Node **lists, int *sums) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
  for (Node *n = lists[i]; n;) {
    sum += n->value;
    Node *next = n->next;
    free(n);
    n = next;
  }
  sums[i] = sum;
}

__global__ void arrays(int *out) {
  int i = threadIdx.x, n = 10 + i;
  int *a = new int[n];
  for (int k = 0; k < n; ++k) a[k] = k + i;
  int sum = 0;
  for (int k = 0; k < n; ++k) sum += a[k];
  delete[] a;
  out[i] = sum;
}

int main() {
  const int items = 256, length = 7;
  check::Device<Node *> lists(items);
  check::Device<int> sums(items);
  std::vector<int> want(items);
  for (int i = 0; i < items; ++i) want[i] = length * i * 100 + length * (length - 1) / 2;
  for (int round = 0; round < 3; ++round) {
    LAUNCH(build, 2, 128, lists.get(), length);
    LAUNCH(sum_and_free, 2, 128, lists.get(), sums.get());
    EXPECT_SAME(sums.read(), want);
  }
  LAUNCH(arrays, 1, 64, sums.get());
  for (int i = 0; i < 64; ++i) {
    int n = 10 + i;
    EXPECT_EQ(sums.read()[i], n * (n - 1) / 2 + n * i);
  }
  return check::result();
}
