// Patterns of workgroups that work together in LDS, each with a barrier that is missing, wrong, or
// not reached by all.
#include "cases.h"

// One buffer is filled while the other one is used; the barrier between two rounds is missing.
template <bool broken> __global__ void double_buffer(const int *in, int *out) {
  __shared__ int buffer[2][256];
  int sum = 0;
  buffer[0][threadIdx.x] = in[threadIdx.x];
  __syncthreads();
#pragma unroll 1
  for (int k = 0; k < 4; ++k) {
    buffer[(k + 1) % 2][threadIdx.x] = in[threadIdx.x] + k; // finds: race
    sum += buffer[k % 2][255 - threadIdx.x];                // finds: race, may: init
    if (!broken) __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// A tree whose last levels do without barriers, from further up than a wave reaches.
template <bool broken> __global__ void tree(const int *in, int *out) {
  __shared__ int sums[256];
  sums[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
#pragma unroll 1
  for (unsigned s = 128; s > 0; s /= 2) {
    if (threadIdx.x < s) sums[threadIdx.x] += sums[threadIdx.x + s]; // finds: race
    if (!broken || s > 128) __syncthreads();
  }
  if (threadIdx.x == 0) out[0] = sums[0];
}

// In place: a wave reads what another one has already added to.
template <bool broken> __global__ void scan(const int *in, int *out) {
  __shared__ int sums[256];
  sums[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
#pragma unroll 1
  for (unsigned d = 1; d < 256; d *= 2) {
    const int left = threadIdx.x >= d ? sums[threadIdx.x - d] : 0; // finds: race
    if (!broken) __syncthreads();
    sums[threadIdx.x] += left; // finds: race
    __syncthreads();
  }
  out[threadIdx.x] = sums[threadIdx.x];
}

// One work-item tells all the others.
template <bool broken> __global__ void broadcast(const int *in, int *out) {
  __shared__ int chosen;
  if (threadIdx.x == 0) chosen = in[5]; // finds: race
  if (!broken) __syncthreads();
  out[threadIdx.x] = chosen; // finds: race, may: init
}

// Each wave adds up for itself; the first one takes the sums too early.
template <bool broken> __global__ void sums_of_waves(const int *in, int *out) {
  __shared__ int part[8];
  int sum = in[threadIdx.x];
  for (int s = warpSize / 2; s > 0; s /= 2) sum += __shfl_down(sum, s);
  if (threadIdx.x % warpSize == 0) part[threadIdx.x / warpSize] = sum; // finds: race
  if (!broken) __syncthreads();
  if (threadIdx.x < blockDim.x / warpSize) out[threadIdx.x] = part[threadIdx.x]; // finds: race
}

template <bool broken> __global__ void turned_tile(const int *in, int *out) {
  __shared__ int tile[16][17];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 16 + threadIdx.x]; // finds: race
  if (!broken) __syncthreads();
  out[threadIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y]; // finds: race
}

// The same memory for something else, while others still read.
template <bool broken> __global__ void used_again(const int *in, int *out) {
  __shared__ union {
    int keys[256];
    float weights[256];
  } room;
  room.keys[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  const int key = room.keys[255 - threadIdx.x]; // finds: race
  if (!broken) __syncthreads();
  room.weights[threadIdx.x] = key * 0.5f; // finds: race
  __syncthreads();
  out[threadIdx.x] = int(room.weights[threadIdx.x]);
}

// Others may still be counting.
template <bool broken> __global__ void read_while_counting(const int *in, unsigned *out) {
  __shared__ unsigned bins[64];
  if (threadIdx.x < 64) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[(in[threadIdx.x] + threadIdx.x) % 64], 1u); // finds: race, optimized
  if (!broken) __syncthreads();
  if (threadIdx.x < 64) out[threadIdx.x] = bins[threadIdx.x]; // finds: race, optimized
}

// Bits of one word, changed by different waves.
template <bool broken> __global__ void bits(int *out) {
  __shared__ unsigned mask;
  if (threadIdx.x == 0) mask = 0;
  __syncthreads();
  if (threadIdx.x % 64 == 0) {
    if (broken)
      mask |= 1u << threadIdx.x / 64; // finds: race
    else
      atomicOr(&mask, 1u << threadIdx.x / 64);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[0] = mask;
}

// Not all turns of the loop are taken by all.
template <bool broken> __global__ void barrier_in_a_loop(const int *in, int *out) {
  const int turns = broken ? 1 + threadIdx.x % 3 : 3;
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < turns; ++i) {
    sum += in[i];
    __syncthreads(); // finds: sync
  }
  out[threadIdx.x] = sum;
}

// A part of a wave has nothing to do and returns.
template <bool broken> __global__ void part_of_a_wave_returns(const int *in, int *out, int n) {
  __shared__ int tile[128];
  if (broken && int(threadIdx.x) >= n) return;
  if (int(threadIdx.x) < n) tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads(); // finds: sync
  if (int(threadIdx.x) < n) out[threadIdx.x] = tile[n - 1 - threadIdx.x];
}

// The barrier of a tree, inside of the condition.
template <bool broken> __global__ void barrier_in_a_tree(const int *in, int *out) {
  __shared__ int sums[64];
  sums[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
#pragma unroll 1
  for (unsigned s = 32; s > 0; s /= 2) {
    if (broken) {
      if (threadIdx.x < s) {
        sums[threadIdx.x] += sums[threadIdx.x + s];
        __syncthreads(); // finds: sync
      }
    } else {
      if (threadIdx.x < s) sums[threadIdx.x] += sums[threadIdx.x + s];
      __syncthreads();
    }
  }
  if (threadIdx.x == 0) out[0] = sums[0];
}

// Some waves come once more than the others, and wait for those that have ended.
template <bool broken> __global__ void once_more(int *out) {
  const unsigned turns = broken && threadIdx.x < 128 ? 3 : 2;
#pragma unroll 1
  for (unsigned i = 0; i < turns; ++i) {
    out[threadIdx.x] = i;
    __syncthreads(); // finds: sync
  }
}

// ---- flags that are told and polled with atomics. LDS has no caches to go past: an atomic load looks like
// any other, but for the loop that waits.
#define FLAG_SCOPE __HIP_MEMORY_SCOPE_WORKGROUP
template <bool broken> __global__ void counted_flag(const int *in, int *out) {
  __shared__ int box[64], flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  const int lane = threadIdx.x % 64, half = threadIdx.x / 64;
  if (half == 0) {
    box[lane] = in[lane]; // finds: race
    if (!broken)
      __hip_atomic_fetch_add(&flag, 1, __ATOMIC_RELEASE, FLAG_SCOPE);
  } else {
    if (!broken)
      while (__hip_atomic_load(&flag, __ATOMIC_ACQUIRE, FLAG_SCOPE) < 64) {}
    out[lane] = box[63 - lane]; // finds: race
  }
}
// There and back, five times; or the flag comes before what it stands for.
template <bool broken> __global__ void stored_flag(const int *in, int *out) {
  __shared__ int box[64], full;
  if (threadIdx.x == 0) full = 0;
  __syncthreads();
  const int lane = threadIdx.x % 32, wave = threadIdx.x / 64;
  if (threadIdx.x % 64 >= 32) return;
  for (int k = 0; k < 5; k++) { // may: race
    if (wave == 0) {
      while (__hip_atomic_load(&full, __ATOMIC_ACQUIRE, FLAG_SCOPE) == 1) {} // may: race
      if (broken && lane == 0)
        __hip_atomic_store(&full, 1, __ATOMIC_RELEASE, FLAG_SCOPE); // may: race
      box[lane] = in[lane] + k; // finds: race optimized
      if (!broken && lane == 0)
        __hip_atomic_store(&full, 1, __ATOMIC_RELEASE, FLAG_SCOPE);
    } else {
      while (__hip_atomic_load(&full, __ATOMIC_ACQUIRE, FLAG_SCOPE) == 0) {} // may: race
      out[32 * k + lane] = box[31 - lane]; // finds: race optimized
      if (lane == 0)
        __hip_atomic_store(&full, 0, __ATOMIC_RELEASE, FLAG_SCOPE); // may: race
    }
  }
}
// A plain flag waits for nothing: compilers load it once, or not at all.
template <bool broken> __global__ void plain_flag(const int *in, int *out) {
  __shared__ int box[64], full;
  if (threadIdx.x == 0) full = 0;
  __syncthreads();
  const int lane = threadIdx.x % 32, half = threadIdx.x / 64;
  if (threadIdx.x % 64 >= 32) return;
  if (half == 0) {
    box[lane] = in[lane]; // finds: race
    if (lane == 0) {
      if (broken)
        full = 1; // may: race
      else
        __hip_atomic_store(&full, 1, __ATOMIC_RELEASE, FLAG_SCOPE);
    }
  } else {
    if (broken)
      while (full == 0) {} // may: race
    else
      for (;;) {
        const int seen = __hip_atomic_load(&full, __ATOMIC_ACQUIRE, FLAG_SCOPE);
        if (seen != 0) break;
        __builtin_amdgcn_s_sleep(1);
      }
    out[lane] = box[31 - lane]; // finds: race
  }
}
// A loop over what others may still be counting does not wait for them.
template <bool broken> __global__ void early_sum(const int *in, int *out) {
  __shared__ int bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[in[threadIdx.x] % 16], 1); // finds: race optimized
  if (!broken) __syncthreads();
  int sum = 0;
#pragma unroll 1
  for (int k = 0; k < 16; k++) sum += bins[k] * k; // finds: race optimized
  out[threadIdx.x] = sum;
}

template <bool broken> int run() {
  Device<int> in(1024), out(1024);
  Device<unsigned> bins(64);
  double_buffer<broken><<<1, 256>>>(in.data, out.data);
  tree<broken><<<1, 256>>>(in.data, out.data);
  scan<broken><<<1, 256>>>(in.data, out.data);
  broadcast<broken><<<1, 256>>>(in.data, out.data);
  sums_of_waves<broken><<<1, 256>>>(in.data, out.data);
  turned_tile<broken><<<1, dim3(16, 16)>>>(in.data, out.data);
  used_again<broken><<<1, 256>>>(in.data, out.data);
  read_while_counting<broken><<<1, 256>>>(in.data, bins.data);
  bits<broken><<<1, 256>>>(out.data);
  finish();
  barrier_in_a_loop<broken><<<1, 64>>>(in.data, out.data);
  part_of_a_wave_returns<broken><<<1, 128>>>(in.data, out.data, 100);
  barrier_in_a_tree<broken><<<1, 64>>>(in.data, out.data);
  once_more<broken><<<1, 256>>>(out.data);
  finish();
  counted_flag<broken><<<1, 128>>>(in.data, out.data);
  stored_flag<broken><<<1, 128>>>(in.data, out.data);
  plain_flag<broken><<<1, 128>>>(in.data, out.data);
  early_sum<broken><<<1, 256>>>(in.data, out.data);
  finish();
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
