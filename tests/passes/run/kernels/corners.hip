// Accesses of each kind that there is a rule for, all volatile, so that what the machine does is
// what is written here, at any level of optimization: far apart, backwards, at one address, in rows,
// anywhere, of all widths, in LDS with and without conflicts, through pointers that may lead to
// scratch, by lanes that leave a loop one after the other, in functions that are called. In
// workgroups of 64, with 4096 numbers from 0 to 999 to read and room for as many.
#include "device.h"

typedef const volatile int *In;
typedef volatile int *Out;
typedef int Four __attribute__((ext_vector_type(4)));

KERNEL far_apart(In in, Out out) {
  int i = globalId(), sum = 0;
#pragma unroll 1
  for (int stride = 1; stride < 40; stride = stride * 2 + 1) sum += in[i * stride & 4095];
  out[i * 16 & 4095] = sum;
}

KERNEL backwards(In in, Out out) {
  int i = globalId(), sum = in[4095 - i];
#pragma unroll 1
  for (int k = 1; k < 6; ++k) sum += in[4095 - i * k - 7 * k];
  out[255 - i] = sum;
}

KERNEL one_address(In in, Out out) {
  __shared__ volatile int local[64];
  int i = globalId(), sum = in[groupId()] + in[5];
  local[localId()] = i;
  barrier();
#pragma unroll 1
  for (int k = 0; k < 9; ++k) sum += in[k * 33] + local[k];
  out[i] = sum;
}

KERNEL in_rows(In in, Out out) {
  int i = globalId(), sum = 0;
#pragma unroll 1
  for (int width = 2; width < 64; width *= 2)
    sum += in[i % width + i / width * (width + 9) & 4095] + in[i % width * 3 + i / width];
  out[i % 16 + i / 16 * 20] = sum;
}

KERNEL gathered(In in, Out out) {
  int i = globalId(), sum = 0;
#pragma unroll 1
  for (int k = 0; k < 12; ++k)
    if (in[i + k] % 5 != 0) sum += in[in[i * 3 + k]];
  out[i] = sum + in[in[i]];
}

KERNEL scattered(In in, Out out) {
  int i = globalId();
#pragma unroll 1
  for (int k = 0; k < 8; ++k) out[(i * 109 & 255) + 256 * k] = in[i] + k;
}

KERNEL some_atomics(In in, Out out) {
  __shared__ volatile int counts[128];
  int i = globalId();
  counts[localId()] = 0;
  counts[localId() + 64] = 0;
  barrier();
#pragma unroll 1
  for (int k = 0; k < 7; ++k) {
    __atomic_fetch_add((int *)&out[in[i + k] & 15], 1, __ATOMIC_RELAXED);
    asm volatile("s_nop 0"); // in one clause they would have one line
    __atomic_fetch_add((int *)&out[64 + (i * 3 & 255)], k, __ATOMIC_RELAXED);
    __atomic_fetch_add((int *)&counts[in[i * 2 + k] & 127], 1, __ATOMIC_RELAXED);
  }
  barrier();
  out[1024 + i] = counts[localId() * 2];
}

KERNEL conflicts(In in, Out out) {
  __shared__ volatile int tile[64 * 33];
  int l = localId(), sum = 0;
#pragma unroll 1
  for (int k = 0; k < 33; ++k) tile[l * 33 + k] = in[l + k];
  barrier();
#pragma unroll 1
  for (int k = 1; k <= 33; k = k < 32 ? 2 * k : k + 1) sum += tile[l * k];
#pragma unroll 1
  for (int k = 0; k < 9; ++k) sum += tile[in[l + k * 64]];
  if (l % 3 != 0) sum += tile[2000 - l * 31];
  out[globalId()] = sum;
}

KERNEL widths(In in, Out out) {
  __shared__ volatile Four fours[64];
  __shared__ volatile unsigned char bytes[320];
  int i = globalId(), l = localId();
  const volatile char *c = (const volatile char *)in;
  const volatile short *s = (const volatile short *)in;
  const volatile long *d = (const volatile long *)in;
  const volatile Four *v = (const volatile Four *)in;
  long sum = 0;
#pragma unroll 1
  for (int k = 0; k < 5; ++k) {
    sum += c[i + k] + s[i * 2 + k] + d[i + 3 * k] + s[in[i + k]] + c[in[i + k] * 3];
    if (i % 7 == k) sum += c[i] + d[i];
  }
  Four four = v[i];
  fours[l] = four;
  bytes[64 + l * 4] = (unsigned char)sum;
  bytes[l] = (unsigned char)i;
  barrier();
  four = fours[63 - l];
  ((volatile short *)out)[i] = (short)(sum + four.x);
  ((volatile char *)out)[2048 + i * 3] = (char)bytes[in[i] & 255];
  ((volatile Four *)out)[512 + (i & 255)] = four;
}

NOINLINE int sumOf(const volatile int *from, int n, int step) {
  int sum = 0;
#pragma unroll 1
  for (int k = 0; k < n; ++k) sum += from[k * step];
  return sum;
}

// Some lanes read LDS, some scratch, some global memory.
KERNEL anywhere(In in, Out out) {
  __shared__ volatile int local[256];
  volatile int own[16];
  int i = globalId(), l = localId();
#pragma unroll 1
  for (int k = 0; k < 16; ++k) own[(k * 5 + i) & 15] = i * k;
#pragma unroll 1
  for (int k = 0; k < 4; ++k) local[l + 64 * k] = l;
  barrier();
  const volatile int *from = in[i] % 3 == 0 ? (const volatile int *)&local[l]
                             : in[i] % 3 == 1 ? (const volatile int *)own
                                              : &in[i * 2];
  int sum = sumOf(from, 3, 2) + sumOf(&in[i], 4, 16);
  if (l < 40) sum += sumOf(l < 20 ? (const volatile int *)&local[l] : &in[l], 2, 1);
  out[i] = sum + own[in[i] & 15];
}

NOINLINE int row(In in, int begin, int end) {
  int sum = 0;
#pragma unroll 1
  for (int k = begin; k < end; ++k) {
    int v = in[k];
    if (v == 999) break;
    if (v % 7 == 0) continue;
    sum += in[v * 2];
  }
  return sum;
}

// Rows of different length, one lane each.
KERNEL leaving(In in, Out out) {
  int i = globalId(), sum = 0, begin = i * 9 + in[i] % 5, end = begin + in[i + 1] % 40;
#pragma unroll 1
  for (int k = begin; k < end; ++k) {
    sum += in[k & 4095];
    if (in[k + 1 & 4095] > 980) break;
    if (in[k + 2 & 4095] < 30) return;
    if (k & 1) sum ^= in[(k * 3) & 4095];
  }
  out[i] = sum + row(in, i * 3, i * 3 + in[i] % 11);
}

// One lane, another one each time.
KERNEL single(In in, Out out) {
  int i = globalId(), l = localId();
#pragma unroll 1
  for (int k = 0; k < 64; ++k) {
    if (l == k) out[2048 + i * 5] = in[i * 7];
    if (l % 31 == k % 31) out[i] = ((const volatile char *)in)[in[i + k]];
  }
}

// Volatile accesses are flat if their pointers do not say where they lead.
#define GLOBAL __attribute__((address_space(1)))
#define LDS __attribute__((address_space(3)))

// Loops whose accesses move by parts of a cache line. Lines serve one address each, but for lanes
// that are 124 bytes apart, rows that are 64 bytes apart, and elements that reach over an end.
KERNEL moving_by_parts(In from, int *out) {
  const auto in = (const volatile GLOBAL int *)from;
  typedef int pair __attribute__((ext_vector_type(2)));
  typedef int pair_anywhere __attribute__((ext_vector_type(2), aligned(4)));
  const int i = localId();
  int sum = 0;
  if (groupId() > 1) return;
#pragma unroll 1
  for (int k = 0; k < 40; ++k) {
    sum += in[groupId() * 3 + k];        // one address
    sum += in[i / 16 * 33 + k];          // rows, more than a line apart
    sum += in[i / 16 * 16 + k];          // by less
    sum += in[3000 - i / 8 * 32 - k];    // downwards
    sum += in[i * 33 + k];               // columns
    sum += in[i * 31 + k];               // nearer
    sum += in[4000 - i * 40 - 2 * k];    // downwards
    sum += in[i % 16 * 64 + i / 16 + k]; // rows between each other
  }
#pragma unroll 1
  for (int k = 0; k < 40; ++k) {
    const pair a = *(const volatile GLOBAL pair *)(in + i * 34 + 2 * k);
    const pair b = *(const volatile GLOBAL pair_anywhere *)(in + i * 34 + k); // over the end now and then
    sum += a.x + a.y + b.x + b.y;
    if (i % 3 != 0) sum += in[i / 32 * 50 + k + (k & 8)]; // not all lanes, by more now and then
    if (groupId() == 0) out[i * 40 + k] = sum;
  }
}

// Accesses of loops at constant distances from one another, which are in their classes together:
// tiles, rows and columns that change their class now and then, lanes that come and go, elements
// that lie across the end of a cache line, a place that is reached only sometimes, and atomics.
KERNEL following(In from, int *out) {
  __shared__ int in_lds[20 * 64 + 200];
  const auto in = (const volatile GLOBAL int *)from;
  const auto tile = (volatile LDS int *)in_lds, own = tile + 20 * 64;
  __shared__ int sums[80];
  typedef int pair_anywhere __attribute__((ext_vector_type(2), aligned(4)));
  const int l = localId(), row = l / 16, column = l % 16;
  int sum = 0;
  if (groupId() > 1) return;
  for (int k = 0; k < 20; ++k) tile[k * 64 + l] = l + k;
  if (l < 64) sums[l] = 0;
  if (l < 16) sums[l + 64] = 0;
  barrier();
#pragma unroll 1
  for (int k = 0; k < 24; ++k) {
    const volatile LDS int *a = tile + row * 20 + (k & 12), *b = tile + column + (k & 3) * 4;
    sum += a[0] * b[0] + a[1] * b[20] + a[2] * b[40] + a[3] * b[60];
    const volatile GLOBAL int *wide = in + row * 100 + column + (k / 6) * 16;
    sum += wide[0] + wide[32] + wide[7] + wide[1];
    sum += ((const volatile GLOBAL char *)wide)[3] + ((const volatile GLOBAL char *)wide)[9];
    sum += (*(const volatile GLOBAL pair_anywhere *)(wide + 2)).y;
    sum += (*(const volatile GLOBAL pair_anywhere *)(wide + 5)).x;
    __hip_atomic_fetch_add(&sums[column], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    __hip_atomic_fetch_add(&sums[column + 16], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    __hip_atomic_fetch_add(&out[(l + k) % 40], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
#pragma unroll 1
  for (int k = 0; k < 40; ++k) { // by fewer and fewer lanes, and by all of them in between
    if (l > k && (k & 7) != 5) {
      sum += in[l * 2 + k * 32] + in[l * 2 + k * 32 + 1] + in[l * 2 + k * 32 + 64];
      if ((k & 3) == 1) sum += in[l + 70] + in[l + 71];
      own[l * 3] = sum;
      own[l * 3 + 2] = sum;
    }
    if (in[l] == -1) break; // no lane, but who knows
    sum += in[k] + in[k + 1] + in[k + 40];
  }
  for (int k = 0; l >= k; k += 5) sum += in[k * 7 + l] + in[k * 7 + l + 32]; // one after the other
  out[100 + groupId() * 64 + l] = sum;
}

// Elements across the end of a cache line now and then, at a constant distance from others that are
// not; and rows that lie apart in some workgroups, side by side in others.
KERNEL following_anywhere(In from, int *out) {
  typedef int pair __attribute__((ext_vector_type(2)));
  typedef int pair_anywhere __attribute__((ext_vector_type(2), aligned(4)));
  const auto in = (const volatile GLOBAL int *)from;
  const int l = localId();
  int sum = in[l / 16 * (groupId() % 2 == 0 ? 20 : 16) + l % 16];
#pragma unroll 1
  for (int k = 0; k < 40; ++k) {
    const pair a = *(const volatile GLOBAL pair *)(in + l * 40 + 2 * k);
    const pair b = *(const volatile GLOBAL pair_anywhere *)(in + l * 40 + 2 * k + 1);
    sum += a.x + a.y + b.x + b.y;
  }
  out[globalId()] = sum;
}
