// Code of uncommon kinds. What each kernel computes is of no interest beyond being the same with and without
// instrumentation; what it touches must be recorded.
#include "device.h"

typedef float Float4 __attribute__((ext_vector_type(4)));
typedef _Float16 Half2 __attribute__((ext_vector_type(2)));
typedef unsigned char Bytes3 __attribute__((ext_vector_type(3)));
typedef unsigned long long u64;

// ---- control flow

KERNEL assembly(const int *in, int *out) {
  int i = globalId(), v = in[i];
  asm volatile("v_lshlrev_b32 %0, 1, %1" : "=v"(v) : "v"(v));
  asm volatile("s_nop 3");
  out[i] = v;
}

KERNEL table_of_ways(const int *in, int *out) {
  int i = globalId(), v = in[i];
  switch (v & 15) {
  case 0: v += in[i ^ 1]; break;
  case 1: v *= 3; break;
  case 2: v ^= in[i ^ 2]; break;
  case 3: v -= 5; break;
  case 4: v = ~v; break;
  case 5: v += in[i ^ 3]; [[fallthrough]];
  case 6: v += in[i ^ 4]; break;
  case 9: return;
  case 11: out[i] = v; break;
  default: v = 0;
  }
  out[i] += v;
}

NOINLINE int opFirst(const int *p, int i) { return p[i]; }
NOINLINE int opSecond(const int *p, int i) { return p[i ^ 1] + 1; }
NOINLINE int opThird(const int *p, int i) { return p[i ^ 2] * 2; }
NOINLINE int opFourth(const int *, int i) { return i; }
using Operation = int (*)(const int *, int);
__device__ Operation const operations[4] = {opFirst, opSecond, opThird, opFourth};
KERNEL through_a_table(const int *in, int *out) {
  int i = globalId();
  out[i] = operations[in[i] & 3](in, i);
}

NOINLINE int odd(const int *p, int n);
NOINLINE int even(const int *p, int n) { return n == 0 ? p[0] : odd(p, n - 1) + p[n]; }
NOINLINE int odd(const int *p, int n) { return n == 0 ? p[1] : even(p, n - 1) - p[n]; }
KERNEL mutual_recursion(const int *in, int *out) {
  int i = globalId();
  out[i] = even(in + i, i & 7);
}

template <typename F> __device__ void forEach(int n, F f) {
  for (int k = 0; k < n; ++k)
    if (!f(k))
      break;
}
KERNEL lambdas(const int *in, int *out) {
  int i = globalId(), sum = 0;
  forEach(in[i] & 7, [&](int k) {
    sum += in[i ^ k];
    return sum % 5 != 0;
  });
  auto store = [=](auto v) { out[i] = v; };
  store(sum);
}

namespace {
template <int N> struct Stencil {
  __device__ static int at(const int *p, int i) { return p[i] + Stencil<N - 1>::at(p, i ^ N); }
};
template <> struct Stencil<0> {
  __device__ static int at(const int *p, int i) { return p[i]; }
};
} // namespace
KERNEL hidden_templates(const int *in, int *out) {
  int i = globalId();
  out[i] = Stencil<5>::at(in, i);
}

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(64, 64), amdgpu_waves_per_eu(8))) void
bounded(const int *in, int *out) {
  int i = globalId(), sum[8];
  for (int k = 0; k < 8; ++k)
    sum[k] = in[i ^ k];
  int v = 0;
  for (int k = 0; k < 8; ++k)
    v = v * 3 + sum[k];
  out[i] = v;
}

KERNEL loops(const int *in, int *out) {
  int i = globalId(), v = in[i];
  for (int k = 0; k < 6; ++k) {
    if ((v + k) % 3 == 0)
      continue;
    for (int j = 0; j < k; ++j) {
      if (in[(v + j) & 255] % 7 == 0)
        break;
      v += 1;
    }
    if (v % 11 == 0)
      break;
    out[i] += v;
  }
}

KERNEL never_trap(const int *in, int *out) {
  int i = globalId();
  if (in[i] < 0)
    __builtin_trap();
  if (in[i] > 100000)
    __builtin_unreachable();
  out[i] = in[i];
}

NOINLINE int tail(const int *p, int i) { return p[i]; }
NOINLINE int caller(const int *p, int i) {
  if (i & 1)
    return tail(p, i ^ 5);
  return tail(p, i);
}
KERNEL tail_calls(const int *in, int *out) {
  int i = globalId();
  out[i] = caller(in, i);
}

KERNEL convergent(const int *in, int *out) {
  int i = globalId(), v = in[i];
  if (v & 1) {
    int first = __builtin_amdgcn_readfirstlane(v);
    v += __builtin_amdgcn_ds_bpermute((localId() ^ 1) * 4, first) + in[(first ^ i) & 63];
  }
  barrier();
  out[i] = v;
}

// ---- atomics

KERNEL atomic_kinds(int *a, unsigned *b, u64 *c) {
  int i = globalId();
  __atomic_fetch_add(&a[i], 3, __ATOMIC_RELAXED);
  __atomic_fetch_sub(&a[i ^ 1], 2, __ATOMIC_ACQ_REL);
  __atomic_fetch_and(&b[i], 0xff00ffu, __ATOMIC_RELAXED);
  __atomic_fetch_or(&b[i ^ 2], 0x10u, __ATOMIC_SEQ_CST);
  __atomic_fetch_xor(&c[i], 5ull, __ATOMIC_RELAXED);
  __atomic_fetch_max(&c[i ^ 1], 7ull, __ATOMIC_RELAXED);
  __atomic_fetch_min(&a[i ^ 4], 40, __ATOMIC_RELAXED);
  __atomic_exchange_n(&b[i ^ 8], 9u, __ATOMIC_ACQUIRE);
}

KERNEL atomic_loads(int *a, u64 *b) {
  int i = globalId();
  int v = __atomic_load_n(&a[i], __ATOMIC_ACQUIRE);
  __atomic_store_n(&b[i], u64(v) + 1, __ATOMIC_RELEASE);
  __atomic_store_n(&a[i], v + 1, __ATOMIC_SEQ_CST);
}

KERNEL lds_swaps(int *out) {
  __shared__ int words[64];
  __shared__ u64 wide[64];
  int i = localId();
  words[i] = i & 3;
  wide[i] = u64(i);
  barrier();
  int expected = 2;
  __atomic_compare_exchange_n(&words[i], &expected, 77, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  u64 other = 5;
  __atomic_compare_exchange_n(&wide[i], &other, 1ull << 40, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  barrier();
  out[globalId()] = words[i ^ 1] + int(wide[i ^ 1] >> 32) + expected;
}

// Narrower than the hardware can: the compiler does the whole word. LLVM 15 cannot.
#if __clang_major__ >= 16
KERNEL narrow_atomics(unsigned short *a, unsigned char *b) {
  int i = globalId();
  __atomic_fetch_add(&a[i * 2], (unsigned short)3, __ATOMIC_RELAXED);
  __atomic_fetch_or(&b[i * 4], (unsigned char)8, __ATOMIC_RELAXED);
}
#endif

// ---- types and shapes

KERNEL wide_vectors(const Float4 *in, Float4 *out) {
  int i = globalId();
  out[i ^ 1] = in[i] * 2.f;
}

KERNEL halves(const Half2 *in, Half2 *out) {
  int i = globalId();
  out[i] = in[i] + in[i ^ 1];
}

KERNEL flags(const bool *in, bool *out) {
  int i = globalId();
  out[i] = !in[i ^ 3];
}

KERNEL odd_sizes(const unsigned _BitInt(24) *in, unsigned _BitInt(24) *out, const Bytes3 *from, Bytes3 *to) {
  int i = globalId();
  out[i] = in[i] + 1;
  to[i] = from[i ^ 1];
}

struct __attribute__((packed)) Packed {
  char tag;
  int value;
  double weight;
};
KERNEL packed_fields(const Packed *in, Packed *out) {
  int i = globalId();
  out[i].value = in[i].value + in[i].tag;
  out[i].weight = in[i].weight * 2;
}

struct Big {
  int words[24];
};
KERNEL big_structs(const Big *in, Big *out) {
  int i = globalId();
  out[i] = in[i ^ 1];
}

KERNEL constant_copies(const char *in, char *out) {
  int i = globalId();
  __builtin_memcpy(out + i * 32, in + i * 32, 24);
  __builtin_memset(out + i * 32 + 24, i, 8);
}

KERNEL volatile_fields(volatile short *p, volatile Float4 *q) {
  int i = globalId();
  p[i] = short(p[i] + 1);
  q[i].x = q[i].y;
}

// ---- spaces

extern __shared__ int dynamic[];
KERNEL dynamic_lds(const int *in, int *out) {
  int i = localId();
  dynamic[i] = in[globalId()];
  barrier();
  out[globalId()] = dynamic[63 - i] + dynamic[0];
}

NOINLINE int sumOfThree(const int *a, const int *b, const int *c) { return *a + *b + *c; }
KERNEL three_spaces(const int *in, int *out) {
  __shared__ int local[64];
  int i = localId(), own = i * 5, *slot = &own;
  asm volatile("" : "+v"(slot)); // or it would be moved to LDS
  local[i] = i;
  barrier();
  out[globalId()] = sumOfThree(&in[i], &local[i ^ 1], slot);
}

__device__ int table[64];
static __device__ int hidden_table[64];
__device__ __attribute__((weak)) int weak_table[64];
KERNEL device_variables(const int *in, int *out) {
  int i = localId();
  table[i] = in[i];
  hidden_table[i] = in[i] + 1;
  weak_table[i] = 2;
  barrier();
  out[globalId()] = table[i] + hidden_table[i] + weak_table[i];
}

__constant__ int constants[16] = {9, 8, 7, 6, 5, 4, 3, 2, 1};
KERNEL constant_memory(const int *in, int *out) {
  int i = globalId();
  out[i] = constants[in[i] & 15];
}

struct Arguments {
  const int *in;
  int *out;
  int shift[5];
};
KERNEL by_reference(Arguments a, char, int last) {
  int i = globalId();
  a.out[i] = a.in[i ^ a.shift[i & 3]] + last;
}

// Hundreds of sites.
#define TEN(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8) m(n##9)
#define STEP(n) out[i] += in[(i * 1##n) & 255];
KERNEL hundreds(const int *in, volatile int *out) {
  int i = globalId();
  TEN(STEP, 1) TEN(STEP, 2) TEN(STEP, 3) TEN(STEP, 4) TEN(STEP, 5) TEN(STEP, 6) TEN(STEP, 7) TEN(STEP, 8)
}

KERNEL touches_nothing(int) {
  int i = globalId();
  asm volatile("" ::"v"(i));
}
