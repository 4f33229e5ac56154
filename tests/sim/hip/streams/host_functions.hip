// Functions of the host between kernels, memory whose life a stream decides, launches with their
// own events, and what a capture sees of them.
#include "../check.h"

#include <hip/hip_ext.h>

__global__ void add(int *x, int by) { x[threadIdx.x] += by; }
__global__ void spin(long long ticks) {
  for (long long begin = __builtin_amdgcn_s_memrealtime();
       static_cast<long long>(__builtin_amdgcn_s_memrealtime()) - begin < ticks;)
    __builtin_amdgcn_s_sleep(1);
}

struct Seen {
  const int *x;
  std::vector<int> values;
};
static void look(void *seen) {
  auto *s = static_cast<Seen *>(seen);
  s->values.push_back(s->x[7]);
}

static void between_kernels() {
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  int *x;
  HIP(hipHostMalloc(&x, 64 * sizeof(int)));
  std::memset(x, 0, 64 * sizeof(int));
  Seen seen{x, {}};
  std::vector<int> want;
  for (int i = 1; i <= 10; ++i) {
    add<<<1, 64, 0, stream>>>(x, i);
    HIP(hipStreamAddCallback(
        stream, [](hipStream_t, hipError_t, void *data) { look(data); }, &seen, 0));
    want.push_back(i * (i + 1) / 2);
  }
  HIP(hipStreamSynchronize(stream));
  EXPECT_SAME(seen.values, want);
  HIP(hipHostFree(x));
  HIP(hipStreamDestroy(stream));
}

static void own_events() {
  hipEvent_t start, stop;
  HIP(hipEventCreate(&start));
  HIP(hipEventCreate(&stop));
  hipExtLaunchKernelGGL(spin, dim3(1), dim3(64), 0, nullptr, start, stop, 0, 3000000ll); // 30 ms
  HIP(hipEventSynchronize(stop));
  float milliseconds = 0;
  HIP(hipEventElapsedTime(&milliseconds, start, stop));
  EXPECT(milliseconds >= 29.9 && milliseconds < 5000);
  HIP(hipEventDestroy(start));
  HIP(hipEventDestroy(stop));
}

static void stream_ordered_memory() {
  int supported = 0;
  HIP(hipDeviceGetAttribute(&supported, hipDeviceAttributeMemoryPoolsSupported, 0));
  if (!supported) return;
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  std::vector<int> got(64);
  for (int round = 0; round < 20; ++round) {
    int *x = nullptr;
    HIP(hipMallocAsync(reinterpret_cast<void **>(&x), 64 * sizeof(int), stream));
    HIP(hipMemsetAsync(x, 0, 64 * sizeof(int), stream));
    add<<<1, 64, 0, stream>>>(x, round);
    HIP(hipMemcpyAsync(got.data(), x, 64 * sizeof(int), hipMemcpyDeviceToHost, stream));
    HIP(hipFreeAsync(x, stream));
    HIP(hipStreamSynchronize(stream));
    EXPECT_SAME(got, std::vector<int>(64, round));
  }
  HIP(hipStreamDestroy(stream));
}

static void host_node() {
  int *x;
  HIP(hipHostMalloc(&x, 64 * sizeof(int)));
  std::memset(x, 0, 64 * sizeof(int));
  Seen seen{x, {}};
  hipGraph_t graph, copy;
  HIP(hipGraphCreate(&graph, 0));
  int by = 3;
  void *arguments[] = {&x, &by};
  hipKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void *>(add);
  kernel.gridDim = dim3(1), kernel.blockDim = dim3(64), kernel.kernelParams = arguments;
  hipHostNodeParams host = {look, &seen};
  hipGraphNode_t first, second, third;
  HIP(hipGraphAddKernelNode(&first, graph, nullptr, 0, &kernel));
  HIP(hipGraphAddHostNode(&second, graph, &first, 1, &host));
  HIP(hipGraphAddKernelNode(&third, graph, &second, 1, &kernel));
  HIP(hipGraphClone(&copy, graph));
  // HIP 5.2 calls the function of an instance right away when it is launched again.
  for (int i = 0; i < 5; ++i) {
    hipGraphExec_t exec;
    HIP(hipGraphInstantiate(&exec, copy, nullptr, nullptr, 0));
    HIP(hipGraphLaunch(exec, nullptr));
    HIP(hipDeviceSynchronize());
    HIP(hipGraphExecDestroy(exec));
  }
  EXPECT_SAME(seen.values, (std::vector<int>{3, 9, 15, 21, 27}));
  EXPECT_EQ(x[0], 30);
  HIP(hipGraphDestroy(copy));
  HIP(hipGraphDestroy(graph));
  HIP(hipHostFree(x));
}

int main() {
  between_kernels();
  own_events();
  stream_ordered_memory();
  host_node();
  return check::result();
}
