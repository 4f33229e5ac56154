// The device runtime: what an instrumented kernel calls. It writes the records that
// include/fade/message.h describes; names here are the names there.
//
// Rules that keep it usable from every kernel: each entry point is a leaf function, so that a call
// costs no stack; it uses no LDS and no hidden kernel argument, so that a clone needs nothing that
// its kernel did not need; it is one source for all targets, so what differs between GPUs is in
// target_*.h.
//
// All entry points are called by all active lanes of a wave together: the group. "Uniform"
// arguments are the same in every lane; depending on the compiler they arrive in vector registers
// all the same.
#include "fade/message.h"

typedef unsigned int u32;
typedef unsigned long u64;
typedef int i32;
typedef long i64;
typedef __global fade_control *control_t;

#define INLINE static inline __attribute__((always_inline))
#define ENTRY __attribute__((visibility("hidden"), noinline))
#define LIKELY(x) __builtin_expect(!!(x), 1)

#if defined(__AMDGCN__)
#include "target_amdgcn.h"
#elif defined(__NVPTX__)
#include "target_nvptx.h"
#else
#error "no target layer for this GPU"
#endif

// ---- lanes

INLINE u64 pair(u32 low, u32 high) { return (u64)high << 32 | low; }
// Two words side by side. Where single stores do as well, the compiler puts them together as suits
// it.
INLINE void put_pair(__global void *where, u32 low, u32 high) {
  if (stores_go_through()) {
    put64(where, pair(low, high));
  } else {
    ((__global u32 *)where)[0] = low;
    ((__global u32 *)where)[1] = high;
  }
}
INLINE u32 first_bit(u64 mask) { return (u32)__builtin_ctzl(mask); }
INLINE bool is_leader(group_t group) { return rank_below(lanes_of(group)) == 0; }
INLINE u64 first_lane64(group_t group, u64 v) {
  return (u64)first_lane(group, (u32)(v >> 32)) << 32 | first_lane(group, (u32)v);
}
INLINE bool is_traced(u32 wave) { return is_so(wave != FADE_WAVE_NONE); }
INLINE control_t uniform_control(control_t c) {
  return (control_t)((u64)uniform((u32)((u64)c >> 32)) << 32 | uniform((u32)(u64)c));
}
INLINE config_t config_of(control_t c) { return (config_t)(u64)c; }

// ---- the ring. The functions from here to reserve() are called by one lane.

// Looks at the host's tail and lets the other waves know what it found. Returns the new limit.
INLINE u64 raise_limit(control_t control) {
  config_t config = config_of(control);
  u64 limit = load64_system((__global u64 *)config->tail) + config->capacity_mask + 1;
  max64(&control->limit, limit);
  return limit;
}

INLINE bool is_segmented(control_t control) {
  return (config_of(control)->flags & FADE_CONTROL_SEGMENTED) != 0;
}

// Reserves a record, waits until the ring has room for it and returns the lower half of its
// position. Positions and limits are compared by the difference of their lower halves: head cannot
// run ahead of the limit by more than one record per wave on the device, and a ring is smaller than
// 2 GiB.
INLINE u32 reserve(control_t control, u32 size) {
  // The limit is read first: it can only be too low.
  reservation_t r = load_limit_add_head(control, size);
  i32 room = (i32)(r.limit - r.head);
  if (!LIKELY(!is_so(room < (i32)size))) {
    u32 rounds = 0;
    do {
      // Those in front look at the host's memory, which is far away; the others see what they find.
      // The very first lacks no more than its own record. The limit is made here: as a constant
      // kept over the loop it costs 8 bytes of stack in __fade_rt_summary_range on gfx9 (LLVM 19,
      // -O1).
      bool in_front = is_so((i32)size - room <= (i32)(FADE_RING_MIN_CAPACITY + divergent_zero()));
      // What a copy engine waits for may still lie in this GPU's cache: counts of other waves.
      if (in_front) {
        // Looked at here, and only here: without, 8 bytes of stack in __fade_rt_block on gfx906 and
        // gfx90a (LLVM 19).
        control_t again = control;
        HIDE_DIVERGENT(again);
        if (is_segmented(uniform_control(again))) write_back(only_this_lane());
      }
      pause_lane(rounds);
      u32 limit = (u32)(in_front ? raise_limit(control) : load64(&control->limit));
      room = (i32)(limit - r.head);
      rounds = in_front ? 0 : rounds + 1;
    } while (is_so(room < (i32)size));
    // What belongs to the end of the loop stays here. Without: 1 instruction more per record on
    // gfx1030 and gfx1100, even if no wave waits.
    HIDE_DIVERGENT(room);
  }
  return r.head;
}

INLINE __global char *ring_at(control_t control, u32 position) {
  config_t config = config_of(control);
  return (__global char *)config->data + (position & (u32)config->capacity_mask);
}

// A segmented ring: the bytes are there.
INLINE void count_written(config_t config, __global char *record, u32 size) {
  __global u64 *written = (__global u64 *)config->written;
  u32 offset = (u32)((u64)record - config->data);
  u32 shift = config->segment_shift, segment = offset >> shift;
  u32 here = (1u << shift) - (offset & ((1u << shift) - 1));
  u32 last = (u32)config->capacity_mask >> shift;
  // Needed in a vector register here, so that nothing waits for it later. Without: 2 instructions
  // more per record of a segmented ring on gfx1100.
  last += divergent_zero();
  publish_add64(&written[segment], size < here ? size : here);
  if (is_so(here < size)) publish_add64(&written[(segment + 1) & last], size - here);
}

// Called by the whole group when everything but the header is written.
INLINE void finish_record(group_t group, bool is_writer, control_t control, __global char *record,
                          u64 header, bool segmented) {
  if (!segmented) {
    release(group);
    if (is_writer) publish64(record, header);
  } else {
    if (is_writer) put64(record, header);
    write_back(group);
    if (is_writer)
      count_written(config_of(control), record, (u32)(header >> 32 & 0xffff) * FADE_RECORD_ALIGN);
  }
}

// The same, called by one lane that wrote all of it.
INLINE void finish_alone(control_t control, __global char *record, u64 header) {
  finish_record(only_this_lane(), true, control, record, header, is_segmented(control));
}

// The part that all records share, but for the header. Stored by the first lane, or by all
// together.
typedef struct {
  u64 mask;
  u64 value;
  u32 wave;
  i32 extra;
} shared_t;

INLINE void store_shared(group_t group, __global char *at, shared_t shared) {
  if (LANES_WRITE_TOGETHER) {
    // One store of several lanes is one transaction.
    u64 last = pair(shared.wave, (u32)shared.extra);
    u32 lanes = (u32)__builtin_popcountl(lanes_of(group));
    for (u32 i = rank_below(lanes_of(group)); i < 3; i += lanes)
      ((__global u64 *)at)[1 + i] = i == 0 ? shared.mask : i == 1 ? shared.value : last;
  } else {
    __global fade_record *record = (__global fade_record *)at;
    put64(&record->mask, shared.mask);
    put64(&record->value, shared.value);
    put64(&record->wave, pair(shared.wave, (u32)shared.extra));
  }
}

// A record without payload, by the whole group.
INLINE void write_record(group_t group, control_t control, shared_t shared, u64 header,
                         bool segmented) {
  bool is_writer = lane_id() == first_bit(lanes_of(group));
  if (!LANES_WRITE_TOGETHER && !is_writer) return;
  u32 position = 0;
  if (is_writer) position = reserve(control, sizeof(fade_record));
  if (LANES_WRITE_TOGETHER) position = first_lane(group, position);
  __global char *record = ring_at(control, position);
  store_shared(group, record, shared);
  finish_record(group, is_writer, control, record, header, segmented);
}

// ---- filters that look at each execution; seldom in use, hence one test of the flags for all

// Called by one lane: whether this execution of the site is to be recorded.
INLINE bool is_wanted(control_t control, u32 flags, u32 site) {
  config_t config = config_of(control);
  if (flags & FADE_CONTROL_SAMPLE_EXECUTIONS) {
    u64 n = add64(&((__global fade_counter *)config->counters)[site].entries, 1);
    if (uniform((u32)n % config->sample_executions) != 0) return false;
  }
  if (flags & FADE_CONTROL_LOSSY) {
    u32 wanted = (u32)load64(&control->head) + FADE_RECORD_MAX;
    bool full = (i32)((u32)load64(&control->limit) - wanted) < 0;
    if (is_so(full)) full = (i32)((u32)raise_limit(control) - wanted) < 0;
    if (is_so(full)) {
      add64(&control->dropped, 1);
      return false;
    }
  }
  return true;
}

// Called by the group, with flags that are not zero.
INLINE bool passes_filters(group_t group, control_t control, u32 flags, u32 site) {
  u32 wanted = 1;
  if ((flags & ~FADE_CONTROL_SEGMENTED) == 0) return true;
  if (is_leader(group)) wanted = is_wanted(control, flags, site);
  return first_lane(group, wanted) != 0;
}

INLINE bool is_filtered(group_t group, control_t control, u32 site) {
  u32 flags = config_of(control)->flags;
  u32 result = 1;
  if (!LIKELY(flags == 0)) result = passes_filters(group, control, flags, site);
  return result == 0;
}

// ---- accesses

// The active lanes, and for each of them how far its address is from that of the first.
typedef struct {
  group_t group;
  u64 mask;
  u32 first;
  u32 lane;
  i64 delta;
} lanes_t;

INLINE lanes_t lanes_at(group_t group, u64 address) {
  u64 mask = lanes_of(group);
  i64 delta = (i64)(address - first_lane64(group, address));
  lanes_t w = {group, mask, first_bit(mask), lane_id(), delta};
  return w;
}

// Lanes whose address is not base + stride * (lane - first).
INLINE u64 off_the_line(lanes_t w, i32 stride) {
  return ballot(w.group, w.delta != (i64)stride * (i32)(w.lane - w.first));
}

// Lanes whose address is not the one in the tile.
INLINE u64 off_the_tile(lanes_t w, i32 stride, fade_tile tile) {
  u32 r = w.lane - w.first;
  i32 row = (i32)(r >> __builtin_ctz(tile.width)), column = (i32)(r & (tile.width - 1));
  return ballot(w.group, w.delta != (i64)stride * column + (i64)tile.row_stride * row);
}

// Lower half of another lane's delta.
INLINE i32 delta_of(lanes_t w, u32 lane) { return (i32)read_lane(w.group, (u32)w.delta, lane); }

// The stride that the first two active lanes suggest.
INLINE i32 guess_stride(lanes_t w) {
  u64 others = w.mask & (w.mask - 1);
  if (others == 0) return 0;
  u32 second = first_bit(others), gap = second - w.first;
  i32 delta = delta_of(w, second);
  return gap == 1 ? delta : delta / (i32)gap;
}

// How a set of addresses will be written. The same in every lane, but kept in vector registers:
// scalar ones are few in a function that may not save any, and this lives long. In scalar
// registers: 8 bytes of stack in __fade_rt_access_flat in wave64 (LLVM 15, 16 and 19) and in
// __fade_rt_range on gfx90a (the same).
typedef struct {
  u32 encoding;
  u32 payload_size;
  i32 stride;
  fade_tile tile; // width: the number of deltas, if those are written
} plan_t;

// A constant in a vector register. As a plain constant: 1 (gfx90a, gfx1030) to 2 (gfx1100)
// instructions more per scattered access.
INLINE u32 vector_constant(u32 c) { return c + divergent_zero(); }

INLINE plan_t choose_encoding(lanes_t w) {
  i32 stride = guess_stride(w);
  u64 bad = off_the_line(w, stride);
  plan_t plan = {0, 0, (i32)to_vector((u32)stride), {0, 0}};
  if (bad == 0) {
    plan.encoding = plan.stride == 0 ? FADE_ENCODING_UNIFORM : FADE_ENCODING_AFFINE;
    return plan;
  }
  u32 corner = first_bit(bad), width = corner - w.first;
  fade_tile tile = {delta_of(w, corner), width};
  bool is_width = (width & (width - 1)) == 0 && width - 2 <= 30;
  if (is_width && off_the_tile(w, stride, tile) == 0) {
    plan.encoding = vector_constant(FADE_ENCODING_TILED);
    plan.payload_size = vector_constant(sizeof(fade_tile));
    plan.tile.row_stride = (i32)to_vector((u32)tile.row_stride);
    plan.tile.width = to_vector(width);
    return plan;
  }
  u32 others = to_vector((u32)__builtin_popcountl(w.mask) - 1);
  bool near = ballot(w.group, w.delta != (i32)w.delta) == 0;
  plan.encoding = vector_constant(near ? FADE_ENCODING_DELTA32 : FADE_ENCODING_RAW);
  plan.payload_size = near ? (others * 4 + 7) & ~7u : others * 8;
  plan.stride = 0;
  plan.tile.width = others;
  return plan;
}

// As a pair in either case: 8 bytes of stack in __fade_rt_range on gfx90a (LLVM 16).
INLINE void put_tile(__global char *payload, fade_tile tile) {
  if (stores_go_through())
    put64(payload, pair((u32)tile.row_stride, tile.width));
  else
    *(__global fade_tile *)payload = tile;
}

// Any record of addresses. The first lane writes what all records have, the others their payload.
INLINE void write_access(group_t group, control_t control, u32 wave, u32 site, u64 address,
                         u32 kind, u64 length, bool may_be_segmented) {
  const bool has_length = kind == FADE_RECORD_RANGE;
  lanes_t w = lanes_at(group, address);
  plan_t plan = choose_encoding(w);
  const u32 fixed_size = sizeof(fade_record) + (has_length ? 8 : 0);
  u32 size = fixed_size + plan.payload_size, position = 0;
  if (is_leader(group)) position = reserve(control, size);
  __global char *at = ring_at(control, first_lane(group, position));
  // Without: 8 bytes of stack in __fade_rt_range on gfx90a (LLVM 15 and 16).
  if (has_length && __clang_major__ <= 16) HIDE_DIVERGENT(at);
  __global char *payload = at + fixed_size;
  u64 mask = lanes_of(group), base = LANES_WRITE_TOGETHER ? address - (u64)w.delta : address;
  shared_t shared = {mask, base, wave, plan.stride};
  if (LANES_WRITE_TOGETHER) store_shared(group, at, shared);
  if (is_leader(group)) {
    if (!LANES_WRITE_TOGETHER) store_shared(group, at, shared);
    if (has_length) put64(at + sizeof(fade_record), length);
    if (plan.encoding == FADE_ENCODING_TILED) put_tile(payload, plan.tile);
  } else {
    u32 element = rank_below(mask) - 1;
    if (plan.encoding == FADE_ENCODING_DELTA32) {
      __global i32 *deltas = (__global i32 *)payload;
      put32(&deltas[element], (u32)w.delta);
      // An odd number of them is followed by a zero, which other rings contain already. Lanes that
      // are not the last write theirs again. Arithmetic, for want of scalar registers to compare
      // in.
      u32 again = at_most_one(((element + 1) ^ plan.tile.width) | (element & 1));
      if (may_be_segmented) put32(&deltas[element + 1 - again], (u32)w.delta & (0u - again));
    }
    if (plan.encoding == FADE_ENCODING_RAW) put64(&((__global u64 *)payload)[element], address);
  }
  u64 header = FADE_HEADER(site, size / FADE_RECORD_ALIGN, kind, plan.encoding);
  bool segmented = may_be_segmented && is_segmented(control);
  // Scalar registers are few where there is a length, too. Without: 8 bytes of stack in
  // __fade_rt_range on gfx90a (LLVM 15, 16 and 19) and gfx1030 in wave64 (19).
  if (has_length) control += divergent_zero();
  finish_record(group, is_leader(group), control, at, header, segmented);
}

// The header for addresses on a line.
INLINE u64 line_header(u32 site, i32 stride) {
  FADE_STATIC_ASSERT(FADE_ENCODING_UNIFORM == 0 && FADE_ENCODING_AFFINE == 1);
  return FADE_HEADER(site, sizeof(fade_record) / FADE_RECORD_ALIGN, FADE_RECORD_ACCESS,
                     at_most_one((u32)stride));
}

// Whether the lanes' addresses are on a line with the stride of the first two lanes.
INLINE bool is_line(group_t group, u64 address, i32 stride) {
  u32 lane = lane_id(), first = first_lane(group, lane);
  u64 on_line = first_lane64(group, address) + (u64)((i64)stride * (i32)(lane - first));
  return is_empty(ballot(group, address != on_line));
}

// Mask and value of a record: 16 bytes, aligned to 8.
typedef uint4 __attribute__((aligned(8))) middle_t;

// The lower active lanes, shifted by the first.
INLINE u32 from_first(group_t group, u32 first) {
  u32 lanes = (u32)(exec_register(group) >> first);
  // Without: 1 instruction more per record.
  HIDE_UNIFORM(lanes);
  return lanes;
}
// How far the first active lane's neighbour is away from it, 0 if it is not active. Then lanes are
// on a line if they are all at one place, be it because there is only one.
INLINE i32 stride_to_neighbor(group_t group, u64 address, u64 base, u32 first, u32 lanes) {
  u32 stride = read_lane(group, (u32)address, first + 1) - (u32)base;
  return (lanes & 2) != 0 ? (i32)stride : 0;
}

// What is known of an access whose lanes are not on a line; `bad`: lanes that are not where the
// first two say.
typedef struct {
  u64 base;
  u32 lane, first;
  u32 lanes; // from_first()
  u64 bad;
} shape_t;

INLINE void put_middle(__global char *record, uint4 middle) {
  __global fade_record *r = (__global fade_record *)record;
  if (stores_go_through()) {
    put64(&r->mask, pair(middle.x, middle.y));
    put64(&r->value, pair(middle.z, middle.w));
  } else {
    *(__global middle_t *)&r->mask = middle;
  }
}

// A tile of rows, or lanes anywhere within 2 GiB, if the neighbour of the first lane is active and
// no filter is in use: what choose_encoding() would choose, but nothing is found out twice, and
// each has code of its own. False if it is something else. `middle` and `last`: mask and value,
// wave and stride of the record.
INLINE bool record_shape(group_t group, control_t control, u32 site, u64 address, shape_t shape,
                         uint4 middle, uint2 last) {
  u32 lanes = shape.lanes;
  HIDE_UNIFORM(lanes);
  if (LANES_WRITE_TOGETHER || (lanes & 2) == 0) return false;
  bool is_first = shape.lane == shape.first;
  u32 width = first_bit(shape.bad) - shape.first; // at least 2
  // Of a width that is no power of two the rows are wrong, and not looked at.
  u32 row_stride = read_lane(group, (u32)address, shape.first + width) - (u32)shape.base;
  u32 r = shape.lane - shape.first, row = r >> first_bit(width), column = r & (width - 1);
  u64 on_tile =
      shape.base + (u64)((i64)(i32)last.y * (i32)column + (i64)(i32)row_stride * (i32)row);
  if (is_empty((width & (width - 1)) | ballot(group, address != on_tile))) {
    const u32 size = sizeof(fade_record) + sizeof(fade_tile);
    if (is_first) {
      __global char *at = ring_at(control, reserve(control, size));
      put_middle(at, middle);
      put64(&((__global fade_record *)at)->wave, pair(last.x, last.y));
      put64(at + sizeof(fade_record), pair(row_stride, width));
      release(group);
      publish64(
          at, FADE_HEADER(site, size / FADE_RECORD_ALIGN, FADE_RECORD_ACCESS, FADE_ENCODING_TILED));
    }
    return true;
  }
  u64 delta = address - shape.base;
  u32 upper = (u32)((i32)delta >> 31);
  HIDE_DIVERGENT(upper); // or it becomes an addition and a comparison of 64 bits
  if (!is_empty(ballot(group, upper != (u32)(delta >> 32)))) return false;
  // Half a word for each lane but the first, rounded up.
  u32 words = sizeof(fade_record) / 8 + (u32)__builtin_popcountl(lanes_of(group)) / 2;
  u32 position = 0;
  if (is_first) position = reserve(control, words * 8);
  __global char *at = ring_at(control, first_lane(group, position));
  // The difference of the first lane is the zero before those of the others, in place of a stride.
  // The ring has a zero behind them already.
  FADE_STATIC_ASSERT(__builtin_offsetof(fade_record, extra) + 4 == sizeof(fade_record));
  put32((__global u32 *)(at + __builtin_offsetof(fade_record, extra)) + rank_below(lanes_of(group)),
        (u32)delta);
  if (is_first) {
    put_middle(at, middle);
    put32(&((__global fade_record *)at)->wave, last.x);
    release(group);
    publish64(at, FADE_HEADER(site, words, FADE_RECORD_ACCESS, FADE_ENCODING_DELTA32));
  }
  return true;
}

// Any access. The common case takes as few instructions as possible: no filter is in use, and the
// addresses are base + stride * lane from the first active lane and its neighbour on.
INLINE void record_access(group_t group, control_t control, u32 wave, u32 site, u64 address,
                          const bool flat) {
  u64 base = first_lane64(group, address);
  u32 lane = lane_id(), writer = first_lane(group, lane);
  u32 lanes = from_first(group, writer);
  i32 stride = stride_to_neighbor(group, address, base, writer, lanes);
  i64 to_first = (i64)stride * (i32)(writer - lane);
  // flags, data and capacity_mask in one load
  uint8 config = *(CONFIG_SPACE const uint8 *)config_of(control);
  u32 data_low = config.s2, data_high = config.s3, capacity_mask = config.s4;
  u64 uncommon = config.s1 | ballot(group, address + (u64)to_first != base);
  // What the common case stores is put side by side in vector registers here and not where it is
  // stored: scalar registers that live through the other case would be too many. Without: 8 bytes
  // of stack in __fade_rt_access_flat in wave64 (LLVM 15, 16 and 19).
  u64 mask = lanes_of(group);
  uint4 middle = {(u32)mask, (u32)(mask >> 32), (u32)address, (u32)(address >> 32)};
  uint2 last = {wave, (u32)stride};
  GATHER_DIVERGENT(middle, last);
  // From now on in these registers. Without: 2 to 4 vector registers more.
  address = (u64)middle.w << 32 | middle.z, wave = last.x;
  if (!LIKELY(is_empty(uncommon))) {
    u32 flags = config_of(control)->flags;
    shape_t shape = {base, lane, writer, lanes, uncommon};
    // Of flat ones it would take 8 bytes of stack in wave64 (LLVM 19).
    if (LIKELY(flags == 0) &&
        (flat || !LIKELY(record_shape(group, control, site, address, shape, middle, last))))
      write_access(group, control, wave, site, address, FADE_RECORD_ACCESS, 0, false);
    // An if-else would cost 1 instruction more per flat access on gfx1030 and gfx1100, and per
    // access with a ring in device memory on gfx90a and gfx1100.
    HIDE_UNIFORM(flags);
    if (!LIKELY(flags == 0) && passes_filters(group, control, flags, uniform(site))) {
      // A ring in device memory is no reason to take the long way. LLVM 15 and 16 would need 8
      // bytes of stack in __fade_rt_access_flat in wave64.
      if (__clang_major__ >= 17 && is_line(group, address, (i32)last.y)) {
        shared_t shared = {lanes_of(group), LANES_WRITE_TOGETHER ? base : address, wave,
                           (i32)last.y};
        write_record(group, control, shared, line_header(site, (i32)last.y), is_segmented(control));
      } else {
        write_access(group, control, wave, site, address, FADE_RECORD_ACCESS, 0, true);
      }
    }
    writer = ~0u; // no lane writes the common record
    // Without: 8 bytes of stack in wave64, in __fade_rt_access_flat (LLVM 15, 16 and 19) and
    // __fade_rt_access (15 and 16).
    FORGET_UNIFORM(data_low, data_high, capacity_mask);
  }
  if (LANES_WRITE_TOGETHER) {
    shared_t shared = {mask, base, wave, stride};
    if (writer != ~0u) write_record(group, control, shared, line_header(site, stride), false);
  } else if (lane == writer) {
    u32 offset = reserve(control, sizeof(fade_record)) & capacity_mask;
    __global char *data = (__global char *)((u64)data_high << 32 | data_low);
    __global fade_record *record = (__global fade_record *)(data + offset);
    put_middle((__global char *)record, middle);
    put64(&record->wave, pair(last.x, last.y));
    release(group);
    publish64(record, line_header(site, (i32)last.y));
  }
}

// The order of the arguments is that of the registers in which a record is put together: the mask
// takes the place of `control`, the rest of the header that of `unused`, which callers need not
// set.
ENTRY void __fade_rt_access(control_t control, u64 address, u32 site, u32 unused, u32 wave) {
  (void)unused;
  control = uniform_control(control); // first, to free its registers
  if (!is_traced(wave)) return;
  group_t group = enter(site);
  record_access(group, control, wave, site, address, false);
  leave(group);
}

// An access through a flat pointer: lanes that point to their own scratch are no business of ours.
ENTRY void __fade_rt_access_flat(control_t control, u64 address, u32 site, u32 unused, u32 wave) {
  (void)unused;
  control = uniform_control(control);
  if (!is_traced(wave)) return;
  group_t all = enter(site);
  bool leaves = is_private(address);
  group_t group = part_of(all, leaves);
  if (!leaves) record_access(group, control, wave, site, flat_address(address), true);
  leave(all);
}

// An access with a length. Lanes with the same length share a record; those without have none.
INLINE void record_ranges(group_t all, control_t control, u32 wave, u32 site, u64 address,
                          u64 length) {
  if (is_empty(ballot(all, length != 0))) return;
  if (is_filtered(all, uniform_control(control), uniform(site))) return;
  group_t group = all;
  u32 done = 0;
  do {
    bool same = length == first_lane64(group, length);
    group = part_of(group, same);
    if (same) {
      if (length != 0)
        write_access(group, uniform_control(control), wave, site, address, FADE_RECORD_RANGE,
                     length, true);
      done = 1;
    }
    // If the compiler knew that lanes leave after writing, it would write behind the loop, for all
    // lanes at once, and need 8 bytes of stack on gfx90a (LLVM 15, 16 and 19).
    HIDE_DIVERGENT(done);
    // The configuration must not occupy registers meanwhile. Without: 8 bytes of stack in wave64
    // (LLVM 15 and 16).
    HIDE_DIVERGENT(control);
  } while (done == 0);
}

ENTRY void __fade_rt_range(control_t control, u32 wave, u32 site, u64 address, u64 length) {
  if (!is_traced(wave)) return;
  group_t group = enter(site);
  record_ranges(group, control, wave, site, address, length);
  leave(group);
}

ENTRY void __fade_rt_range_flat(control_t control, u32 wave, u32 site, u64 address, u64 length) {
  if (!is_traced(wave)) return;
  group_t group = enter(site);
  record_ranges(group, control, wave, site, flat_address(address),
                is_private(address) ? 0 : length);
  leave(group);
}

// ---- records of the kernel's author

// The lanes' values are written as addresses are.
ENTRY void __fade_rt_user(control_t control, u32 wave, u32 site, u64 value) {
  if (!is_traced(wave)) return;
  group_t group = enter(site);
  if (!is_filtered(group, uniform_control(control), uniform(site)))
    write_access(group, uniform_control(control), wave, site, value, FADE_RECORD_USER, 0, true);
  leave(group);
}

// ---- blocks

INLINE void write_block(group_t group, control_t control, u32 wave, u32 site) {
  u64 clock = read_clock();
  control = uniform_control(control);
  shared_t shared = {lanes_of(group), clock, wave, 0};
  u64 header = FADE_HEADER(site, sizeof(fade_record) / FADE_RECORD_ALIGN, FADE_RECORD_BLOCK, 0);
  u32 flags = config_of(control)->flags;
  if (LIKELY(flags == 0))
    write_record(group, control, shared, header, false);
  else if (passes_filters(group, control, flags, uniform(site)))
    write_record(group, control, shared, header, (flags & FADE_CONTROL_SEGMENTED) != 0);
  leave(group);
}

ENTRY void __fade_rt_block(control_t control, u32 wave, u32 site) {
  if (is_traced(wave)) write_block(enter(site), control, wave, site);
}

// ---- counts

// Where the counters are, 0 if this wave is not counted. Called once per function.
ENTRY u64 __fade_rt_counters(control_t control, u32 wave) {
  if (!is_traced(wave)) return 0;
  return config_of(uniform_control(control))->counters;
}

// Adds an entry to the counter at `offset`. The pass puts this into the block itself. One atomic
// instruction serves both words: the first active lane adds 1 to entries, the second, if there is
// one, adds the rest of the lanes to more_lanes. A gate of 2 or more lets no lane through.
__attribute__((visibility("hidden"))) void __fade_rt_count(__global char *counters, u32 gate,
                                                           u32 offset) {
  u64 mask = lanes_of(enter(offset));
  u32 rank = rank_of(mask, gate);
  // Counted before the branch, where the mask need not be kept for it. Without: 1 instruction more
  // per entry of a block, 2 on gfx1100 (LLVM 19).
  u32 lanes = (u32)__builtin_popcountl(mask);
  HIDE_UNIFORM(lanes);
  if (rank >= 2) return;
  // One multiply-add is shorter than what a known range leads to: by 2 instructions, 3 on
  // gfx1100 (LLVM 19), 1 on gfx1100 (15 and 16).
  HIDE_DIVERGENT(rank);
  count64((__global u64 *)(counters + (rank * 8 + offset)), (u64)rank * (lanes - 2) + 1);
}

// ---- waves

INLINE bool is_in_range(config_t config, u32 x, u32 y, u32 z) {
  return config->first_workgroup[0] <= x && x <= config->last_workgroup[0] &&
         config->first_workgroup[1] <= y && y <= config->last_workgroup[1] &&
         config->first_workgroup[2] <= z && z <= config->last_workgroup[2] &&
         (x + y + z) % config->sample_workgroups == 0;
}

// Where a wave without a stream adds up its counts: the copy of the counters for this part of the
// GPU. Several copies, or all waves would wait for the same lines of memory. Two numbers are the
// address of all copies, the last is the offset of this one; the third is negative if the wave is
// to ask whether its workgroup is wanted. The pass puts this into the kernel itself.
__attribute__((visibility("hidden"))) uint4 __fade_rt_copy(control_t control) {
  // copies, copy_size and copy_mask in one load
  uint4 config = *(CONFIG_SPACE const uint4 *)&config_of(control)->copies;
  return (uint4)(config.x, config.y, config.w, (place() & config.w) * config.z);
}

// The same: the offset if the workgroup is wanted, else that of a copy that nobody looks at. A way
// around the adding would cost 3 instructions more for all waves on gfx90a (LLVM 19).
__attribute__((visibility("hidden"))) u32 __fade_rt_filter(control_t control, u32 offset, u32 x,
                                                           u32 y, u32 z) {
  config_t config = config_of(control);
  u32 copies = (config->copy_mask & ~FADE_COPY_FILTERED) + 1;
  return is_in_range(config, x, y, z) ? offset : copies * config->copy_size;
}

// All of this for functions that are called: 0 if the wave is not counted.
ENTRY u64 __fade_rt_copy_if_wanted(control_t control, u32 x, u32 y, u32 z) {
  control = uniform_control(control);
  uint4 copy = __fade_rt_copy(control);
  if ((copy.z & FADE_COPY_FILTERED) != 0 &&
      !is_in_range(config_of(control), uniform(x), uniform(y), uniform(z)))
    return 0;
  return ((u64)copy.y << 32 | copy.x) + copy.w;
}

// The announcement of a wave. By one lane.
INLINE void write_wave_begin(control_t control, u64 module, u32 kernel_index, u32 x, u32 y, u32 z,
                             u32 work_item, u32 wave, u64 mask, u64 clock, u64 time) {
  u32 position = reserve(control, sizeof(fade_wave_begin));
  __global fade_wave_begin *record = (__global fade_wave_begin *)ring_at(control, position);
  put64(&record->mask, mask);
  put64(&record->clock, clock);
  put_pair(&record->wave, wave, work_item);
  put64(&record->time, time);
  put64(&record->module, module);
  put_pair(&record->workgroup_x, x, y);
  put_pair(&record->workgroup_z, z, hardware_id());
  // In vector registers at once: as for the limit in reserve().
  put_pair(&record->shared_base, to_vector(shared_base()), to_vector(private_base()));
  // Arithmetic where a choice of constants would do: LLVM 15 and 16 fold that to broken code.
  u32 flags = (64 - wave_size()) / 32 * FADE_WAVE_IS_WAVE32 | xcc_id() << FADE_WAVE_XCC_SHIFT;
  u64 header = FADE_HEADER(kernel_index, sizeof(fade_wave_begin) / FADE_RECORD_ALIGN,
                           FADE_RECORD_WAVE_BEGIN, flags & 0xff);
  finish_alone(control, (__global char *)record, header);
}

// Decides whether this wave is traced and announces it. The result, the same in every lane, is the
// wave's id for all later calls, FADE_WAVE_NONE if it is not traced.
ENTRY u32 __fade_rt_wave_begin(control_t control, u64 module, u32 kernel_index, u32 x, u32 y, u32 z,
                               u32 work_item) {
  control = uniform_control(control);
  if (control == 0) return FADE_WAVE_NONE;
  config_t config = config_of(control);
  if (config->sample_workgroups != 0 && !is_in_range(config, uniform(x), uniform(y), uniform(z)))
    return FADE_WAVE_NONE;
  u64 clock = read_clock(), time = read_time();
  group_t group = enter(kernel_index);
  u64 mask = lanes_of(group);
  u32 wave = 0;
  if (lane_id() == first_bit(mask)) {
    wave = add32(&control->waves, 1);
    write_wave_begin(control, module, kernel_index, x, y, z, work_item, wave, mask, clock, time);
  }
  return first_lane(group, wave);
}

ENTRY void __fade_rt_wave_end(control_t control, u32 wave, u32 kernel_index) {
  if (!is_traced(wave)) return;
  u64 clock = read_clock(), time = read_time();
  group_t group = enter(kernel_index);
  control = uniform_control(control);
  u64 mask = lanes_of(group);
  if (lane_id() != first_bit(mask)) return;
  u32 position = reserve(control, sizeof(fade_wave_end));
  __global fade_wave_end *record = (__global fade_wave_end *)ring_at(control, position);
  put64(&record->mask, mask);
  put64(&record->clock, clock);
  put_pair(&record->wave, wave, 0);
  put64(&record->time, time);
  finish_alone(control, (__global char *)record,
               FADE_HEADER(kernel_index, sizeof(fade_wave_end) / FADE_RECORD_ALIGN,
                           FADE_RECORD_WAVE_END, 0));
}

#include "sets_of_lanes.h"

#include "summary.h"

#include "kept_classes.h"
