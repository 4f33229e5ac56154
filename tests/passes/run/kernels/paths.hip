// Ways through a kernel that counting has to follow. What is computed is of no interest.
#include "device.h"

// Lanes leave nested loops at different times and in different ways.
KERNEL nested(const int *in, int *out) {
  int i = globalId(), sum = 0;
  for (int a = 0; a < (in[i] & 7); ++a) {
    if (in[i ^ a] % 5 == 0) continue;
    for (int b = 0; b < (in[i ^ (a + 1)] & 3); ++b) {
      if (in[i ^ b] % 7 == 3) break;
      sum += in[i ^ (a * b)];
      if (sum > 2500) goto out;
    }
    if (in[i] % 11 == 4) return;
  }
out:
  out[i] = sum;
}

// A loop without a bound that is known, in a loop with one.
KERNEL collatz(const int *in, int *out) {
  int i = globalId(), steps = 0;
  for (int k = 0; k < 3; ++k) {
    unsigned v = unsigned(in[i ^ k]) + 1;
    while (v != 1) {
      v = v & 1 ? 3 * v + 1 : v / 2;
      ++steps;
    }
  }
  out[i] = steps;
}

// A loop with two entries.
KERNEL irreducible(const int *in, int *out) {
  int i = globalId(), v = in[i], n = 0;
  if (v & 1) goto second;
first:
  v = v / 2 + in[(i ^ n) & 255] % 3;
  if (++n > 20) goto done;
second:
  v += n;
  if (v % 3 == 0 && ++n < 20) goto second;
  if (v > 2) goto first;
done:
  out[i] = v + n;
}

// Waves end in the middle: here all lanes, there some of them, at once with those that wait.
KERNEL ends_early(const int *in, int *out) {
  int i = globalId();
  out[i] = in[i];
  if (groupId() == 1) __builtin_amdgcn_endpgm();
  for (int k = 0; k < (in[i] & 15); ++k) {
    out[i] += in[i ^ k];
    if (in[i ^ k] > 980) {
      out[i] = -1;
      __builtin_amdgcn_endpgm();
    }
  }
  out[i] += 1;
}

// No loops, and one condition after the other: for all lanes of a wave, for some, and for none.
KERNEL in_a_row(const int *in, int *out) {
  int i = globalId();
  const bool first = groupId() == 0, third = groupId() == 2, last = groupId() == 3;
  if (first | last | (third & (in[i] % 3 != 0))) out[i] = in[i];
  barrier();
  if (first | (last & (i % 7 == 0))) out[i] += 2;
  if (first | (i % 64 < 48)) {
    out[i] ^= 3;
    if (!last | (i % 64 < 40)) out[i] += in[i ^ 1];
  }
}
KERNEL one_condition(const int *in, int *out) {
  int i = globalId();
  if (in[i ^ 2] > 5 * (i & 64) && i < 250) out[i] = in[i];
}
KERNEL no_condition(const int *in, int *out) { out[globalId()] = in[globalId()]; }
KERNEL either(const int *in, int *out) {
  int i = globalId();
  if (in[i] & 1) out[i] = in[i];
  else out[i] = 7;
}

// Lanes stay together in loops that only some of them come to, in loops in these, and behind what
// only some of them do; and not where some leave earlier.
KERNEL together(const int *in, int *out) {
  int i = globalId(), sum = 0;
  const int n = in[groupId()] & 15;
  if (in[i] % 3 == 0) {
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
      if (in[i ^ k] & 1) sum += in[i ^ (k & 7)];
      if (in[groupId() ^ k] & 2)
#pragma unroll 1
        for (int m = k; m >= 0; m -= 2) out[i] += sum ^ m;
    }
  }
#pragma unroll 1
  for (int k = n; k < 9; ++k) {
    if (in[i ^ k] % 50 == 0) break;
#pragma unroll 1
    for (int m = 0; m < (n & 3); ++m) out[i] ^= sum + m;
  }
#pragma unroll 1
  for (unsigned k = 64; k > 0; k /= 2) {
    if (unsigned(localId()) < k) sum += in[i ^ int(k & 31)];
    barrier();
  }
  out[i] += sum;
}

KERNEL uniform_loop(const int *in, int *out) {
  int i = globalId(), sum = 0;
  const int n = in[groupId()] & 31;
  for (int k = 0; k < n; ++k) {
    sum += in[i ^ k];
    if (k == 5) barrier();
    if (in[groupId() ^ k] & 1) sum ^= k;
  }
  if (n == 3) return;
  out[i] = sum;
}

KERNEL never_ends_well(const int *in, int *out) {
  int i = globalId();
  if (in[i] < 0) __builtin_trap();
  if (in[i] > 100000) __builtin_unreachable();
  out[i] = in[i];
}

NOINLINE int descend(const int *in, int i, int depth) {
  if (depth == 0 || in[i] % 13 == 0) return in[i];
  int sum = 0;
  for (int k = 0; k < (in[i] & 3); ++k)
    sum += descend(in, i ^ (k + 1), depth - 1);
  return sum;
}
KERNEL calls_in_loops(const int *in, int *out) {
  int i = globalId(), sum = 0;
  for (int k = 0; k < (in[i] & 3); ++k)
    sum += descend(in, i ^ k, 2);
  if (sum & 1) sum += descend(in, i, 1);
  out[i] = sum;
}

// More blocks than there are registers to count in, in loops and outside.
template <int N> __device__ inline int step(const int *in, int i, int v) {
  if (v % (N + 2) == 0) {
    v += in[(i ^ N) & 255];
    for (int k = 0; k < (v & 3); ++k) {
      if (in[(i ^ k) & 255] & (1 << (N % 7))) v ^= N * k + 1;
      else v += in[(i + N) & 255] & 1;
    }
  } else if (v & 2) {
    v -= N;
  }
  asm volatile("" : "+v"(v));
  return v;
}
template <int N> __device__ inline int steps(const int *in, int i, int v) {
  if constexpr (N == 0) return v;
  else return steps<N - 1>(in, i, step<N>(in, i, v));
}
KERNEL many_blocks(const int *in, int *out) {
  int i = globalId();
  out[i] = steps<16>(in, i, in[i]);
}
KERNEL many_blocks_in_a_loop(const int *in, int *out) {
  int i = globalId(), v = in[i];
  for (int k = 0; k < (in[i] & 3); ++k) v = steps<10>(in, i, v + k);
  out[i] = v;
}

// All scalar registers are in use, and more.
KERNEL busy_registers(const int *in, int *out) {
  int i = globalId(), s[96], sum = 0;
#pragma unroll
  for (int k = 0; k < 96; ++k) s[k] = __builtin_amdgcn_readfirstlane(in[k]);
  for (int n = 0; n < (in[i] & 7); ++n)
#pragma unroll
    for (int k = 0; k < 96; ++k) {
      asm volatile("" ::"s"(__builtin_amdgcn_readfirstlane(s[k])));
      sum += s[k] ^ n;
    }
  if (sum & 1) sum += in[i ^ 1];
  out[i] = sum;
}

// Accesses in loops that move by whole lines or by less, with other lanes each time, in turn with
// the same ones, and with those that are left.
KERNEL moving_lanes(const int *in, int *out) {
  __shared__ int tile[16][17];
  int i = globalId(), sum = 0;
  tile[i & 15][i >> 4 & 3] = i;
  barrier();
#pragma unroll 1
  for (int k = 0; k < 12; ++k) {
    sum += in[(i + 64 * k) & 255];            // the same class, but for the last lanes
    sum += in[(i + 16 * k) & 127];            // some in turn
    sum += tile[(i + k) & 15][i >> 4 & 3];    // another class each time
    sum += tile[k][i & 15];                   // the same, of a tile
    if (in[(i ^ k) & 255] % 3 == 0) sum ^= in[(i + 4 * k) & 255];
    if ((i ^ k) & 1) sum ^= in[i & 255];      // every other lane, in turn
    if (k % 4 != 3) __atomic_fetch_add(&out[256 + (k / 4)], 1, __ATOMIC_RELAXED);
#pragma unroll 1
    for (int n = 0; n < (in[i] & 3); ++n) sum += in[(i + 32 * n) & 255];
    if (in[i] % 37 == k) return;
    if (in[i] % 41 == k) break;
  }
  out[i] = sum;
}

// What a lane has kept is of other lanes, too, and they come again without it.
KERNEL lanes_that_part(const int *in, int *out) {
  int i = globalId(), sum = 0;
#pragma unroll 1
  for (int k = 0; k < 9; ++k) {
    if (k % 3 != 1 || (i & 63) > 20)
      if (k % 3 != 2 || (i & 3) != 0) sum += in[i & 255];
    sum ^= in[(i & 63) + 16 * k]; // two classes in turn, in lines of 128 bytes
    if (k < 5 || (i & 63) > 20) sum += in[(i & 31) + 24 * k];
    if (k == 5 && (i & 31) == 0) return;
  }
  out[i] = sum;
}
