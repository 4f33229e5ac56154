// Pinned host memory is read and written by kernels in place.
#include "../check.h"

__global__ void add(const int *a, const int *b, int *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

static void one_kind(unsigned flags) {
  const int n = 3000;
  int *a, *b, *c;
  HIP(hipHostMalloc(&a, n * sizeof(int), flags));
  HIP(hipHostMalloc(&b, n * sizeof(int), flags));
  HIP(hipHostMalloc(&c, n * sizeof(int), flags));
  for (int i = 0; i < n; ++i) a[i] = i * 7, b[i] = -i * 3, c[i] = -1;
  int *da, *db, *dc;
  HIP(hipHostGetDevicePointer(reinterpret_cast<void **>(&da), a, 0));
  HIP(hipHostGetDevicePointer(reinterpret_cast<void **>(&db), b, 0));
  HIP(hipHostGetDevicePointer(reinterpret_cast<void **>(&dc), c, 0));
  LAUNCH(add, 12, 256, da, db, dc, n - 1);
  HIP(hipDeviceSynchronize());
  std::vector<int> want(n);
  for (int i = 0; i < n; ++i) want[i] = i < n - 1 ? i * 4 : -1;
  EXPECT_SAME(std::vector<int>(c, c + n), want);

  hipPointerAttribute_t attributes;
  HIP(hipPointerGetAttributes(&attributes, a));
  EXPECT_EQ(attributes.memoryType, hipMemoryTypeHost);
  EXPECT(attributes.hostPointer == a && attributes.devicePointer == da);
  HIP(hipHostFree(a));
  HIP(hipHostFree(b));
  HIP(hipHostFree(c));
}

int main() {
  for (unsigned flags : std::initializer_list<unsigned>{
           hipHostMallocDefault, hipHostMallocMapped, hipHostMallocPortable, hipHostMallocCoherent,
           hipHostMallocNonCoherent, hipHostMallocWriteCombined | hipHostMallocMapped})
    one_kind(flags);
  return check::result();
}
