// What kernels need of HIP, without its headers and device libraries: so any clang from 15 on can
// compile them.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define KERNEL extern "C" __global__ void
#define NOINLINE __device__ __attribute__((noinline))

__device__ inline int localId() { return int(__builtin_amdgcn_workitem_id_x()); }
__device__ inline int groupId() { return int(__builtin_amdgcn_workgroup_id_x()); }
// All kernels run with workgroups of 64 work-items.
__device__ inline int globalId() { return groupId() * 64 + localId(); }

__device__ inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
