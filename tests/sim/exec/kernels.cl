// Kernels for executor_test.cpp.
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

kernel void count(global atomic_uint *shared, global uint *own, uint by) {
  atomic_fetch_add_explicit(shared, by, memory_order_relaxed, memory_scope_device);
  own[get_global_id(0)] += by;
}

// Says "mine" and waits for "yours", `rounds` times.
kernel void ping(global atomic_uint *mine, global atomic_uint *yours, uint rounds) {
  for (uint i = 1; i <= rounds; ++i) {
    atomic_store_explicit(mine, i, memory_order_release, memory_scope_all_svm_devices);
    while (atomic_load_explicit(yours, memory_order_acquire, memory_scope_all_svm_devices) < i)
      __builtin_amdgcn_s_sleep(1);
  }
}

// All workgroups write, meet, and read what the next one wrote.
kernel void meet(global atomic_uint *arrived, global uint *values, global uint *out, uint groups) {
  const uint group = get_group_id(0);
  if (get_local_id(0) == 0) {
    values[group] = 3 * group + 1;
    atomic_fetch_add_explicit(arrived, 1, memory_order_acq_rel, memory_scope_device);
    while (atomic_load_explicit(arrived, memory_order_acquire, memory_scope_device) < groups)
      __builtin_amdgcn_s_sleep(1);
    out[group] = values[(group + 1) % groups];
  }
}

// All workgroups meet; those that wait count how often they look, and sleep in between if they are
// to.
kernel void meet_in_turns(global atomic_uint *arrived, global volatile uint *turns, uint groups,
                          uint sleeps) {
  if (get_local_id(0) != 0) return;
  atomic_fetch_add_explicit(arrived, 1, memory_order_acq_rel, memory_scope_device);
  while (atomic_load_explicit(arrived, memory_order_acquire, memory_scope_device) < groups) {
    turns[get_group_id(0)] += 1;
    if (sleeps) __builtin_amdgcn_s_sleep(1);
  }
}

// Of workgroups from `first` on each waits for the one after it, and so for the last.
kernel void wait_for_the_next(global atomic_uint *done, uint first) {
  const uint group = get_group_id(0);
  if (get_local_id(0) != 0) return;
  while (group >= first && group + 1 < get_num_groups(0) &&
         atomic_load_explicit(&done[group + 1], memory_order_acquire, memory_scope_device) == 0)
    __builtin_amdgcn_s_sleep(1);
  atomic_fetch_add_explicit(&done[group], 1, memory_order_acq_rel, memory_scope_device);
}

kernel void endless(global atomic_uint *started) {
  atomic_store_explicit(started, 1, memory_order_release, memory_scope_all_svm_devices);
  for (;;) __builtin_amdgcn_s_sleep(1);
}

// Long enough that several workers take part; the number is changed in memory.
kernel void write_number(global uint *out) {
  uint number;
  __asm__ volatile("s_mov_b32 %0, 0x5eed0000" : "=s"(number));
  out[get_global_id(0)] = number;
}

kernel void store_at(ulong address) { *(global uint *)address = 1; }
kernel void add_at(ulong address) { __opencl_atomic_fetch_add((volatile global atomic_uint *)address, 1u, memory_order_relaxed, memory_scope_device); }
kernel void jump_to(ulong address) { __asm__ volatile("s_setpc_b64 %0" ::"s"(address)); }

// Each work-item reads one word and writes it where its neighbour in the workgroup would.
kernel void reverse(global const uint *in, global uint *out) {
  local uint tile[64];
  const uint i = get_local_id(0), at = get_global_id(0);
  tile[i] = in[at];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (tile[63 - i] & 1) out[at] = tile[63 - i];
}

// Both halves of a word are always the same; a reader that sees them differ has seen a torn access.
kernel void write_pairs(global volatile ulong *words, uint rounds) {
  const uint i = get_local_id(0);
  for (ulong r = 1; r <= rounds; ++r) words[i] = r << 32 | r;
}
kernel void read_pairs(global volatile ulong *words, global atomic_uint *torn, uint rounds) {
  const uint i = get_local_id(0);
  for (uint r = 0; r < rounds; ++r) {
    const ulong word = words[i];
    if ((uint)word != (uint)(word >> 32)) atomic_fetch_add(torn, 1);
  }
}
kernel void write_one_pair(global volatile ulong *words, uint rounds) {
  if (get_local_id(0) == 5)
    for (ulong r = 1; r <= rounds; ++r) words[5] = r << 32 | r;
}

// The same with four dwords.
kernel void write_quads(global volatile uint4 *words, uint rounds, uint order) {
  const uint i = get_local_id(0) ^ order;
  for (uint r = 1; r <= rounds; ++r) words[i] = (uint4)(r);
}
kernel void write_flat_quads(ulong address, uint rounds, uint order) {
  volatile uint4 *words = (volatile uint4 *)address;
  const uint i = get_local_id(0) ^ order;
  for (uint r = 1; r <= rounds; ++r) words[i] = (uint4)(r);
}
kernel void write_one_quad(global volatile uint4 *words, uint rounds, uint order) {
  if (get_local_id(0) == 5)
    for (uint r = 1; r <= rounds; ++r) words[5 ^ order] = (uint4)(r);
}
kernel void read_quads(global volatile uint4 *words, global atomic_uint *torn, uint rounds, uint order) {
  const uint i = get_local_id(0) ^ order;
  for (uint r = 0; r < rounds; ++r) {
    const uint4 word = words[i];
    if (word.x != word.y || word.x != word.z || word.x != word.w) atomic_fetch_add(torn, 1);
  }
}

// Programs that are wrong, but not on a card, where the waves of a workgroup run nearly in step: each lacks a barrier.
// All count the work-items that saw what they would see there.

// Overwrites what the other waves are just about to read.
kernel void overwrite_early(global atomic_uint *right, uint rounds) {
  local volatile uint word;
  uint sum = 0;
  for (uint r = 1; r <= rounds; ++r) {
    if (get_local_id(0) == 0) word = r;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum += word;
  }
  if (sum == rounds * (rounds + 1) / 2) atomic_fetch_add(right, 1);
}
// Later waves read longer, and what the earlier ones overwrite they have read first.
kernel void overwrite_behind(global atomic_uint *right, uint rounds) {
  local volatile uint words[256];
  const uint l = get_local_id(0);
  words[l] = rounds;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint sum = 0;
#pragma unroll 1
  for (uint i = 0; i < l; ++i) sum += words[i];
  words[l] = 0;
  if (sum == l * rounds) atomic_fetch_add(right, 1);
}
// Reads what another wave has just written.
kernel void read_at_once(global atomic_uint *right, uint rounds) {
  local volatile uint words[256];
  const uint l = get_local_id(0);
  uint same = 0;
  for (uint r = 1; r <= rounds; ++r) {
    words[l] = r;
    same += words[l ^ 64] == r;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (same == rounds) atomic_fetch_add(right, 1);
}

// Waves of one workgroup that wait for each other, in LDS, without saying so.
kernel void pass_on(global atomic_uint *right, uint rounds) {
  local volatile uint turn;
  const uint wave = get_local_id(0) / 64;
  if (get_local_id(0) == 0) turn = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint r = 0; r < rounds; ++r) {
    while (turn < r * 4 + wave)
      if (wave & 1) __builtin_amdgcn_s_sleep(1);
    mem_fence(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) % 64 == 0) turn = r * 4 + wave + 1;
  }
  atomic_fetch_add(right, 1);
}
