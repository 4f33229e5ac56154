// What a program can ask about the device, about pointers and about its own state, and how it
// starts over.
#include "../check.h"

__global__ void fill(int *x, int value) { x[threadIdx.x] = value; }

static void names() {
  char name[256] = {}, bus[64] = {};
  HIP(hipDeviceGetName(name, sizeof name, 0));
  hipDeviceProp_t p;
  HIP(hipGetDeviceProperties(&p, 0));
  EXPECT_EQ(std::string(name), std::string(p.name));
  HIP(hipDeviceGetPCIBusId(bus, sizeof bus, 0));
  int device = -1;
  HIP(hipDeviceGetByPCIBusId(&device, bus));
  EXPECT_EQ(device, 0);
  HIP(hipChooseDevice(&device, &p));
  EXPECT_EQ(device, 0);
  int version = 0;
  HIP(hipRuntimeGetVersion(&version));
  EXPECT(version > 0);
  size_t limit = 0;
  HIP(hipDeviceGetLimit(&limit, hipLimitMallocHeapSize));
  EXPECT(limit > 0);
}

static void pointers() {
  hipPointerAttribute_t a;
  check::Device<int> device(64);
  HIP(hipPointerGetAttributes(&a, device.get() + 5));
  EXPECT_EQ(static_cast<int>(a.memoryType), static_cast<int>(hipMemoryTypeDevice));
  EXPECT_EQ(a.device, 0);
  int *pinned, *managed, plain = 0;
  HIP(hipHostMalloc(&pinned, 4096, hipHostMallocMapped));
  HIP(hipPointerGetAttributes(&a, pinned));
  EXPECT_EQ(static_cast<int>(a.memoryType), static_cast<int>(hipMemoryTypeHost));
  HIP(hipMallocManaged(&managed, 4096));
  HIP(hipPointerGetAttributes(&a, managed));
  EXPECT(a.isManaged);
  EXPECT(hipPointerGetAttributes(&a, &plain) != hipSuccess);
  hipGetLastError();
  HIP(hipMemAdvise(managed, 4096, hipMemAdviseSetReadMostly, 0));
  HIP(hipMemPrefetchAsync(managed, 4096, 0, nullptr));
  LAUNCH(fill, 1, 64, managed, 9);
  HIP(hipDeviceSynchronize());
  EXPECT_EQ(managed[63], 9);
  HIP(hipHostFree(pinned));
  HIP(hipFree(managed));
}

static void errors_are_kept() {
  int *x = nullptr;
  EXPECT_EQ(static_cast<int>(hipMalloc(&x, ~size_t{0} / 2)), static_cast<int>(hipErrorOutOfMemory));
  EXPECT_EQ(static_cast<int>(hipPeekAtLastError()), static_cast<int>(hipErrorOutOfMemory));
  EXPECT_EQ(static_cast<int>(hipGetLastError()), static_cast<int>(hipErrorOutOfMemory));
  EXPECT_EQ(static_cast<int>(hipGetLastError()), static_cast<int>(hipSuccess));
  EXPECT_EQ(static_cast<int>(hipSetDevice(17)), static_cast<int>(hipErrorInvalidDevice));
  EXPECT(hipFree(&x) != hipSuccess);
  fill<<<1, 2048>>>(nullptr, 0); // larger than any block
  EXPECT(hipGetLastError() != hipSuccess);
}

// Half of the compute units are enough for everything.
static void part_of_the_device() {
  hipStream_t stream;
  const uint32_t mask[] = {0xffffffff, 0xff};
  HIP(hipExtStreamCreateWithCUMask(&stream, 2, mask));
  check::Device<int> x(1024);
  fill<<<1, 1024, 0, stream>>>(x, 4);
  HIP(hipStreamSynchronize(stream));
  EXPECT_SAME(x.read(), std::vector<int>(1024, 4));
  HIP(hipStreamDestroy(stream));
}

static void starts_over() {
  int *lost;
  HIP(hipMalloc(&lost, 1 << 20));
  HIP(hipDeviceReset());
  check::Device<int> x(64);
  LAUNCH(fill, 1, 64, x.get(), 5);
  EXPECT_SAME(x.read(), std::vector<int>(64, 5));
}

int main() {
  names();
  pointers();
  errors_are_kept();
  part_of_the_device();
  starts_over();
  return check::result();
}
