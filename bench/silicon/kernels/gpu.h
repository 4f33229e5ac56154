// What the kernels need of the GPU, by builtins of clang for nvptx64: OpenCL's library is not
// there.
#pragma once

typedef unsigned int u32;
typedef unsigned long u64;

static inline u32 thread_x(void) { return (u32)__nvvm_read_ptx_sreg_tid_x(); }
static inline u32 thread_y(void) { return (u32)__nvvm_read_ptx_sreg_tid_y(); }
static inline u32 block_x(void) { return (u32)__nvvm_read_ptx_sreg_ctaid_x(); }
static inline u32 block_y(void) { return (u32)__nvvm_read_ptx_sreg_ctaid_y(); }
static inline u32 block_size_x(void) { return (u32)__nvvm_read_ptx_sreg_ntid_x(); }
static inline u32 grid_size_x(void) { return (u32)__nvvm_read_ptx_sreg_nctaid_x(); }
static inline void wait_for_block(void) { __syncthreads(); }

static inline void add_shared(__local u32 *where, u32 n) {
  __opencl_atomic_fetch_add((volatile __local atomic_uint *)where, n, __ATOMIC_RELAXED,
                            __OPENCL_MEMORY_SCOPE_WORK_GROUP);
}
static inline void add_global(__global u32 *where, u32 n) {
  __opencl_atomic_fetch_add((volatile __global atomic_uint *)where, n, __ATOMIC_RELAXED,
                            __OPENCL_MEMORY_SCOPE_DEVICE);
}

// The accesses of a loop's body are the ones that stand there, in that order.
#define AS_WRITTEN _Pragma("clang loop unroll(disable) vectorize(disable)")
