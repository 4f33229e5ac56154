// The few words of HIP that these kernels need, so that they compile for every processor and
// code-object version without a device library.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

__device__ inline unsigned thread_x() { return __builtin_amdgcn_workitem_id_x(); }
__device__ inline unsigned thread_y() { return __builtin_amdgcn_workitem_id_y(); }
__device__ inline unsigned block_x() { return __builtin_amdgcn_workgroup_id_x(); }
__device__ inline unsigned block_y() { return __builtin_amdgcn_workgroup_id_y(); }
__device__ inline unsigned block_width() { return __builtin_amdgcn_workgroup_size_x(); }
__device__ inline unsigned grid_width() { return __builtin_amdgcn_grid_size_x(); }
__device__ inline unsigned global_x() { return block_x() * block_width() + thread_x(); }
__device__ inline void synchronize() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// The host half of a kernel is a stub that calls this.
struct dim3 {
  unsigned x, y, z;
};
extern "C" int hipLaunchKernel(const void *kernel, dim3 blocks, dim3 threads, void **arguments,
                               unsigned long lds, void *stream);
