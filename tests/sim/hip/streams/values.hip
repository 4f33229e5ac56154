// Streams that wait for values in memory, streams with fewer compute units, kernels with events of
// their own.
#include "../check.h"

#include <hip/hip_ext.h>

#include <chrono>
#include <thread>

__global__ void add(int *p, int n, int v) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) p[i] += v;
}

// The kernel behind the wait runs only after the other stream has written.
static void waits_for_a_value() {
  uint32_t *signal;
  HIP(hipExtMallocWithFlags(reinterpret_cast<void **>(&signal), 8, hipMallocSignalMemory));
  *reinterpret_cast<volatile uint64_t *>(signal) = 0;
  hipStream_t waiting, writing;
  HIP(hipStreamCreateWithFlags(&waiting, hipStreamNonBlocking));
  HIP(hipStreamCreateWithFlags(&writing, hipStreamNonBlocking));
  check::Device<int> data(64);
  data.fill(0);
  HIP(hipDeviceSynchronize());
  HIP(hipStreamWaitValue32(waiting, signal, 5, hipStreamWaitValueGte));
  add<<<1, 64, 0, waiting>>>(data, 64, 1);
  HIP(hipStreamWriteValue32(waiting, signal, 77, 0));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(hipStreamQuery(waiting), hipErrorNotReady);
  HIP(hipStreamWriteValue32(writing, signal, 6, 0));
  HIP(hipStreamSynchronize(waiting));
  EXPECT_EQ(data.read()[63], 1);
  EXPECT_EQ(*reinterpret_cast<volatile uint32_t *>(signal), 77u);
  HIP(hipStreamDestroy(waiting));
  HIP(hipStreamDestroy(writing));
  HIP(hipFree(signal));
}

static void runs_on_few_compute_units() {
  hipStream_t stream;
  const uint32_t mask[4] = {0xf, 0, 0, 0};
  HIP(hipExtStreamCreateWithCUMask(&stream, 4, mask));
  check::Device<int> data(1024);
  HIP(hipMemsetAsync(data, 0, data.bytes(), stream));
  add<<<20, 64, 0, stream>>>(data, 1024, 3);
  HIP(hipStreamSynchronize(stream));
  EXPECT_SAME(data.read(), std::vector<int>(1024, 3));
  HIP(hipStreamDestroy(stream));
}

static void kernel_has_its_own_events() {
  check::Device<int> data(100);
  data.fill(0);
  hipEvent_t start, end;
  HIP(hipEventCreate(&start));
  HIP(hipEventCreate(&end));
  int *p = data, n = 100, v = 3;
  void *args[] = {&p, &n, &v};
  HIP(hipExtLaunchKernel(reinterpret_cast<void *>(add), dim3(2), dim3(64), args, 0, nullptr, start,
                         end, 0));
  HIP(hipEventSynchronize(end));
  float milliseconds = -1;
  HIP(hipEventElapsedTime(&milliseconds, start, end));
  EXPECT(milliseconds > 0 && milliseconds < 10000);
  EXPECT_SAME(data.read(), std::vector<int>(100, 3));
}

int main() {
  waits_for_a_value();
  runs_on_few_compute_units();
  kernel_has_its_own_events();
  return check::result();
}
