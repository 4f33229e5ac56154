/* What the emitting kernel calls the runtime with: a pure function of the wave, the number of the
 * call and the lane. The kernel (emit.cl), the waves on CPU threads and the checker share it, so
 * that every record can be worked out again from its wave and its site, which is the number of the
 * call. Plain C for both sides. */
#ifndef FADE_SILICON_PATTERN_H
#define FADE_SILICON_PATTERN_H

#include "fade/message.h"

/* Kinds of call. */
#define EMIT_ACCESS 0u
#define EMIT_FLAT 1u       /* flat pointers to global memory */
#define EMIT_SPACES 2u     /* flat pointers: lanes point to global, shared or private memory */
#define EMIT_RANGE 3u      /* the same length in each lane */
#define EMIT_LENGTHS 4u    /* lengths that differ, some of them zero */
#define EMIT_RANGE_FLAT 5u /* as EMIT_SPACES, with a length */
#define EMIT_BLOCK 6u
#define EMIT_COUNT 7u /* a counter instead of a record */
#define EMIT_KINDS 8u
/* Kinds that are only chosen alone. Lanes take two ways and call the same function at the start of
 * both, with site `call` here and `call + calls` there: compilers and processors may let such lanes
 * run as one, and each must keep its site. */
#define EMIT_SPLIT 8u
#define EMIT_SPLIT_BLOCK 9u

/* Shapes of the addresses in a wave. Which encoding they lead to depends on the mask, too. */
#define EMIT_UNIFORM 0u
#define EMIT_AFFINE 1u
#define EMIT_TILED 2u
#define EMIT_DELTA 3u
#define EMIT_RAW 4u
#define EMIT_SHAPES 5u

/* Sets of active lanes. */
#define EMIT_FULL 0u
#define EMIT_SINGLE 1u
#define EMIT_ALTERNATE 2u
#define EMIT_RANDOM 3u
#define EMIT_PREFIX 4u
#define EMIT_SUFFIX 5u
#define EMIT_MASKS 6u

#define EMIT_WAVE_SIZE 32u
#define EMIT_WAVES_PER_GROUP 8u
#define EMIT_REGION 0x1000000u /* bytes of global memory that flat pointers point to */
#define EMIT_COUNTERS 64u      /* counters that EMIT_COUNT uses */

typedef struct emit_plan {
  fade_u64 module;
  fade_u64 region;       /* address of EMIT_REGION bytes of device memory */
  fade_u32 kernel_index; /* tells the streams apart */
  fade_u32 seed;
  fade_u32 calls;                /* of each wave */
  fade_u32 kinds, shapes, masks; /* sets to choose from, bit n for number n */
  fade_u32 waves_per_group;
  fade_u32 shared_offset; /* where the kernel's shared memory lies; the kernel writes it */
} emit_plan;

typedef struct emit_call {
  fade_u32 kind, shape, mask;
  fade_u32 salt;
  fade_u64 base;
  fade_i32 stride, row_stride;
  fade_u32 width;
  fade_u64 length;
} emit_call;

static inline fade_u32 emit_mix(fade_u32 x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}

/* One of a set of n things, bit i for thing i. What is not in the set becomes its lowest. */
static inline fade_u32 emit_choose(fade_u32 set, fade_u32 n, fade_u32 random) {
  fade_u32 i = random % n;
  return set >> i & 1 ? i : (fade_u32)__builtin_ctz(set);
}

static inline fade_u32 emit_mask(fade_u32 style, fade_u32 random) {
  const fade_u32 lane = random & 31;
  switch (style) {
  case EMIT_SINGLE: return 1u << lane;
  case EMIT_ALTERNATE: return lane & 1 ? 0x55555555u : 0xaaaaaaaau;
  case EMIT_RANDOM: return emit_mix(random) | 1u << lane;
  case EMIT_PREFIX: return 0xffffffffu >> lane;
  case EMIT_SUFFIX: return 0xffffffffu << lane;
  default: return 0xffffffffu;
  }
}

static inline fade_i32 emit_stride(fade_u32 random) {
  switch (random & 7) {
  case 0: return 4;
  case 1: return 8;
  case 2: return 16;
  case 3: return -4;
  case 4: return -4096;
  case 5: return 0x04000000;
  case 6: return -0x03fffff8;
  default: return (fade_i32)(random >> 20) - 2048;
  }
}

/* Call number `call` of wave `wave`, where waves count through the whole grid. */
static inline emit_call emit_at(fade_u32 seed, fade_u32 kinds, fade_u32 shapes, fade_u32 masks,
                                fade_u32 wave, fade_u32 call) {
  emit_call c;
  const fade_u32 a = emit_mix(emit_mix(seed + wave * 0x9e3779b9u) + call);
  const fade_u32 b = emit_mix(a + 0x632be5abu);
  c.salt = b;
  c.kind = emit_choose(kinds, EMIT_KINDS, a & 0xff);
  c.shape = emit_choose(shapes, EMIT_SHAPES, a >> 8 & 0xff);
  c.mask = emit_mask(emit_choose(masks, EMIT_MASKS, a >> 16 & 0xff), b);
  c.base = ((fade_u64)(b >> 3) << 16 | (a & 0xfff8)) + 0x100000000ull;
  c.stride = emit_stride(b ^ a >> 7);
  c.row_stride = (fade_i32)(emit_mix(b) & 0xfffff) - 0x80000;
  c.width = 2u << (b >> 11 & 3);
  c.length = (b >> 5 & 7) == 0 ? (fade_u64)b << 8 : 16u + (b >> 8 & 0xff);
  return c;
}

static inline fade_u32 emit_lane_random(emit_call c, fade_u32 lane) {
  return emit_mix(c.salt + lane * 0x85ebca6bu);
}

static inline fade_u64 emit_address(emit_call c, fade_u32 lane) {
  switch (c.shape) {
  case EMIT_UNIFORM: return c.base;
  case EMIT_AFFINE: return c.base + (fade_u64)c.stride * lane;
  case EMIT_TILED:
    return c.base + (fade_u64)c.stride * (lane & (c.width - 1)) +
           (fade_u64)c.row_stride * (lane / c.width);
  case EMIT_DELTA: return c.base + (emit_lane_random(c, lane) & 0x3fffffff);
  default: {
    const fade_u32 r = emit_lane_random(c, lane);
    return (fade_u64)(emit_mix(r) & 0x7fff) << 32 | r;
  }
  }
}

/* Offset in the region of global memory. */
static inline fade_u32 emit_region_offset(emit_call c, fade_u32 lane) {
  const fade_u32 start = c.salt & (EMIT_REGION / 2 - 1);
  switch (c.shape) {
  case EMIT_UNIFORM: return start;
  case EMIT_AFFINE: return start + 4 * lane;
  case EMIT_TILED: return start + 4 * (lane & 7) + 4096 * (lane >> 3);
  default: return emit_lane_random(c, lane) & (EMIT_REGION - 1);
  }
}

/* Where a lane of EMIT_SPACES points to. */
static inline fade_u32 emit_space(emit_call c, fade_u32 lane) {
  switch ((lane + c.salt) & 3) {
  case 1: return 3; /* shared */
  case 2: return 5; /* private: left out */
  default: return 1;
  }
}

/* Whether a lane of EMIT_SPLIT takes the second way. */
static inline fade_u32 emit_way(emit_call c, fade_u32 lane) {
  return emit_mix(c.salt ^ 0x3c6ef372u) >> lane & 1;
}

/* The first active lane's length is never zero, so that each call leads to a record. */
static inline fade_u64 emit_length(emit_call c, fade_u32 lane) {
  if (c.kind != EMIT_LENGTHS) return c.length;
  if (lane == (fade_u32)__builtin_ctz(c.mask)) return 4;
  const fade_u32 r = emit_lane_random(c, lane);
  if (c.salt & 1) return r % 100;
  return r & 3 ? 16u << (r & 3) : 0;
}

#endif
