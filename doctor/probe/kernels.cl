// The kernels that the doctor's probes run. No device library and no hidden argument is needed, so
// that they run with every ROCm that can load a code object of version 4. Workgroups have 64
// work-items.
typedef unsigned int u32;

#define KERNEL __kernel __attribute__((reqd_work_group_size(64, 1, 1)))

static u32 item(void) { return __builtin_amdgcn_workitem_id_x(); }
static u32 index(void) { return __builtin_amdgcn_workgroup_id_x() * 64 + item(); }

/// out[i] = seed ^ i * 2654435761
KERNEL void probe_store(__global u32 *out, u32 seed) { out[index()] = seed ^ index() * 2654435761u; }

/// Each workgroup reverses its part, through LDS.
KERNEL void probe_lds(__global u32 *data) {
  __local u32 tile[64];
  tile[item()] = data[index()];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  data[index()] = tile[63 - item()];
}

/// Every work-item adds 1, and the index of its bit to a second counter.
KERNEL void probe_atomic(__global u32 *counters) {
  __opencl_atomic_fetch_add((__global atomic_uint *)counters, 1u, __ATOMIC_RELAXED, 3);
  __opencl_atomic_fetch_max((__global atomic_uint *)(counters + 1), index(), __ATOMIC_RELAXED, 3);
}

/// c = a * b for square matrices of n rows, one element per work-item; n is a multiple of 8.
KERNEL void probe_matmul(__global const float *a, __global const float *b, __global float *c,
                         u32 n) {
  const u32 row = index() / n, column = index() % n;
  float sum = 0;
  for (u32 k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}
