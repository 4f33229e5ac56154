// Memory that the application allocated itself becomes visible to kernels by registering it.
#include "../check.h"

#include <sys/mman.h>

__global__ void negate(int *v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] = -v[i];
}

static void through_the_device(int *host, int n) {
  for (int i = 0; i < n; ++i) host[i] = i + 1;
  HIP(hipHostRegister(host, n * sizeof(int), hipHostRegisterDefault));
  int *device;
  HIP(hipHostGetDevicePointer(reinterpret_cast<void **>(&device), host, 0));
  LAUNCH(negate, (n + 255) / 256, 256, device, n);
  HIP(hipDeviceSynchronize());
  std::vector<int> want(n);
  for (int i = 0; i < n; ++i) want[i] = -(i + 1);
  EXPECT_SAME(std::vector<int>(host, host + n), want);

  // A copy from it takes what the kernel left.
  check::Device<int> copy(n);
  HIP(hipMemcpy(copy, host, n * sizeof(int), hipMemcpyHostToDevice));
  EXPECT_SAME(copy.read(), want);
  HIP(hipHostUnregister(host));
  EXPECT(hipHostUnregister(host) != hipSuccess);
  static_cast<void>(hipGetLastError()); // HIP 7 keeps it until somebody asks
}

int main() {
  std::vector<int> heap(100000);
  through_the_device(heap.data(), 100000);
  through_the_device(heap.data() + 5, 777); // part of a page, at an odd place
  through_the_device(heap.data(), 100000);  // again, after unregistering

  const size_t size = 1 << 20;
  void *pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  through_the_device(static_cast<int *>(pages), size / sizeof(int));
  EXPECT_EQ(munmap(pages, size), 0);
  return check::result();
}
