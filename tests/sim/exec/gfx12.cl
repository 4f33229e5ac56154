// Kernels for gfx12_test.cpp. Without libraries, which Debian 12 has not for these GPUs.
#define ITEM __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define ITEMS 256

kernel void add(global const float *a, global const float *b, global float *sum, uint count) {
  for (uint i = GROUP * ITEMS + ITEM; i < count; i += 2 * ITEMS) sum[i] = a[i] + b[i];
}

// A sum by halves, with barriers.
__attribute__((reqd_work_group_size(ITEMS, 1, 1))) kernel void
reduce(global const uint *in, global uint *sums, local uint *part) {
  part[ITEM] = in[GROUP * ITEMS + ITEM];
  for (uint step = ITEMS / 2; step; step /= 2) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    if (ITEM < step) part[ITEM] += part[ITEM + step];
  }
  if (ITEM == 0) sums[GROUP] = part[0];
}

// Where in the grid: x, y and z of workgroup and work-item, nine bits each.
kernel void where(global ulong *out) {
  const ulong x = GROUP, y = __builtin_amdgcn_workgroup_id_y(), z = __builtin_amdgcn_workgroup_id_z();
  const ulong i = ITEM, j = __builtin_amdgcn_workitem_id_y(), k = __builtin_amdgcn_workitem_id_z();
  const ulong group = x + 3 * (y + 4 * z), item = i + 4 * (j + 2 * k);
  out[group * 24 + item] = x | y << 9 | z << 18 | i << 27 | j << 36 | k << 45;
}

// Counts in LDS, then in memory; each work-item keeps what its atomic returned.
__attribute__((reqd_work_group_size(ITEMS, 1, 1))) kernel void
histogram(global const uint *in, global uint *bins, global uint *seen, local uint *counts) {
  if (ITEM < 16) counts[ITEM] = 0;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  const uint at = GROUP * ITEMS + ITEM, bin = in[at] & 15;
  seen[at] = __opencl_atomic_fetch_add((local atomic_uint *)&counts[bin], 1, __ATOMIC_RELAXED,
                                       __OPENCL_MEMORY_SCOPE_WORK_GROUP);
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  if (ITEM < 16)
    __opencl_atomic_fetch_add((global atomic_uint *)&bins[ITEM], counts[ITEM], __ATOMIC_RELAXED,
                              __OPENCL_MEMORY_SCOPE_DEVICE);
}

// Arrives, works for a while that differs from wave to wave, waits, reads what the last item wrote.
__attribute__((reqd_work_group_size(ITEMS, 1, 1))) kernel void split(global uint *out,
                                                                     local uint *shared) {
  for (uint round = 0; round < 8; round++) {
    shared[round * ITEMS + ITEM] = ITEM * 10 + round;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier_signal(-1);
    uint busy = ITEM / 32 + 1;
    for (uint i = 0; i < (ITEM / 32) * 40; i++) busy = busy * 5 + i;
    __builtin_amdgcn_s_barrier_wait(-1);
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    out[(GROUP * 8 + round) * ITEMS + ITEM] =
        shared[round * ITEMS + (ITEM ^ (ITEMS - 1))] + (busy == 0x12345678);
  }
}

kernel void alone(global const uint *in, global uint *out, local uint *shared) {
  shared[ITEM] = in[ITEM];
  __builtin_amdgcn_s_barrier_signal(-1);
  __builtin_amdgcn_s_barrier_wait(-1);
  if (ITEM == 0) out[0] = shared[31];
}

// How many waves of a workgroup are told that they came first.
__attribute__((reqd_work_group_size(ITEMS, 1, 1))) kernel void first(global uint *count) {
  const bool is_first = __builtin_amdgcn_s_barrier_signal_isfirst(-1);
  __builtin_amdgcn_s_barrier_wait(-1);
  if (is_first && (ITEM & (__builtin_amdgcn_wavefrontsize() - 1)) == 0)
    __opencl_atomic_fetch_add((global atomic_uint *)&count[GROUP], 1, __ATOMIC_RELAXED,
                              __OPENCL_MEMORY_SCOPE_DEVICE);
}

// Half of the waves end; the others meet without them.
__attribute__((reqd_work_group_size(ITEMS, 1, 1))) kernel void leave_early(global uint *out,
                                                                           local uint *shared) {
  if (ITEM >= ITEMS / 2) return;
  shared[ITEM] = ITEM + 7;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[GROUP * ITEMS + ITEM] = shared[ITEMS / 2 - 1 - ITEM];
}

// Private memory, indexed by what is not known before.
kernel void private_memory(global const uint *in, global uint *out) {
  uint own[16];
  for (uint i = 0; i < 16; i++) own[i] = in[i] * 3 + ITEM;
  for (uint i = 0; i < 16; i++) own[in[i] & 15] ^= own[(i + ITEM) & 15];
  uint sum = 0;
  for (uint i = 0; i < 16; i++) sum = sum * 31 + own[i];
  out[GROUP * ITEMS + ITEM] = sum;
}

kernel void more_registers(global uint *out) {
  __asm__ volatile(".long 0xbe8053c0" // s_alloc_vgpr 64, which LLVM 19 does not know
                   );
  out[ITEM] = 1;
}
