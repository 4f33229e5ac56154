// The barrier of grids on gfx942, gfx1100 and newer GPUs. HIP 6 and 7 do not prepare global wave
// sync there: workgroups meet at a counter in memory, which a hidden argument names. Device
// libraries older than these GPUs (Debian 12's, ROCm 5.2) use global wave sync on all GPUs, so that
// nobody waits. This takes its place, and does what newer ones do (ockl, cg.cl).
#pragma once
#include <hip/hip_runtime.h>

#if !defined(__gfx908__) && !defined(__gfx90a__) && !defined(__gfx1030__) &&                       \
    defined(__HIP_DEVICE_COMPILE__)
extern "C" __device__ __attribute__((convergent)) void __ockl_grid_sync() {
  constexpr unsigned sync_argument = 88; // of the hidden arguments, code object version 5
  constexpr unsigned counter_at = 32, workgroups_at = 40; // in what it points to
  constexpr unsigned round = 1u << 16; // the lower half counts who has come, the upper half rounds
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  __builtin_amdgcn_s_barrier();
  if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) {
    const auto *hidden = reinterpret_cast<const char *>(__builtin_amdgcn_implicitarg_ptr());
    char *info = *reinterpret_cast<char *const *>(hidden + sync_argument);
    auto *counter = reinterpret_cast<unsigned *>(info + counter_at);
    const unsigned workgroups = *reinterpret_cast<const unsigned *>(info + workgroups_at);
    const unsigned before =
        __hip_atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    if (before % round == workgroups - 1)
      __hip_atomic_fetch_add(counter, round - workgroups, __ATOMIC_RELAXED,
                             __HIP_MEMORY_SCOPE_AGENT);
    else
      while ((__hip_atomic_load(counter, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) ^ before) <
             round)
        __builtin_amdgcn_s_sleep(1);
  }
  __builtin_amdgcn_s_barrier();
}
#endif
