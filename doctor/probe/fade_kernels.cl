// The kernel that `--probe fade` runs instrumented, in all modes at once. Which work-item accesses
// what is known, so that every record can be checked: cli/doctor/fade_probe.cpp has the same in C++.
typedef unsigned int u32;

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
fade_probe(__global const u32 *in, __global u32 *out, __global u32 *counter, u32 rounds) {
  __local u32 tile[64];
  const u32 item = __builtin_amdgcn_workitem_id_x();
  const u32 index = __builtin_amdgcn_workgroup_id_x() * 64 + item;
  tile[item] = in[index];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  u32 sum = tile[63 - item];
#pragma clang loop unroll(disable) vectorize(disable)
  for (u32 k = 0; k < rounds; ++k) sum += in[(index * 5 + k) & 1023];
  if (item & 1)
    __opencl_atomic_fetch_add((__global atomic_uint *)(counter + (item & 3)), 1u, __ATOMIC_RELAXED,
                              3);
  out[index] = sum;
}
