// Kernels for caches_test.cpp. Without libraries, which Debian 12 has not for all GPUs.
#define LANE __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define COMPILER_ONLY() __asm__ volatile("" ::: "memory")

kernel void put(global uint *data, uint value) { data[LANE] = value; }

kernel void put_and_release(global uint *data, uint value) {
  data[LANE] = value;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
}

kernel void get(global uint *data, global uint *out) { out[LANE] = data[LANE]; }

kernel void get_by_scalar_unit(constant uint *data, global uint *out, uint fresh) {
  if (fresh) __builtin_amdgcn_s_dcache_inv();
  COMPILER_ONLY();
  out[LANE] = data[0];
}

void set(global atomic_uint *flag) {
  __opencl_atomic_store(flag, 1, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
}
void wait_for(global atomic_uint *flag) {
  while (__opencl_atomic_load(flag, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE) == 0)
    __builtin_amdgcn_s_sleep(1);
}

// The first workgroup looks at data twice; meanwhile the second changes them. Each wave of 32 waits
// for the other's that has the same data: those of one workgroup come at any time.
kernel void hand_over(global uint *data, global atomic_uint *flags, global uint *out, uint releases,
                      uint acquires) {
  flags += LANE / 32 * 2;
  if (GROUP == 0) {
    out[64 + LANE] = data[LANE];
    COMPILER_ONLY();
    set(&flags[0]);
    wait_for(&flags[1]);
    if (acquires) __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    COMPILER_ONLY();
    out[LANE] = data[LANE];
  } else {
    wait_for(&flags[0]);
    data[LANE] = 7;
    COMPILER_ONLY();
    if (releases) __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    set(&flags[1]);
  }
}

kernel void add(global atomic_uint *sum) {
  __opencl_atomic_fetch_add(sum, LANE + GROUP, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
}

// One word in each 256 bytes, by all workgroups together.
kernel void fill(global uint *data, uint count, uint value) {
  for (uint i = GROUP * 64 + LANE; i < count; i += 64 * 64) data[i * 64] = value;
}
