// What every generated program starts with: types, and operations that have one exact result on the
// GPU and on the host. The same text is compiled for both. Plain C, no library.
//
// Rules that make results comparable bit for bit:
//   - signed integers wrap (-fwrapv); shift counts, divisors and conversions are made to fit
//   - multiplications and additions are never fused behind the program's back (-ffp-contract=off)
//   - the sign and payload of a NaN are never looked at: a float becomes bits only through bits_*()
#pragma once

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long i64;
typedef unsigned long u64;
typedef _Float16 f16;
typedef float f32;
typedef double f64;
typedef u8 u8x4 __attribute__((ext_vector_type(4)));
typedef i16 i16x2 __attribute__((ext_vector_type(2)));
typedef u16 u16x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef i32 i32x4 __attribute__((ext_vector_type(4)));
typedef u64 u64x2 __attribute__((ext_vector_type(2)));
typedef f16 f16x2 __attribute__((ext_vector_type(2)));
typedef f32 f32x2 __attribute__((ext_vector_type(2)));
typedef f32 f32x4 __attribute__((ext_vector_type(4)));

#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))
#define MAX_ITEMS 256u // work-items of a workgroup
#define IN_BYTES 4096u // shared by all, read only
#define MEM_BYTES 64u  // global memory of one work-item
#define SLOT_BYTES 16u // LDS of one work-item, in each of the two halves
#define LDS_BYTES (MAX_ITEMS * SLOT_BYTES)
#define LDS_COUNTERS 36u // the last 4 are f32

#ifdef __AMDGCN__
#ifdef FLAT_POINTERS // flat instructions instead of global ones
#define GLOBAL
#else
#define GLOBAL __attribute__((address_space(1)))
#endif
#define LDS __attribute__((address_space(3)))
#define WAVE __AMDGCN_WAVEFRONT_SIZE__
static LDS __attribute__((loader_uninitialized, aligned(16))) u8 lds_half[2][LDS_BYTES];
static LDS __attribute__((loader_uninitialized)) u32 lds_counters[LDS_COUNTERS];
#else
#define GLOBAL
#define LDS
static __attribute__((aligned(16))) u8 lds_half[2][LDS_BYTES];
static u32 lds_counters[LDS_COUNTERS];
#endif

// Integers ----------------------------------------------------------------------------------------

#define DIVISIONS(T, BAD)                                                                          \
  INLINE T div_##T(T a, T b) { return BAD ? (T)(a ^ 5) : (T)(a / b); }                             \
  INLINE T mod_##T(T a, T b) { return BAD ? (T)(a + 3) : (T)(a % b); }
DIVISIONS(u8, b == 0)
DIVISIONS(u16, b == 0)
DIVISIONS(u32, b == 0)
DIVISIONS(u64, b == 0)
DIVISIONS(i8, (b == 0 || b == -1))
DIVISIONS(i16, (b == 0 || b == -1))
DIVISIONS(i32, (b == 0 || b == -1))
DIVISIONS(i64, (b == 0 || b == -1))

#define OVERFLOWS(T)                                                                               \
  INLINE T carry_add_##T(T a, T b) {                                                               \
    T r;                                                                                           \
    return __builtin_add_overflow(a, b, &r) ? (T)~r : r;                                           \
  }                                                                                                \
  INLINE T carry_sub_##T(T a, T b) {                                                               \
    T r;                                                                                           \
    return __builtin_sub_overflow(a, b, &r) ? (T)~r : r;                                           \
  }                                                                                                \
  INLINE T carry_mul_##T(T a, T b) {                                                               \
    T r;                                                                                           \
    return __builtin_mul_overflow(a, b, &r) ? (T)~r : r;                                           \
  }
OVERFLOWS(u8)
OVERFLOWS(u16)
OVERFLOWS(u32)
OVERFLOWS(u64)
OVERFLOWS(i8)
OVERFLOWS(i16)
OVERFLOWS(i32)
#define carry_mul_i64                                                                              \
  carry_add_i64 // overflow of a signed 64-bit product needs a library call on the host
INLINE i64 carry_add_i64(i64 a, i64 b) {
  i64 r;
  return __builtin_add_overflow(a, b, &r) ? ~r : r;
}
INLINE i64 carry_sub_i64(i64 a, i64 b) {
  i64 r;
  return __builtin_sub_overflow(a, b, &r) ? ~r : r;
}

INLINE u32 mulhi_u32(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }
INLINE i32 mulhi_i32(i32 a, i32 b) { return (i32)((i64)a * b >> 32); }
INLINE u64 mulhi_u64(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }
INLINE i64 mulhi_i64(i64 a, i64 b) { return (i64)((__int128)a * b >> 64); }
INLINE u32 clz_u32(u32 x) { return x ? (u32)__builtin_clz(x) : 32; }
INLINE u32 ctz_u32(u32 x) { return x ? (u32)__builtin_ctz(x) : 32; }
INLINE u32 clz_u64(u64 x) { return x ? (u32)__builtin_clzl(x) : 64; }
INLINE u32 ctz_u64(u64 x) { return x ? (u32)__builtin_ctzl(x) : 64; }
INLINE u32 funnel_u32(u32 a, u32 b, u32 n) { return (u32)(((u64)a << 32 | b) >> (n & 31)); }
INLINE u32 field_u32(u32 x, u32 at, u32 width) {
  return x >> (at & 31) & ((1u << (width & 31)) - 1);
}
INLINE i32 field_i32(u32 x, u32 at, u32 width) {
  const u32 w = (width & 15) + 1;
  return (i32)(x << (32 - w - (at & 15))) >> (32 - w);
}
INLINE u32 insert_u32(u32 mask, u32 a, u32 b) { return (a & mask) | (b & ~mask); }
INLINE u32 byte_of(u32 a, u32 b, u32 i) {
  return (u32)(((u64)a << 32 | b) >> ((i & 7) * 8)) & 0xff;
}
INLINE u32 permute_u32(u32 a, u32 b, u32 s) {
  return byte_of(a, b, s) | byte_of(a, b, s >> 8) << 8 | byte_of(a, b, s >> 16) << 16 |
         byte_of(a, b, s >> 24) << 24;
}
INLINE u32 mul24_u32(u32 a, u32 b) { return (a & 0xffffff) * (b & 0xffffff); }
INLINE i32 mul24_i32(i32 a, i32 b) { return (a << 8 >> 8) * (b << 8 >> 8); }
INLINE u32 max3_u32(u32 a, u32 b, u32 c) { return a > b ? (a > c ? a : c) : (b > c ? b : c); }
INLINE i32 min3_i32(i32 a, i32 b, i32 c) { return (a < b ? a : b) < c ? (a < b ? a : b) : c; }
INLINE i16 max3_i16(i16 a, i16 b, i16 c) { return (a > b ? a : b) > c ? (a > b ? a : b) : c; }
INLINE u32 sad_u32(u32 a, u32 b, u32 c) { return (a > b ? a - b : b - a) + c; }
INLINE i32 clamp_i32(i32 a) { return a < -12 ? -12 : a > 45 ? 45 : a; }
INLINE i32 median_i32(i32 a, i32 b, i32 c) {
  const i32 low = a < b ? a : b, high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
}

// Floats ------------------------------------------------------------------------------------------

#define BITS(F, U, NAN_BITS, ABOVE_INFINITY, MASK)                                                 \
  INLINE U bits_##F(F x) {                                                                         \
    union {                                                                                        \
      F f;                                                                                         \
      U u;                                                                                         \
    } v = {x};                                                                                     \
    return x != x ? (U)NAN_BITS : v.u;                                                             \
  }                                                                                                \
  INLINE F F##_bits(U u) {                                                                         \
    union {                                                                                        \
      U u;                                                                                         \
      F f;                                                                                         \
    } v = {(u & MASK) >= ABOVE_INFINITY ? (U)NAN_BITS : u};                                        \
    return v.f;                                                                                    \
  }
BITS(f16, u16, 0x7e00, 0x7c01, 0x7fff)
BITS(f32, u32, 0x7fc00000, 0x7f800001, 0x7fffffff)
BITS(f64, u64, 0x7ff8000000000000, 0x7ff0000000000001, 0x7fffffffffffffff)

#define TO_INTEGER(T, F, LEAST, BELOW)                                                             \
  INLINE T T##_of_##F(F x) { return x >= (F)LEAST && x < (F)BELOW ? (T)x : (T)0x55; }
#define TO_INTEGERS(F)                                                                             \
  TO_INTEGER(u8, F, 0, 256)                                                                        \
  TO_INTEGER(i8, F, -128, 128)                                                                     \
  TO_INTEGER(i16, F, -32768, 32768)
#define TO_WIDE_INTEGERS(F)                                                                        \
  TO_INTEGER(u16, F, 0, 65536)                                                                     \
  TO_INTEGER(u32, F, 0, 0x1p32)                                                                    \
  TO_INTEGER(i32, F, -0x1p31, 0x1p31)                                                              \
  TO_INTEGER(u64, F, 0, 0x1p64)                                                                    \
  TO_INTEGER(i64, F, -0x1p63, 0x1p63)
TO_INTEGERS(f16)
TO_INTEGERS(f32)
TO_INTEGERS(f64)
TO_WIDE_INTEGERS(f32)
TO_WIDE_INTEGERS(f64)
TO_INTEGER(u16, f16, 0, 65504)
TO_INTEGER(u32, f16, 0, 65504)
TO_INTEGER(i32, f16, -65504, 65504)
TO_INTEGER(u64, f16, 0, 65504)
TO_INTEGER(i64, f16, -65504, 65504)

#define FUNCTIONS(F, S)                                                                            \
  INLINE F fma_##F(F a, F b, F c) { return __builtin_fma##S(a, b, c); }                            \
  INLINE F sqrt_##F(F a) { return __builtin_sqrt##S(a); }                                          \
  INLINE F floor_##F(F a) { return __builtin_floor##S(a); }                                        \
  INLINE F ceil_##F(F a) { return __builtin_ceil##S(a); }                                          \
  INLINE F trunc_##F(F a) { return __builtin_trunc##S(a); }                                        \
  INLINE F rint_##F(F a) { return __builtin_rint##S(a); }                                          \
  INLINE F abs_##F(F a) { return __builtin_fabs##S(a); }                                           \
  INLINE F neg_##F(F a) { return -a; }                                                             \
  INLINE F add_##F(F a, F b) { return a + b; }                                                     \
  INLINE F sub_##F(F a, F b) { return a - b; }                                                     \
  INLINE F mul_##F(F a, F b) { return a * b; }                                                     \
  INLINE F div_##F(F a, F b) { return a / b; }                                                     \
  /* Either zero may come out of fmin(+0, -0): the sum is always +0. */                            \
  INLINE F min_##F(F a, F b) { return __builtin_fmin##S(a, b) + (F)0; }                            \
  INLINE F max_##F(F a, F b) { return __builtin_fmax##S(a, b) + (F)0; }                            \
  INLINE F copysign_##F(F a, F b) { return __builtin_copysign##S(a, b != b ? (F)1 : b); }          \
  INLINE F ldexp_##F(F a, i32 n) { return __builtin_ldexp##S(a, n % 2200); }                       \
  INLINE F mantissa_##F(F a) {                                                                     \
    int e;                                                                                         \
    return a - a == 0 ? __builtin_frexp##S(a, &e) : (F)1;                                          \
  }                                                                                                \
  INLINE i32 exponent_##F(F a) {                                                                   \
    int e;                                                                                         \
    return a - a == 0 ? (__builtin_frexp##S(a, &e), e) : 0;                                        \
  }
FUNCTIONS(f32, f)
FUNCTIONS(f64, )
// A host without f16 arithmetic computes in f32 and rounds, which is exact for these.
INLINE f16 abs_f16(f16 a) { return a < 0 ? (f16)-a : a; }
INLINE f16 neg_f16(f16 a) { return (f16)-a; }
INLINE f16 add_f16(f16 a, f16 b) { return (f16)(a + b); }
INLINE f16 sub_f16(f16 a, f16 b) { return (f16)(a - b); }
INLINE f16 mul_f16(f16 a, f16 b) { return (f16)(a * b); }
INLINE f16 fma_f16(f16 a, f16 b, f16 c) {
#ifdef __AMDGCN__
  return __builtin_fmaf16(a, b, c);
#else
  // The product is exact, the sum is rounded to odd, so that the second rounding is the only one.
  const f64 product = (f64)a * (f64)b;
  union {
    f64 f;
    u64 u;
  } sum = {product + (f64)c};
  const f64 back = sum.f - product, lost = (product - (sum.f - back)) + ((f64)c - back);
  if (lost == lost && lost != 0 && !(sum.u & 1)) sum.u += (lost > 0) == (sum.f > 0) ? 1 : -1;
  return (f16)sum.f;
#endif
}
INLINE f16x2 fma_f16x2(f16x2 a, f16x2 b, f16x2 c) {
#ifdef __AMDGCN__
  return __builtin_elementwise_fma(a, b, c);
#else
  return (f16x2){fma_f16(a[0], b[0], c[0]), fma_f16(a[1], b[1], c[1])};
#endif
}
// Conversions that GPUs can do inside of a multiply-add.
INLINE f32 mix_f32(f16 a, f16x2 b, f32 c) { return __builtin_fmaf((f32)a, (f32)b[1], c); }
INLINE f16 mix_f16(f16x2 a, f16 b, f32 c) { return (f16)__builtin_fmaf((f32)a[1], (f32)b, c); }
INLINE f16 min_f16(f16 a, f16 b) { return a < b ? a : b; }
INLINE f16 max_f16(f16 a, f16 b) { return a > b ? a : b; }
INLINE f16 floor_f16(f16 a) { return (f16)__builtin_floorf((f32)a); }
INLINE f16 trunc_f16(f16 a) { return (f16)__builtin_truncf((f32)a); }
INLINE f16 rint_f16(f16 a) { return (f16)__builtin_rintf((f32)a); }

// Memory ------------------------------------------------------------------------------------------

// Accesses at any byte offset; an aligned variant tells the compiler so.
#define ACCESS(T)                                                                                  \
  typedef struct {                                                                                 \
    T v;                                                                                           \
  } __attribute__((packed, may_alias)) loose_##T;                                                  \
  typedef struct {                                                                                 \
    T v;                                                                                           \
  } __attribute__((may_alias)) tight_##T;
ACCESS(u8)
ACCESS(i8)
ACCESS(u16)
ACCESS(i16)
ACCESS(u32)
ACCESS(i32)
ACCESS(u64)
ACCESS(i64)
ACCESS(u8x4)
ACCESS(i16x2)
ACCESS(u16x2)
ACCESS(u32x2)
ACCESS(u32x4)
ACCESS(i32x4)
ACCESS(u64x2)
typedef struct {
  u32 x, y, z;
} triple; // copied as a whole
#define LOOSE(SPACE, T, P, OFFSET) (((SPACE loose_##T *)((P) + (OFFSET)))->v)
#define TIGHT(SPACE, T, P, OFFSET) (((SPACE tight_##T *)((P) + (OFFSET)))->v)

// Work-items --------------------------------------------------------------------------------------

// What a work-item sees: its input, its piece of global memory, the LDS half of the last phase and
// that of this one.
#define ITEM_PARAMETERS                                                                            \
  GLOBAL const u8 *in, GLOBAL u8 *mem, GLOBAL u32 *counters, LDS u8 *lds_read, LDS u8 *lds_write,  \
      LDS u32 *lds_count, u32 id, u32 group, u32 uni0, u32 uni1, u32 uni2

struct Arguments {
  GLOBAL const u8 *in;
  GLOBAL u8 *mem;
  GLOBAL u64 *out;
  GLOBAL u32 *counters;
  u32 uni0, uni1, uni2;
  u32 size_x, size_y;                // of the workgroup
  u32 items, last_items, last_group; // work-items of each workgroup, and of the last one
};

// A kernel is a sequence of phases, each a function of one work-item. On the GPU a barrier ends a
// phase; on the host all work-items of a group run a phase before the next one starts.
#ifdef __AMDGCN__

INLINE void barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
INLINE u64 ballot(u32 c) {
#if WAVE == 64
  return __builtin_amdgcn_ballot_w64(c != 0);
#else
  return __builtin_amdgcn_ballot_w32(c != 0);
#endif
}
INLINE u32 lane_number(void) {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

#define ENTRY(K, RESULTS)                                                                          \
  __attribute__((amdgpu_kernel, visibility("protected"))) void K(struct Arguments a)
#define SETUP(K)                                                                                   \
  const u32 id =                                                                                   \
      __builtin_amdgcn_workitem_id_x() +                                                           \
      a.size_x * (__builtin_amdgcn_workitem_id_y() + a.size_y * __builtin_amdgcn_workitem_id_z()); \
  const u32 group = __builtin_amdgcn_workgroup_id_x();                                             \
  const u32 items = group == a.last_group ? a.last_items : a.items;                                \
  const u64 slot = (u64)group * MAX_ITEMS + id;                                                    \
  (void)items;                                                                                     \
  struct K##_state s = {0}
#define PHASE(F, READ, WRITE)                                                                      \
  F(&s, a.in, a.mem + slot * MEM_BYTES, a.counters, lds_half[READ], lds_half[WRITE], lds_counters, \
    id, group, a.uni0, a.uni1, a.uni2);                                                            \
  barrier()
#define CLEAR_LDS()                                                                                \
  for (u32 i = id; i < LDS_BYTES / 4; i += items)                                                  \
    ((LDS u32 *)lds_half[0])[i] = i * 0x9e3779b9u, ((LDS u32 *)lds_half[1])[i] = i * 0x85ebca6bu;  \
  for (u32 i = id; i < LDS_COUNTERS; i += items) lds_counters[i] = i < 32 ? i : 0;                 \
  barrier()
#define RESULTS(F, N) F(&s, a.out + slot * N)

// Values that cross lanes. All work-items take part.
#define EXCHANGE_BPERMUTE(X, Y)                                                                    \
  s.X = (u32)__builtin_amdgcn_ds_bpermute((i32)((s.Y & (WAVE - 1)) * 4), (i32)s.X)
#define EXCHANGE_PERMUTE(X, MASK)                                                                  \
  s.X = (u32)__builtin_amdgcn_ds_permute((i32)((lane_number() ^ MASK) * 4), (i32)s.X)
#define EXCHANGE_SWIZZLE(X, MASK)                                                                  \
  s.X = (u32)__builtin_amdgcn_ds_swizzle((i32)s.X, 0x1f | MASK << 10)
#define EXCHANGE_DPP(X, Y, CONTROL, ROWS, BANKS, BOUND)                                            \
  s.X = (u32)__builtin_amdgcn_update_dpp((i32)s.Y, (i32)s.X, CONTROL, ROWS, BANKS, BOUND)
#define EXCHANGE_BALLOT(X, Y) s.X ^= (u32)ballot(s.Y & 1) + (u32)(ballot(s.Y & 1) >> 32)
#define EXCHANGE_RANK(X, Y)                                                                        \
  s.X += __builtin_amdgcn_mbcnt_hi((u32)(ballot(s.Y & 1) >> 32),                                   \
                                   __builtin_amdgcn_mbcnt_lo((u32)ballot(s.Y & 1), 7))
#define EXCHANGE_FIRST(X) s.X = (u32)__builtin_amdgcn_readfirstlane((i32)s.X)

#else

// One workgroup. `wave`: how many lanes the GPU that this is compared with has; `reach`: among how
// many of them a permutation by number works.
#define ENTRY(K, RESULTS)                                                                          \
  const u32 K##_results = RESULTS;                                                                 \
  void K(struct Arguments a, u32 group, u32 items, u32 wave, u32 reach)
#define SETUP(K)                                                                                   \
  static struct K##_state s[MAX_ITEMS];                                                            \
  for (u32 id = 0; id < MAX_ITEMS; id++) s[id] = (struct K##_state){0};                            \
  (void)wave, (void)reach
#define PHASE(F, READ, WRITE)                                                                      \
  for (u32 id = 0; id < items; id++)                                                               \
  F(&s[id], a.in, a.mem + ((u64)group * MAX_ITEMS + id) * MEM_BYTES, a.counters, lds_half[READ],   \
    lds_half[WRITE], lds_counters, id, group, a.uni0, a.uni1, a.uni2)
#define CLEAR_LDS()                                                                                \
  for (u32 i = 0; i < LDS_BYTES / 4; i++)                                                          \
    ((u32 *)lds_half[0])[i] = i * 0x9e3779b9u, ((u32 *)lds_half[1])[i] = i * 0x85ebca6bu;          \
  for (u32 i = 0; i < LDS_COUNTERS; i++) lds_counters[i] = i < 32 ? i : 0
#define RESULTS(F, N)                                                                              \
  for (u32 id = 0; id < items; id++) F(&s[id], a.out + ((u64)group * MAX_ITEMS + id) * N)

// A lane of the same wave as `id`; 0 from lanes that do not exist.
#define EACH_LANE(X, Y, BODY)                                                                      \
  do {                                                                                             \
    u32 xs[MAX_ITEMS], ys[MAX_ITEMS];                                                              \
    for (u32 i = 0; i < items; i++) xs[i] = s[i].X, ys[i] = s[i].Y;                                \
    for (u32 i = 0; i < items; i++) {                                                              \
      const u32 lane = i % wave, first = i - lane,                                                 \
                active = items - first < wave ? items - first : wave;                              \
      u32 *const x = &s[i].X;                                                                      \
      (void)lane, (void)active, (void)xs, (void)ys;                                                \
      BODY;                                                                                        \
    }                                                                                              \
  } while (0)
#define LANE_OR_ZERO(N) ((N) < active ? xs[first + (N)] : 0)
#define EXCHANGE_BPERMUTE(X, Y)                                                                    \
  EACH_LANE(X, Y, *x = LANE_OR_ZERO((lane & ~(reach - 1)) + (ys[i] & (reach - 1))))
#define EXCHANGE_PERMUTE(X, MASK) EACH_LANE(X, X, *x = LANE_OR_ZERO(lane ^ MASK))
#define EXCHANGE_SWIZZLE(X, MASK) EACH_LANE(X, X, *x = LANE_OR_ZERO(lane ^ MASK))
#define EXCHANGE_FIRST(X) EACH_LANE(X, X, *x = xs[first])
INLINE u64 host_ballot(const u32 *ys, u32 active) {
  u64 mask = 0;
  for (u32 i = 0; i < active; i++) mask |= (u64)(ys[i] & 1) << i;
  return mask;
}
#define EXCHANGE_BALLOT(X, Y)                                                                      \
  EACH_LANE(X, Y,                                                                                  \
            *x ^=                                                                                  \
            (u32)host_ballot(ys + first, active) + (u32)(host_ballot(ys + first, active) >> 32))
#define EXCHANGE_RANK(X, Y)                                                                        \
  EACH_LANE(X, Y,                                                                                  \
            *x +=                                                                                  \
            7 + (u32)__builtin_popcountl(host_ballot(ys + first, active) & ((1ul << lane) - 1)))

// The lane that a DPP control reads, or -1. Controls that all architectures have.
INLINE i32 dpp_source(u32 lane, u32 control) {
  const u32 row = lane & ~15u, in_row = lane & 15, n = control & 15;
  if (control < 0x100) return (i32)((lane & ~3u) + (control >> (lane & 3) * 2 & 3)); // quad_perm
  switch (control & ~15u) {
  case 0x100: return in_row + n > 15 ? -1 : (i32)(lane + n); // row_shl
  case 0x110: return in_row < n ? -1 : (i32)(lane - n);      // row_shr
  case 0x120: return (i32)(row + (in_row - n & 15));         // row_ror
  default:
    return control == 0x140 ? (i32)(row + 15 - in_row)
                            : (i32)((lane & ~7u) + 7 - (lane & 7)); // mirrors
  }
}
INLINE u32 dpp(const u32 *xs, u32 lane, u32 active, u32 old, u32 control, u32 rows, u32 banks,
               u32 bound) {
  if (!(rows >> (lane >> 4 & 3) & 1) || !(banks >> (lane >> 2 & 3) & 1)) return old;
  const i32 from = dpp_source(lane, control);
  if (from >= 0 && (u32)from < active) return xs[from];
  return bound ? 0 : old;
}
#define EXCHANGE_DPP(X, Y, CONTROL, ROWS, BANKS, BOUND)                                            \
  EACH_LANE(X, Y, *x = dpp(xs + first, lane, active, ys[i], CONTROL, ROWS, BANKS, BOUND))

#endif
