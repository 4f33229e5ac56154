// resident cooperative|persistent: a grid that fills the GPU exactly, as large as the runtime says
// that it may be. All workgroups wait for each other.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define HIP(call)                                                                                  \
  if (const hipError_t e = (call); e != hipSuccess) {                                              \
    std::printf("%s: %s\n", #call, hipGetErrorString(e));                                          \
    std::exit(1);                                                                                  \
  }

// So many registers that all waves a SIMD can hold just fit (64 on gfx90a, where that is 8 waves),
// and all of them in use while memory is accessed: what an instrumented form needs comes on top.
constexpr int kept = 46;
#define KEEP(i) __asm__ volatile("v_mov_b32 %0, %1" : "=v"(held[i]) : "v"(me))
#define USE(i) __asm__ volatile("" ::"v"(held[i]))

__global__ void __launch_bounds__(256) meet(unsigned *arrived, unsigned *values, unsigned *out) {
  const unsigned me = threadIdx.x;
  unsigned held[kept];
#pragma unroll
  for (int i = 0; i < kept; ++i) KEEP(i);
  const unsigned group = blockIdx.x, groups = gridDim.x;
  if (threadIdx.x != 0) return;
  values[group] = 3 * group + 1;
  __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
  while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < groups)
    __builtin_amdgcn_s_sleep(8);
  out[group] = values[(group + 1) % groups];
#pragma unroll
  for (int i = 0; i < kept; ++i) USE(i);
}

int main(int, char **arguments) {
  hipDeviceProp_t device;
  HIP(hipGetDeviceProperties(&device, 0));
  int per_unit = 0;
  HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&per_unit, meet, 256, 0));
  const unsigned groups = static_cast<unsigned>(per_unit * device.multiProcessorCount);
  unsigned *memory;
  HIP(hipMalloc(&memory, (1 + 2 * groups) * sizeof *memory));
  HIP(hipMemset(memory, 0, (1 + 2 * groups) * sizeof *memory));
  unsigned *values = memory + 1, *out = values + groups;
  void *given[] = {&memory, &values, &out};
  std::printf("%u workgroups\n", groups);
  std::fflush(stdout);
  if (std::strcmp(arguments[1], "cooperative") == 0) {
    HIP(hipLaunchCooperativeKernel(reinterpret_cast<void *>(meet), dim3(groups), dim3(256), given, 0,
                                   nullptr));
  } else {
    HIP(hipLaunchKernel(reinterpret_cast<void *>(meet), dim3(groups), dim3(256), given, 0, nullptr));
  }
  HIP(hipDeviceSynchronize());
  std::vector<unsigned> found(groups);
  HIP(hipMemcpy(found.data(), out, groups * sizeof *out, hipMemcpyDeviceToHost));
  for (unsigned i = 0; i < groups; ++i)
    if (found[i] != 3 * ((i + 1) % groups) + 1) {
      std::printf("workgroup %u has %u\n", i, found[i]);
      return 1;
    }
  std::puts("all workgroups met");
  HIP(hipFree(memory));
  return 0;
}
