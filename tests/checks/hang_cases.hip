// Kernels that never end, and twins that do. One case for each run: the first argument says broken or clean, the second
// which. A line that ends with "waits:" and words must have an entry of a hang, whose message has the words.
#include "cases.h"

// clang-format off

#define CASE(name, arguments) template <bool broken> __global__ void name arguments

// Lanes of a wave: the one that has the lock waits for the others.
CASE(lock_in_wave, (int *lock, int *sum)) {
  if (broken) {
    while (atomicCAS(lock, 0, 1) != 0) {} // waits: of the same wave
    *sum += 1;
    __threadfence();
    atomicExch(lock, 0);
  } else {
    for (unsigned i = 0; i < warpSize; i++) {
      if (threadIdx.x % warpSize != i) continue;
      while (atomicCAS(lock, 0, 1) != 0) {}
      *sum += 1;
      __threadfence();
      atomicExch(lock, 0);
    }
  }
}

// Locks of a table, which lanes of a wave take at the same time: those that got one wait for those that did not.
CASE(locks_in_wave, (int *locks, int *heads, int *next)) {
  const int at = threadIdx.x % 7;
  if (broken) {
    bool done = false;
    while (!done)
      if (atomicCAS(&locks[at], 0, 1) == 0) { // waits: of the same wave
        __threadfence();
        next[threadIdx.x] = heads[at];
        heads[at] = threadIdx.x;
        __threadfence();
        atomicExch(&locks[at], 0);
        done = true;
      }
  } else {
    for (unsigned i = 0; i < warpSize; i++) {
      if (threadIdx.x % warpSize != i) continue;
      while (atomicCAS(&locks[at], 0, 1) != 0) {}
      next[threadIdx.x] = heads[at];
      heads[at] = threadIdx.x;
      __threadfence();
      atomicExch(&locks[at], 0);
    }
  }
}

// A flag that nobody sets: the workgroup that should has another condition.
CASE(flag_never_set, (int *flag, int *out)) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {} // waits: no flag or lock of this dispatch was written there
      out[0] = 1;
    }
  } else if (threadIdx.x == 0 && blockIdx.x == (broken ? gridDim.x : 1u)) {
    __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  }
}

// Whoever takes the lock does not give it back.
CASE(lock_kept, (int *lock, int *out)) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {} // waits: whose wave has ended
    out[blockIdx.x] = 1;
    __threadfence();
    if (!broken) atomicExch(lock, 0);
  }
}

// Two locks in different orders, taken by both at the same time.
CASE(two_locks, (int *locks, int *there)) {
  if (threadIdx.x != 0) return;
  int *first = locks + (broken ? blockIdx.x : 0), *second = locks + (broken ? 1 - blockIdx.x : 1);
  while (atomicCAS(first, 0, 1) != 0) {}
  if (broken) {
    atomicAdd(there, 1);
    while (__hip_atomic_load(there, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < 2) {}
  }
  while (atomicCAS(second, 0, 1) != 0) {} // waits: whose wave is at hang_cases.hip:
  atomicExch(second, 0);
  atomicExch(first, 0);
}

// One wave waits at the barrier, the other one for a flag that the first one sets behind it.
CASE(flag_behind_barrier, (int *flag)) {
  __shared__ volatile int ready;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x >= 64) {
    if (!broken) __syncthreads();
    while (ready == 0) {} // waits: byte 0 of LDS, which is 0
    if (broken) __syncthreads();
  } else {
    __syncthreads(); // waits: at a barrier for others of the workgroup
    if (threadIdx.x == 0) ready = 1;
  }
  flag[threadIdx.x] = 1;
}

// Counts how often it looked: that is not what it waits for.
CASE(counted_tries, (volatile int *flag, volatile int *tries)) {
  if (threadIdx.x != 0) return;
  if (!broken) *flag = 1;
  while (*flag == 0) { // polls
    unsigned tried = *tries; // read last, for nearly all of the time
#pragma unroll
    for (int i = 0; i < 300; i++) tried ^= tried << 13, tried ^= tried >> 17;
    *tries = tried + 1;
  }
}

// Goes in circles for ever.
CASE(endless, (int *out)) {
  if (broken) {
    while (true) __builtin_amdgcn_s_sleep(1); // waits: run here
  }
  out[threadIdx.x] = 1;
}

// All that is long and yet ends: polls with an end, work without stores.
CASE(long_work, (int *out, int *flag)) {
  unsigned x = threadIdx.x;
  for (int i = 0; i < 3000000; i++) x = x * 1664525u + 1013904223u;
  for (int i = 0; i < 100000 && __hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0; i++) {}
  out[threadIdx.x] = (int)x;
}

template <bool broken> void run(const std::string &name) {
  Device<int> memory(1024), out(1024);
  HIP(hipMemset(memory.data, 0, 4096));
  if (name == "lock_in_wave") lock_in_wave<broken><<<1, 64>>>(memory.data, memory.data + 64);
  if (name == "locks_in_wave") locks_in_wave<broken><<<1, 32>>>(memory.data, memory.data + 64, out.data);
  if (name == "flag_never_set") flag_never_set<broken><<<2, 64>>>(memory.data, out.data);
  if (name == "lock_kept") lock_kept<broken><<<20, 64>>>(memory.data, out.data);
  if (name == "two_locks") two_locks<broken><<<2, 64>>>(memory.data, memory.data + 64);
  if (name == "flag_behind_barrier") flag_behind_barrier<broken><<<1, 128>>>(out.data);
  if (name == "counted_tries") counted_tries<broken><<<1, 64>>>(memory.data, memory.data + 64);
  if (name == "endless") endless<broken><<<3, 256>>>(out.data);
  if (name == "long_work") long_work<broken><<<2, 64>>>(out.data, memory.data);
  finish();
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const bool broken = std::strcmp(argv[1], "broken") == 0;
  std::printf("begun\n");
  broken ? run<true>(argv[2]) : run<false>(argv[2]);
  std::printf("done\n");
  return 5;
}
