// The device runtime: what an instrumented kernel calls. It writes the records that
// include/fade/message.h describes; names here are the names there.
//
// Rules that keep it usable from every kernel: each entry point is a leaf function, so that a call
// costs no stack; it uses no LDS and no hidden kernel argument, so that a clone needs nothing that
// its kernel did not need; it is one bitcode for all targets, so what differs between them is left
// to hooks that the pass defines (fade_hook_*).
//
// All entry points are called by all active lanes of a wave together. "Uniform" arguments are the
// same in every lane; depending on the compiler they arrive in vector registers all the same.
#include "fade/message.h"

typedef unsigned int u32;
typedef unsigned long u64;
typedef int i32;
typedef long i64;
typedef __global fade_control *control_t;
typedef __constant const fade_control *config_t;

#define INLINE static inline __attribute__((always_inline))
#define ENTRY __attribute__((visibility("hidden"), noinline))
#define LIKELY(x) __builtin_expect(!!(x), 1)

// Hooks: defined by the pass for the target at hand.
u32 __fade_hook_wave_size(void);
u64 __fade_hook_time(void);        // real-time counter
u32 __fade_hook_hardware_id(void); // HW_ID or HW_ID1
u32 __fade_hook_xcc_id(void);

// ---- lanes

// A zero that the compiler takes for different in each lane. An address that contains it keeps
// LLVM's atomic optimizer from electing a lane: we have done that already.
INLINE u32 divergent_zero(void) {
  u32 zero;
  __asm__("v_mov_b32 %0, 0" : "=v"(zero));
  return zero;
}

#if __clang_major__ >= 17
INLINE u64 ballot(bool condition) { return __builtin_amdgcn_ballot_w64(condition); }
// All 64 bits of EXEC. What the upper half holds in wave32 is not said anywhere.
INLINE u64 exec_register(void) { return ballot(true); }
INLINE u64 active_lanes(void) {
  // All ones in wave64, zero in wave32; known to the compiler once it knows the target.
  u32 upper = 0u - (__fade_hook_wave_size() >> 6);
  return exec_register() & ((u64)upper << 32 | 0xffffffffu);
}
#else
// Before LLVM 17 a 64-bit ballot cannot be selected in wave32, a comparison can. One of constants
// would become a read of all 64 bits of EXEC, also in wave32.
INLINE u64 ballot(bool condition) {
  return __builtin_amdgcn_uicmp((u32)condition, 0u, 33 /* not equal */);
}
INLINE u64 active_lanes(void) {
  return __builtin_amdgcn_uicmp(divergent_zero(), 0u, 32 /* equal */);
}
INLINE u64 exec_register(void) { return active_lanes(); }
#endif

// Whether a set of lanes is empty. In wave32 one scalar comparison is enough; the compiler knows.
INLINE bool is_empty(u64 lanes) {
  return __fade_hook_wave_size() == 64 ? lanes == 0 : (u32)lanes == 0;
}
INLINE bool any(bool condition) { return !is_empty(ballot(condition)); }

INLINE u32 first_bit(u64 mask) { return (u32)__builtin_ctzl(mask); }
INLINE u32 rank_below(u64 mask) {
  u32 low = __builtin_amdgcn_mbcnt_lo((u32)mask, 0);
  return __fade_hook_wave_size() == 64 ? __builtin_amdgcn_mbcnt_hi((u32)(mask >> 32), low) : low;
}
INLINE u32 lane_id(void) { return rank_below(~0ul); }
INLINE bool is_leader(void) { return rank_below(active_lanes()) == 0; }

INLINE u32 first_lane(u32 v) { return (u32)__builtin_amdgcn_readfirstlane((i32)v); }
INLINE u64 first_lane64(u64 v) {
  return (u64)first_lane((u32)(v >> 32)) << 32 | first_lane((u32)v);
}
INLINE u32 read_lane(u32 v, u32 lane) {
#if __clang_major__ == 16 || __clang_major__ == 17
  // LLVM 16 and 17 give stack to functions that contain v_readlane.
  return first_lane((u32)__builtin_amdgcn_ds_bpermute((i32)(lane * 4), (i32)v));
#else
  return (u32)__builtin_amdgcn_readlane((i32)v, (i32)lane);
#endif
}
INLINE bool is_traced(u32 wave) { return any(wave != FADE_WAVE_NONE); }
INLINE u32 to_vector(u32 v) {
  u32 result;
  __asm__("v_mov_b32 %0, %1" : "=v"(result) : "s"(v));
  return result;
}
INLINE control_t uniform_control(control_t c) { return (control_t)first_lane64((u64)c); }
INLINE config_t config_of(control_t c) { return (config_t)(u64)c; }

// ---- the ring

typedef volatile __global atomic_ulong *atomic64_t;
INLINE atomic64_t atomic64_at(__global u64 *where, u32 zero) {
  return (atomic64_t)((__global char *)where + zero);
}
INLINE atomic64_t atomic64(__global u64 *where) { return atomic64_at(where, divergent_zero()); }

// The functions from here to reserve() are called by one lane.
INLINE u64 add64(__global u64 *where, u64 n) {
  return __opencl_atomic_fetch_add(atomic64(where), n, __ATOMIC_RELAXED,
                                   __OPENCL_MEMORY_SCOPE_DEVICE);
}
INLINE u64 load64(__global u64 *where) {
  return __opencl_atomic_load(atomic64(where), __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
}

INLINE u32 add32(__global u32 *where, u32 n) {
  return __opencl_atomic_fetch_add((volatile __global atomic_uint *)(where + divergent_zero()), n,
                                   __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
}

// Looks at the host's tail and lets the other waves know what it found. Returns the new limit.
INLINE u64 raise_limit(control_t control) {
  config_t config = config_of(control);
  u64 tail = __opencl_atomic_load(atomic64((__global u64 *)config->tail), __ATOMIC_RELAXED,
                                  __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES);
  u64 limit = tail + config->capacity_mask + 1;
  __opencl_atomic_fetch_max(atomic64(&control->limit), limit, __ATOMIC_RELAXED,
                            __OPENCL_MEMORY_SCOPE_DEVICE);
  return limit;
}

// Reserves a record, waits until the ring has room for it and returns the lower half of its position.
// Positions and limits are compared by the difference of their lower halves: head cannot run ahead
// of the limit by more than one record per wave on the device, and a ring is smaller than 2 GiB.
INLINE u32 reserve_position(control_t control, u32 size) {
  u32 zero = divergent_zero();
  // The zero serves as the upper half of the size, too. The limit may be read first: it can only be
  // too low.
  i32 limit = (i32)__opencl_atomic_load(atomic64_at(&control->limit, zero), __ATOMIC_RELAXED,
                                        __OPENCL_MEMORY_SCOPE_DEVICE);
  u32 position = (u32)__opencl_atomic_fetch_add(atomic64_at(&control->head, zero),
                                                (u64)zero << 32 | size, __ATOMIC_RELAXED,
                                                __OPENCL_MEMORY_SCOPE_DEVICE);
  i32 room = (i32)((u32)limit - position);
  if (!LIKELY(!any(room < (i32)size))) {
    do {
      __builtin_amdgcn_s_sleep(8);
      room = (i32)((u32)raise_limit(control) - position);
    } while (any(room < (i32)size));
  }
  return position;
}

// The same, as an offset in the ring.
INLINE u32 reserve(control_t control, u32 size) {
  return reserve_position(control, size) & (u32)config_of(control)->capacity_mask;
}

INLINE __global void *ring_at(control_t control, u32 offset) {
  return (__global char *)config_of(control)->data + offset;
}

// Called by all lanes after the payload is written, before the header is.
INLINE void release(void) { __builtin_amdgcn_fence(__ATOMIC_RELEASE, ""); }

INLINE void publish(__global void *record, u64 header) {
  __opencl_atomic_store((atomic64_t)record, header, __ATOMIC_RELAXED,
                        __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES);
}

// ---- filters that look at each execution; seldom in use, hence one test for all of them

// Called by one lane: whether this execution of the site is to be recorded.
INLINE bool is_wanted(control_t control, u32 flags, u32 site) {
  config_t config = config_of(control);
  if (flags & FADE_CONTROL_SAMPLE_EXECUTIONS) {
    u64 n = add64(&((__global fade_counter *)config->counters)[site].entries, 1);
    if (first_lane((u32)n % to_vector(config->sample_executions)) != 0) return false;
  }
  if (flags & FADE_CONTROL_LOSSY) {
    u32 wanted = (u32)load64(&control->head) + FADE_RECORD_MAX;
    bool full = (i32)((u32)load64(&control->limit) - wanted) < 0;
    if (ballot(full)) full = (i32)((u32)raise_limit(control) - wanted) < 0;
    if (ballot(full)) {
      add64(&control->dropped, 1);
      return false;
    }
  }
  return true;
}

// Called by all lanes.
INLINE bool is_filtered(control_t control, u32 site) {
  u32 flags = config_of(control)->flags;
  u32 result;
  // Hidden from the compiler, which would set a constant before it branches to here.
  __asm__ volatile("s_mov_b32 %0, 1" : "=s"(result));
  if (!LIKELY(flags == 0)) {
    u32 wanted = 0;
    if (is_leader()) wanted = is_wanted(control, flags, site);
    result = first_lane(wanted);
  }
  return result == 0;
}

// ---- accesses

// The active lanes, and for each of them how far its address is from that of the first.
typedef struct {
  u64 mask;
  u32 first;
  u32 lane;
  i64 delta;
} lanes_t;

INLINE lanes_t lanes_at(u64 address) {
  u64 mask = active_lanes();
  lanes_t w = {mask, first_bit(mask), lane_id(), (i64)(address - first_lane64(address))};
  return w;
}

// Lanes whose address is not base + stride * (lane - first).
INLINE u64 off_the_line(lanes_t w, i32 stride) {
  return ballot(w.delta != (i64)stride * (i32)(w.lane - w.first));
}

// Lanes whose address is not the one in the tile.
INLINE u64 off_the_tile(lanes_t w, i32 stride, fade_tile tile) {
  u32 r = w.lane - w.first;
  i32 row = (i32)(r >> __builtin_ctz(tile.width)), column = (i32)(r & (tile.width - 1));
  return ballot(w.delta != (i64)stride * column + (i64)tile.row_stride * row);
}

// Lower half of another lane's delta.
INLINE i32 delta_of(lanes_t w, u32 lane) { return (i32)read_lane((u32)w.delta, lane); }

// The stride that the first two active lanes suggest.
INLINE i32 guess_stride(lanes_t w) {
  u64 others = w.mask & (w.mask - 1);
  if (others == 0) return 0;
  u32 second = first_bit(others);
  // Divided in vector registers, see plan_t.
  i32 delta = (i32)to_vector((u32)delta_of(w, second));
  return (i32)first_lane((u32)(delta / (i32)to_vector(second - w.first)));
}

// How a set of addresses will be written. The same in every lane, but kept in vector registers:
// scalar ones are few in a function that may not save any, and this lives long.
typedef struct {
  u32 encoding;
  u32 payload_size;
  i32 stride;
  fade_tile tile;
} plan_t;

// A constant in a vector register.
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
  bool near = ballot(w.delta != (i32)w.delta) == 0;
  plan.encoding = vector_constant(near ? FADE_ENCODING_DELTA32 : FADE_ENCODING_RAW);
  plan.payload_size = near ? (others * 4 + 7) & ~7u : others * 8;
  plan.stride = 0;
  return plan;
}

// Any record of addresses. The first lane writes the fixed part, the others their payload.
INLINE void write_access(control_t control, u32 wave, u32 site, u64 address, bool has_length,
                         u64 length) {
  lanes_t w = lanes_at(address);
  plan_t plan = choose_encoding(w);
  const u32 fixed_size = sizeof(fade_record) + (has_length ? 8 : 0);
  u32 offset = 0;
  if (is_leader()) offset = reserve(control, fixed_size + plan.payload_size);
  __global char *at = ring_at(control, first_lane(offset));
  __global char *payload = at + fixed_size;
  u64 mask = active_lanes();
  if (is_leader()) {
    __global fade_record *record = (__global fade_record *)at;
    record->mask = mask;
    record->value = address;
    record->wave = wave;
    record->extra = plan.stride;
    if (has_length) *(__global u64 *)(at + sizeof(fade_record)) = length;
    if (plan.encoding == FADE_ENCODING_TILED) *(__global fade_tile *)payload = plan.tile;
  } else {
    u32 element = rank_below(mask) - 1;
    if (plan.encoding == FADE_ENCODING_DELTA32) ((__global i32 *)payload)[element] = (i32)w.delta;
    if (plan.encoding == FADE_ENCODING_RAW) ((__global u64 *)payload)[element] = address;
  }
  release();
  u32 kind = has_length ? FADE_RECORD_RANGE : FADE_RECORD_ACCESS;
  if (is_leader())
    publish(at, FADE_HEADER(site, (fixed_size + plan.payload_size) / FADE_RECORD_ALIGN, kind,
                            plan.encoding));
}

// The encoding of addresses on a line. One instruction; a comparison would take two.
INLINE u32 line_encoding(i32 stride) {
  FADE_STATIC_ASSERT(FADE_ENCODING_UNIFORM == 0 && FADE_ENCODING_AFFINE == 1);
  u32 encoding;
  __asm__("v_min_u32 %0, 1, %1" : "=v"(encoding) : "v"(stride));
  return encoding;
}

// Mask and value of a record: 16 bytes, aligned to 8.
typedef uint4 __attribute__((aligned(8))) middle_t;

// Any access. The common case takes as few instructions as possible: no filter is in use, and the
// addresses are base + stride * lane from the first active lane and its neighbour on.
INLINE void record_access(control_t control, u32 wave, u32 site, u64 address) {
  u64 base = first_lane64(address);
  u32 lane = lane_id(), writer = first_lane(lane);
  i32 stride = (i32)(read_lane((u32)address, writer + 1) - (u32)base);
  i64 to_first = (i64)stride * (i32)(writer - lane);
  // flags, data and capacity_mask in one load
  uint8 config = *(__constant const uint8 *)config_of(control);
  u64 uncommon = config.s1 | ((exec_register() >> writer & 3) ^ 3) |
                 ballot(address + (u64)to_first != base);
  // What the common case stores is put side by side in vector registers here and not where it is
  // stored: scalar registers that live through the other case would be too many, and a call must
  // not need stack.
  u64 mask = active_lanes();
  uint4 middle = {(u32)mask, (u32)(mask >> 32), (u32)address, (u32)(address >> 32)};
  uint2 last = {wave, (u32)stride};
  __asm__("" : "+v"(middle), "+v"(last));
  address = (u64)middle.w << 32 | middle.z, wave = last.x; // from now on in these registers
  if (!LIKELY(is_empty(uncommon))) {
    if (!is_filtered(control, first_lane(site)))
      write_access(control, wave, site, address, false, 0);
    // Then no lane writes the common record. Hidden from the compiler, or it would rearrange this
    // to an either-or, which takes more branches.
    __asm__ volatile("s_mov_b32 %0, -1" : "=s"(writer));
  }
  if (lane == writer) {
    u32 offset = reserve_position(control, sizeof(fade_record)) & config.s4;
    __global char *data = (__global char *)((u64)config.s3 << 32 | config.s2);
    __global fade_record *record = (__global fade_record *)(data + offset);
    *(__global middle_t *)&record->mask = middle;
    *(__global uint2 *)&record->wave = last;
    release();
    publish(record, FADE_HEADER(site, sizeof(fade_record) / FADE_RECORD_ALIGN, FADE_RECORD_ACCESS,
                                line_encoding((i32)last.y)));
  }
}

// The order of the arguments is that of the registers in which a record is put together: the mask
// takes the place of `control`, the rest of the header that of `unused`, which callers need not set.
ENTRY void __fade_rt_access(control_t control, u64 address, u32 site, u32 unused, u32 wave) {
  (void)unused;
  control = uniform_control(control); // first, to free its registers
  if (!is_traced(wave)) return;
  record_access(control, wave, site, address);
}

// An access through a flat pointer: lanes that point to their own scratch are no business of ours.
ENTRY void __fade_rt_access_flat(control_t control, u64 address, u32 site, u32 unused, u32 wave) {
  (void)unused;
  control = uniform_control(control);
  if (!is_traced(wave)) return;
  if (__builtin_amdgcn_is_private((const __generic void *)address)) return;
  record_access(control, wave, site, address);
}

// An access with a length. Lanes with the same length share a record.
INLINE void record_ranges(control_t control, u32 wave, u32 site, u64 address, u64 length) {
  if (!is_traced(wave) || is_filtered(uniform_control(control), first_lane(site))) return;
  u32 done = 0;
  do {
    if (length == first_lane64(length)) {
      if (length != 0) write_access(uniform_control(control), wave, site, address, true, length);
      done = 1;
    }
    // Hidden from the compiler: if it knew that lanes leave after writing, it would write behind
    // the loop, for all lanes at once. And the configuration must not occupy registers meanwhile.
    __asm__ volatile("" : "+v"(done), "+v"(control));
  } while (done == 0);
}

ENTRY void __fade_rt_range(control_t control, u32 wave, u32 site, u64 address, u64 length) {
  record_ranges(control, wave, site, address, length);
}

ENTRY void __fade_rt_range_flat(control_t control, u32 wave, u32 site, u64 address, u64 length) {
  bool is_private = __builtin_amdgcn_is_private((const __generic void *)address);
  record_ranges(control, wave, site, address, is_private ? 0 : length);
}

// ---- blocks

ENTRY void __fade_rt_block(control_t control, u32 wave, u32 site) {
  if (!is_traced(wave)) return;
  u64 clock = __builtin_readcyclecounter();
  control = uniform_control(control);
  if (is_filtered(control, first_lane(site))) return;
  u64 mask = active_lanes();
  if (lane_id() != first_bit(mask)) return;
  __global fade_record *record = ring_at(control, reserve(control, sizeof(fade_record)));
  record->mask = mask;
  record->value = clock;
  record->wave = wave;
  record->extra = 0;
  release();
  publish(record, FADE_HEADER(site, sizeof(fade_record) / FADE_RECORD_ALIGN, FADE_RECORD_BLOCK, 0));
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
  u64 mask = active_lanes();
  u32 rank =
      __builtin_amdgcn_mbcnt_hi((u32)(mask >> 32), __builtin_amdgcn_mbcnt_lo((u32)mask, gate));
  // Counted before the branch, where the mask need not be kept for it.
  u32 lanes = (u32)__builtin_popcountl(mask);
  __asm__ volatile("" : "+s"(lanes));
  if (rank >= 2) return;
  __asm__ volatile("" : "+v"(rank)); // one multiply-add is shorter than what a known range leads to
  u64 n = (u64)rank * (lanes - 2) + 1;
  __opencl_atomic_fetch_add((atomic64_t)(counters + (rank * 8 + offset)), n, __ATOMIC_RELAXED,
                            __OPENCL_MEMORY_SCOPE_DEVICE);
}

// ---- waves

INLINE bool is_in_range(config_t config, u32 x, u32 y, u32 z) {
  return config->first_workgroup[0] <= x && x <= config->last_workgroup[0] &&
         config->first_workgroup[1] <= y && y <= config->last_workgroup[1] &&
         config->first_workgroup[2] <= z && z <= config->last_workgroup[2] &&
         (config->sample_workgroups <= 1 || (x + y + z) % config->sample_workgroups == 0);
}

// Decides whether this wave is traced and announces it. The result, the same in every lane, is the
// wave's id for all later calls, FADE_WAVE_NONE if it is not traced.
ENTRY u32 __fade_rt_wave_begin(control_t control, u64 module, u32 kernel_index, u32 x, u32 y, u32 z,
                               u32 work_item) {
  control = uniform_control(control);
  if (control == 0) return FADE_WAVE_NONE;
  config_t config = config_of(control);
  if (!is_in_range(config, first_lane(x), first_lane(y), first_lane(z))) return FADE_WAVE_NONE;
  u64 clock = __builtin_readcyclecounter(), time = __fade_hook_time();
  u64 mask = active_lanes();
  u32 wave = 0;
  if (lane_id() == first_bit(mask)) {
    wave = add32(&control->waves, 1);
    __global fade_wave_begin *record = ring_at(control, reserve(control, sizeof(fade_wave_begin)));
    record->mask = mask;
    record->clock = clock;
    record->wave = wave;
    record->work_item = work_item;
    record->time = time;
    record->module = module;
    record->workgroup_x = x;
    record->workgroup_y = y;
    record->workgroup_z = z;
    record->hardware_id = __fade_hook_hardware_id();
    record->shared_base = (u32)((u64)(__generic char *)(__local char *)16 >> 32);
    record->private_base = (u32)((u64)(__generic char *)(__private char *)16 >> 32);
    // Arithmetic where a choice of constants would do: LLVM 15 and 16 fold that to broken code.
    u32 flags = (64 - __fade_hook_wave_size()) / 32 * FADE_WAVE_IS_WAVE32 |
                __fade_hook_xcc_id() << FADE_WAVE_XCC_SHIFT;
    release();
    publish(record, FADE_HEADER(kernel_index, sizeof(fade_wave_begin) / FADE_RECORD_ALIGN,
                                FADE_RECORD_WAVE_BEGIN, flags & 0xff));
  }
  return first_lane(wave);
}

ENTRY void __fade_rt_wave_end(control_t control, u32 wave, u32 kernel_index) {
  if (!is_traced(wave)) return;
  u64 clock = __builtin_readcyclecounter(), time = __fade_hook_time();
  control = uniform_control(control);
  u64 mask = active_lanes();
  if (lane_id() != first_bit(mask)) return;
  __global fade_wave_end *record = ring_at(control, reserve(control, sizeof(fade_wave_end)));
  record->mask = mask;
  record->clock = clock;
  record->wave = wave;
  record->reserved = 0;
  record->time = time;
  release();
  publish(record, FADE_HEADER(kernel_index, sizeof(fade_wave_end) / FADE_RECORD_ALIGN,
                              FADE_RECORD_WAVE_END, 0));
}
