// Between waves and workgroups of a dispatch: races in global memory, and what orders accesses.
#include "cases.h"

// Each workgroup reads what its neighbor writes.
template <bool broken> __global__ void neighbor(int *p, int *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int n = gridDim.x * blockDim.x;
  p[i] = i;                                      // finds: race
  out[i] = p[broken ? (i + blockDim.x) % n : i]; // finds: race
}

// In place: a wave overwrites what another one has yet to read.
template <bool broken> __global__ void shift(int *p, int *out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 >= n) return;
  const int next = p[i + 1];        // finds: race
  (broken ? p : out)[i] = next + 1; // finds: race
}

template <bool broken> __global__ void sum_without_atomic(int *total, const int *in) {
  if (broken)
    *total += in[threadIdx.x] + blockIdx.x; // finds: race
  else
    atomicAdd(total, in[threadIdx.x]);
}

// A barrier is for a workgroup alone.
template <bool broken> __global__ void barrier_is_not_global(int *p, int *out) {
  p[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x; // finds: race
  __syncthreads();
  const int other = broken ? (blockIdx.x + 1) % gridDim.x : blockIdx.x;
  out[blockIdx.x * blockDim.x + threadIdx.x] =
      p[other * blockDim.x + blockDim.x - 1 - threadIdx.x]; // finds: race
}

// The last workgroup sums up. Without the fence its counter says nothing about the others' stores.
template <bool broken>
__global__ void last_block(int *part, unsigned *count, int *out, const int *in) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = in[blockIdx.x] + 7; // finds: race, optimized says: but without __threadfence() before it
    if (!broken) __threadfence();
    is_last = atomicAdd(count, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  if (threadIdx.x < gridDim.x) out[threadIdx.x] = part[threadIdx.x]; // finds: race, optimized
}

// Likewise, with a fence that orders the stores for the own workgroup alone.
template <bool broken>
__global__ void narrow_fence(int *part, unsigned *count, int *out, const int *in) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = in[blockIdx.x] + 7; // finds: race on gfx9, optimized says: is only workgroup-wide
    if (broken)
      __threadfence_block();
    else
      __threadfence();
    is_last = atomicAdd(count, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  if (threadIdx.x < gridDim.x) out[threadIdx.x] = part[threadIdx.x]; // finds: race on gfx9, optimized
}

// A lock that one of the workgroups does not take.
template <bool broken> __global__ void spin_lock(unsigned *lock, int *counter) {
  if (threadIdx.x != 0) return;
  if (broken && blockIdx.x == 3) {
    *counter += 5; // finds: race
    return;
  }
  while (atomicCAS(lock, 0u, 1u) != 0u) __builtin_amdgcn_s_sleep(1);
  __threadfence();
  *counter += 1 + blockIdx.x; // finds: race
  __threadfence();
  __hip_atomic_store(lock, 0u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// Data, then a flag. Who polls without a fence may read what his cache still has.
template <bool broken> __global__ void flag(int *data, int *ready, int *out, const int *in) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = in[threadIdx.x] + 3; // finds: race says: but without __threadfence() after it
    __syncthreads();
    if (threadIdx.x == 0) __hip_atomic_store(ready, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  } else {
    if (broken)
      while (__hip_atomic_load(ready, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) != 1)
        __builtin_amdgcn_s_sleep(1);
    else
      while (__hip_atomic_load(ready, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != 1)
        __builtin_amdgcn_s_sleep(1);
    out[threadIdx.x] = data[threadIdx.x]; // finds: race
  }
}

// Each workgroup adds to what the one before it has left: the chain of a scan with look-back.
template <bool broken> __global__ void chain(int *value, int *ready, const int *in) {
  if (threadIdx.x != 0) return;
  const unsigned b = blockIdx.x;
  int before = 0;
  if (b > 0) {
    if (!broken || b != 5) {
      while (__hip_atomic_load(&ready[b - 1], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) != 1)
        __builtin_amdgcn_s_sleep(1);
      __threadfence();
    }
    // Who told the one before it tells this one, too.
    before = value[b - 1] + (b > 1 ? value[b - 2] : 0); // finds: race
  }
  value[b] = before + in[b]; // finds: race
  __threadfence();
  __hip_atomic_store(&ready[b], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// All workgroups meet; the first phase's results are read in the second.
template <bool broken>
__global__ void grid_barrier(int *p, unsigned *count, int *out, const int *in) {
  p[blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x] + 9; // finds: race
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(count, 1u);
    if (!broken)
      while (__hip_atomic_load(count, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < gridDim.x)
        __builtin_amdgcn_s_sleep(1);
    __threadfence();
  }
  __syncthreads();
  const unsigned other = (blockIdx.x + 1) % gridDim.x;
  out[blockIdx.x * blockDim.x + threadIdx.x] = p[other * blockDim.x + threadIdx.x]; // finds: race
}

// Many write the same: harmless. Different values are not.
template <bool broken> __global__ void same_value(int *found) {
  if (threadIdx.x % 64 == 5) *found = broken ? 100 + blockIdx.x : 77; // finds: race
}

// Cleared in the dispatch that counts.
template <bool broken> __global__ void clears_while_counting(unsigned *bins, const int *in) {
  if (broken && blockIdx.x == 1 && threadIdx.x < 64)
    bins[threadIdx.x] = in[0];            // finds: race, optimized
  atomicAdd(&bins[threadIdx.x % 64], 1u); // finds: race, optimized
}

// Waves of a workgroup, without a barrier.
template <bool broken> __global__ void waves_of_a_group(int *p, int *out) {
  p[threadIdx.x] = threadIdx.x; // finds: race
  if (!broken) __syncthreads();
  out[threadIdx.x] = p[(threadIdx.x + 64) % blockDim.x]; // finds: race
}

// Halves of a dword are not the same memory.
template <bool broken> __global__ void halves(short *p) {
  p[(threadIdx.x * 2 + blockIdx.x * (broken ? 0 : 1)) % 128] = 3 + blockIdx.x; // finds: race
}

// A loop of compare-and-swap, as compilers make it of atomics that hardware does not have. A plain
// sum of the same kind is not one.
template <bool broken> __global__ void largest(double *most, const int *in) {
  const double mine = in[threadIdx.x] * 2.0 + blockIdx.x;
  if (broken)
    *most = fmax(*most, mine); // finds: race
  else
    atomicMax(most, mine);
}

// Counts without atomics: two waves read the same old value.
template <bool broken> __global__ void plain_histogram(unsigned *bins, const int *in) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (broken)
    bins[(in[i] + i) % 64] += 1; // finds: race
  else
    atomicAdd(&bins[(in[i] + i) % 64], 1u);
}

// A place in a queue must be taken and not only looked at.
template <bool broken> __global__ void push(unsigned *tail, int *queue) {
  if (threadIdx.x != 0) return;
  unsigned at;
  if (broken) {
    at = *tail;     // finds: race
    *tail = at + 1; // finds: race
  } else {
    at = atomicAdd(tail, 1u);
  }
  queue[broken ? blockIdx.x : at % 1024] = blockIdx.x;
}

// The lock is opened before what it protects has been stored.
template <bool broken> __global__ void unlock_without_fence(unsigned *lock, int *shared) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0u, 1u) != 0u) __builtin_amdgcn_s_sleep(1);
  __threadfence();
  *shared += blockIdx.x; // finds: race, optimized
  if (!broken) __threadfence();
  __hip_atomic_store(lock, 0u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// The flag first, and then the data.
template <bool broken> __global__ void flag_too_early(int *data, int *ready, int *out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    if (broken) __hip_atomic_store(ready, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    *data = 3 + out[5]; // finds: race
    if (!broken) __hip_atomic_store(ready, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  } else {
    while (__hip_atomic_load(ready, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != 1)
      __builtin_amdgcn_s_sleep(1);
    out[0] = *data; // finds: race
  }
}

// The scope is that of a workgroup, but another one reads.
template <int scope> __device__ void wait_for(int *flag) {
  while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, scope) != 1) // may: race
    __builtin_amdgcn_s_sleep(1);
}
template <bool broken> __global__ void narrow_scope(int *data, int *ready, int *out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *data = 3 + out[5];                                                       // finds: race
    __hip_atomic_store(ready, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT); // may: race
  } else {
    wait_for<broken ? __HIP_MEMORY_SCOPE_WORKGROUP : __HIP_MEMORY_SCOPE_AGENT>(ready);
    out[0] = *data; // finds: race
  }
}

// Bits of one word, set by different workgroups.
template <bool broken> __global__ void visited(unsigned *bits) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (broken)
    bits[i / 256] |= 1u << i % 32; // finds: race
  else
    atomicOr(&bits[i / 256], 1u << i % 32);
}

// A round of relaxation in place: neighbors of other workgroups change meanwhile.
template <bool broken> __global__ void relax(float *now, float *next, int w, int h) {
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
  float *to = broken ? now : next;
  const float *p = now + y * w + x;
  const float sum = p[-1] + p[1] + p[-w] + p[w]; // finds: race
  to[y * w + x] = sum / 4 + x;                   // finds: race
}

// The counter is set back by whoever comes first, not by the last one.
template <bool broken> __global__ void set_back(unsigned *count, int *out) {
  if (threadIdx.x != 0) return;
  if (broken) {
    atomicAdd(count, 1u);                 // finds: race, optimized
    if (blockIdx.x == 2) *count = out[7]; // finds: race, optimized
  } else if (atomicAdd(count, 1u) == gridDim.x - 1) {
    *count = 0;
  }
}

// A sequence lock: who reads while a writer writes tries again. That is not enough for plain data,
// which others change at that moment; atomic accesses (relaxed) are.
struct Record {
  unsigned sequence, padding;
  int low, high;
};
template <bool broken> __global__ void sequence_lock(Record *r, int *out) {
  constexpr int agent = __HIP_MEMORY_SCOPE_AGENT;
  if (threadIdx.x != 0) return;
  if (blockIdx.x + 1 == gridDim.x) {
    __hip_atomic_store(&r->sequence, 1u, __ATOMIC_RELAXED, agent);
    __threadfence();
    if (broken) {
      r->low = 2; // finds: race
      r->high = 3; // may: race
    } else {
      __hip_atomic_store(&r->low, 2, __ATOMIC_RELAXED, agent);
      __hip_atomic_store(&r->high, 3, __ATOMIC_RELAXED, agent);
    }
    __hip_atomic_store(&r->sequence, 2u, __ATOMIC_RELEASE, agent);
    return;
  }
  for (;;) {
    const unsigned before = __hip_atomic_load(&r->sequence, __ATOMIC_ACQUIRE, agent);
    int low, high;
    if (broken) {
      low = r->low; // finds: race
      high = r->high; // may: race
    } else {
      low = __hip_atomic_load(&r->low, __ATOMIC_RELAXED, agent);
      high = __hip_atomic_load(&r->high, __ATOMIC_RELAXED, agent);
    }
    __threadfence();
    const unsigned after = __hip_atomic_load(&r->sequence, __ATOMIC_RELAXED, agent);
    if (before == after && before % 2 == 0) {
      out[blockIdx.x] = low + high;
      return;
    }
  }
}

template <bool broken> int run() {
  constexpr int blocks = 8, threads = 128, n = blocks * threads;
  Device<int> p(n), out(n), in(n), q(n);
  Device<unsigned> count(64);
  Device<short> shorts(1024);
  Device<double> doubles(8);
  Device<float> floats(1024), more_floats(1024);
  const auto clear = [&] {
    finish();
    HIP(hipMemset(count.data, 0, 256));
    HIP(hipMemset(q.data, 0, n * 4));
  };
  neighbor<broken><<<blocks, threads>>>(p.data, out.data), clear();
  shift<broken><<<blocks, threads>>>(p.data, out.data, n), clear();
  sum_without_atomic<broken><<<blocks, threads>>>(out.data, in.data), clear();
  barrier_is_not_global<broken><<<blocks, threads>>>(p.data, out.data), clear();
  last_block<broken><<<24, threads>>>(p.data, count.data, out.data, in.data), clear();
  narrow_fence<broken><<<blocks, threads>>>(p.data, count.data, out.data, in.data), clear();
  spin_lock<broken><<<blocks, threads>>>(count.data, out.data), clear();
  flag<broken><<<2, threads>>>(p.data, q.data, out.data, in.data), clear();
  chain<broken><<<blocks, threads>>>(p.data, q.data, in.data), clear();
  grid_barrier<broken><<<blocks, threads>>>(p.data, count.data, out.data, in.data), clear();
  same_value<broken><<<blocks, threads>>>(out.data), clear();
  clears_while_counting<broken><<<blocks, threads>>>(count.data, in.data), clear();
  waves_of_a_group<broken><<<1, 256>>>(p.data, out.data), clear();
  largest<broken><<<blocks, threads>>>(doubles.data, in.data), clear();
  halves<broken><<<2, 64>>>(shorts.data), clear();
  plain_histogram<broken><<<blocks, threads>>>(count.data, in.data), clear();
  push<broken><<<blocks, threads>>>(count.data, out.data), clear();
  unlock_without_fence<broken><<<blocks, threads>>>(count.data, out.data), clear();
  flag_too_early<broken><<<2, threads>>>(p.data, q.data, out.data), clear();
  narrow_scope<broken><<<2, threads>>>(p.data, q.data, out.data), clear();
  visited<broken><<<blocks, threads>>>(count.data), clear();
  relax<broken><<<dim3(2, 2), dim3(16, 16)>>>(floats.data, more_floats.data, 32, 32), clear();
  set_back<broken><<<blocks, threads>>>(count.data, out.data), clear();
  sequence_lock<broken><<<blocks, 64>>>(reinterpret_cast<Record *>(q.data), out.data), clear();
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
