// Shuffles and permutes that read a lane which is not active.
#include "cases.h"

// Half of the wave shuffles, and reads the other half.
template <bool broken> __global__ void other_half(const int *in, int *out) {
  const int lane = threadIdx.x % warpSize, half = warpSize / 2;
  const int mine = in[threadIdx.x];
  int sum = mine;
  if (lane < half) {
    const int other = broken ? __shfl(mine, lane + half) : in[threadIdx.x + half]; // finds: sync says: inactive here
    sum = mine + other;
  }
  out[threadIdx.x] = sum;
}

// A reduction after an early return.
template <bool broken> __global__ void after_return(const int *in, int *out, int n) {
  if (broken && int(threadIdx.x) >= n) return;
  int sum = int(threadIdx.x) < n ? in[threadIdx.x] : 0;
#pragma unroll
  for (int s = 16; s > 0; s /= 2) sum += __shfl_xor(sum, s); // finds: sync
  if (threadIdx.x == 0) out[0] = sum;
}

// What was read decides what is stored.
template <bool broken> __global__ void decides(const int *in, int *out) {
  const int mine = in[threadIdx.x];
  bool is_first = threadIdx.x == 0;
  if (!broken) is_first |= mine != __shfl_up(mine, 1);
  if (threadIdx.x % 3 != 0) {
    if (broken) is_first |= mine != __shfl_up(mine, 1); // finds: sync, optimized
    if (is_first) out[threadIdx.x] = mine;
  }
}

// The value is an index.
template <bool broken> __global__ void index_of(const int *in, int *out) {
  const int lane = threadIdx.x % warpSize;
  const int next = (lane + 1) % warpSize;
  int all = __shfl(lane, next);
  if (lane % 2 == 0) {
    int at = broken ? __shfl(lane, next) : all; // finds: sync
    out[threadIdx.x] = in[at];
  }
}

// A double, in two halves, through a function.
template <bool broken> __device__ double partner(double x) {
  return __shfl_xor(x, 1); // finds: sync
}
template <bool broken> __global__ void doubles(const int *in, double *out) {
  double x = in[threadIdx.x];
  if (!broken) x = partner<broken>(x);
  if (threadIdx.x & 1) {
    if (broken) x = partner<broken>(x);
    out[threadIdx.x] = x;
  }
}

// The largest of negative numbers, in a wave that is not full: the 0 from beyond the last one wins.
template <bool broken> __global__ void largest(const int *in, int *out) {
  const int lane = threadIdx.x % warpSize;
  int most = -in[threadIdx.x];
#pragma unroll
  for (int s = 1; s < 32; s *= 2) {
    const int other = __shfl_down(most, s); // finds: sync says: no work-item
    if (broken || threadIdx.x + s < blockDim.x) most = other > most ? other : most;
  }
  if (lane == 0) out[threadIdx.x] = most;
}

template <bool broken> __global__ void swizzled(const int *in, int *out) {
  const int mine = in[threadIdx.x];
  int got = 0;
  if (!broken) got = __builtin_amdgcn_ds_swizzle(mine, 0x041f);
  if (threadIdx.x % 4 != 0) {
    if (broken) got = __builtin_amdgcn_ds_swizzle(mine, 0x041f); // finds: sync
    out[threadIdx.x] = got;
  }
}

// Clean from here on.

// The other value is looked at only where there is one: by a selection, in a branch, in a sum.
__global__ void selected(const int *in, int *out, int n) {
  const int lane = threadIdx.x % warpSize;
  if (int(threadIdx.x) >= n) return;
  int sum = in[threadIdx.x];
#pragma unroll
  for (int s = 1; s < 32; s *= 2) {
    const int other = __shfl_down(sum, s);
    const int both = sum + other;
    sum = int(threadIdx.x) + s < n && lane + s < warpSize ? both : sum;
  }
  if (lane == 0) out[threadIdx.x] = sum;
}

// Lanes that have no partner compute something nobody looks at.
__global__ void best_of(const float *in, int *out, int n) {
  if (int(threadIdx.x) >= n) return;
  float best = in[threadIdx.x];
  int where = threadIdx.x;
  for (int s = 32; s > 0; s /= 2) {
    if (s >= warpSize) continue;
    const float other = __shfl_down(best, s);
    const int there = __shfl_down(where, s);
    if (int(threadIdx.x) + s < n && other > best) {
      best = other;
      where = there;
    }
  }
  if (threadIdx.x == 0) out[0] = where;
}

// A sum in a block that does not fill its wave.
__global__ void small_sum(const int *in, int *out) {
  int sum = in[threadIdx.x];
  for (int s = warpSize / 2; s > 0; s /= 2) sum += __shfl_down(sum, s);
  if (threadIdx.x == 0) out[0] = sum;
}
__global__ void small_doubles(const double *in, double *out) {
  double sum = in[threadIdx.x];
  for (int s = warpSize / 2; s > 0; s /= 2) sum += __shfl_down(sum, s);
  if (threadIdx.x == 0) out[0] = sum;
}

// Lanes beyond the last read nobody, by design of DPP: 0, or what they had.
__global__ void dpp_scan(const int *in, int *out) {
  int sum = in[threadIdx.x];
  if (threadIdx.x % 5 != 0) {
    sum += __builtin_amdgcn_update_dpp(0, sum, 0x111, 0xf, 0xf, false);
    sum += __builtin_amdgcn_mov_dpp(sum, 0x112, 0xf, 0xf, true);
  }
  out[threadIdx.x] = sum;
}

// Inactive lanes are asked for, and hold what they should.
__global__ void rows(const int *in, int *out) {
  const int mine = in[threadIdx.x];
  int got = mine;
#if defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
  got = __builtin_amdgcn_permlanex16(mine, mine, 0x76543210, 0xfedcba98, true, false);
#endif
  if (threadIdx.x % 32 < 16) out[threadIdx.x] = got;
}

// The first active lane hands out a place; all read it, and it is there.
__global__ void aggregated(const int *in, int *out, int *count) {
  if (in[threadIdx.x] % 3 == 0) return;
  const unsigned long long mask = __ballot(1);
  const int leader = __ffsll(mask) - 1, lane = threadIdx.x % warpSize;
  int base = 0;
  if (lane == leader) base = atomicAdd(count, __popcll(mask));
  base = __shfl(base, leader);
  const int rank = __popcll(mask & ((1ull << lane) - 1));
  out[base + rank] = threadIdx.x;
}

// Compaction: lanes that are not kept name a place, too.
__global__ void compacted(const int *in, int *out) {
  const int lane = threadIdx.x % warpSize, mine = in[threadIdx.x];
  const bool keeps = mine % 2 == 0;
  const unsigned long long mask = __ballot(keeps);
  const int place = __popcll(mask & ((1ull << lane) - 1)), total = __popcll(mask);
  const int got = __builtin_amdgcn_ds_permute(4 * (keeps ? place : total + lane - place), mine);
  if (lane < total) out[threadIdx.x] = got;
}

template <bool broken> void run() {
  constexpr int n = 256;
  Device<int> in(n), out(n), count(1);
  Device<float> floats(n);
  Device<double> doubles_in(n), doubles_out(n);
  std::vector<int> host(n);
  for (int i = 0; i < n; ++i) host[i] = i * 7 % 31 + 1;
  HIP(hipMemcpy(in.data, host.data(), n * sizeof(int), hipMemcpyHostToDevice));
  HIP(hipMemset(count.data, 0, sizeof(int)));
  other_half<broken><<<1, 128>>>(in.data, out.data);
  after_return<broken><<<1, 64>>>(in.data, out.data, 20);
  decides<broken><<<1, 64>>>(in.data, out.data);
  index_of<broken><<<1, 64>>>(in.data, out.data);
  doubles<broken><<<1, 64>>>(in.data, doubles_out.data);
  largest<broken><<<1, 24>>>(in.data, out.data);
  swizzled<broken><<<1, 64>>>(in.data, out.data);
  rows<<<1, 64>>>(in.data, out.data);
  selected<<<1, 100>>>(in.data, out.data, 85);
  best_of<<<1, 64>>>(floats.data, out.data, 50);
  small_sum<<<1, 20>>>(in.data, out.data);
  small_doubles<<<1, 20>>>(doubles_in.data, doubles_out.data);
  dpp_scan<<<1, 64>>>(in.data, out.data);
  aggregated<<<1, 64>>>(in.data, out.data, count.data);
  compacted<<<1, 64>>>(in.data, out.data);
  finish();
}

int main(int argc, char **argv) {
  if (argc > 1 && std::string(argv[1]) == "broken")
    run<true>();
  else
    run<false>();
  std::puts("done");
  return 5;
}
