// What the runtime asks of an AMD GPU. One bitcode serves all processors: what differs between them
// is left to hooks that the pass defines when it knows the processor.
//
// The lanes that came together are those of EXEC, which the hardware keeps; a group is only a name
// for them here. Uniform values live in scalar registers if the compiler can prove it, and some of
// what follows is there to tell it so, or to keep it from finding out.
#define LANES_WRITE_TOGETHER 0
#define HAS_OWN_TILES 1 // in the slots of sites
#define BITS_AT_ONCE 4  // of a value, in a round of other_values()
#define SHORTENS_KEYS 1 // see __fade_rt_summary_shorter_key()

// ---- hooks

u32 __fade_hook_wave_size(void);
u64 __fade_hook_time(void);        // real-time counter
u32 __fade_hook_hardware_id(void); // HW_ID or HW_ID1
u32 __fade_hook_xcc_id(void);
u32 __fade_hook_place(void); // number of a part of the GPU, like a compute unit
// Whether the L2 can keep what is stored to host memory, if the store does not say that it must
// not.
__attribute__((const)) u32 __fade_hook_l2_keeps_host_memory(void);
// Whether permutations reach over the halves of a wave of 64 lanes.
__attribute__((const)) u32 __fade_hook_permutes_whole_waves(void);
void __fade_hook_wait_for_stores(void);

INLINE u32 wave_size(void) { return __fade_hook_wave_size(); }
INLINE u64 read_clock(void) { return __builtin_readcyclecounter(); }
INLINE u64 read_time(void) { return __fade_hook_time(); }
INLINE u32 hardware_id(void) { return __fade_hook_hardware_id(); }
INLINE u32 xcc_id(void) { return __fade_hook_xcc_id(); }
INLINE u32 place(void) { return __fade_hook_place(); }

// ---- registers
//
// What follows tells the compiler less than it could find out. Each use says what it prevents, as
// seen with LLVM 15.0.6, 16.0.6 and 19.1.7 for gfx90a, gfx1030 (wave32 and wave64) and gfx1100 when
// it alone was taken out: stack that a function would need (it must need none, tests/passes/lit),
// or wave-instructions that a record would take more (tests/passes/run/cost_test.cpp, LLVM 19). The
// worse of modules that name their processor and of those that do not. "wave64" are gfx90a and
// gfx1030 in wave64.

// A zero that the compiler takes for different in each lane. An address that contains it keeps
// LLVM's atomic optimizer from electing a lane: we have done that already. Without: 10 to 13
// instructions more per coalesced access, 24 to 28 per scattered one (LLVM 19; 15 and 16 do not
// optimize here).
INLINE u32 divergent_zero(void) {
  u32 zero = 0;
  __asm__("" : "+v"(zero));
  return zero;
}
// The copy is the compiler's, which knows how long after v_readlane a scalar register may be read
// (two wait states on gfx94x); into a statement of assembly it does not look.
INLINE u32 to_vector(u32 v) {
  __asm__("" : "+v"(v));
  return v;
}
// A value that the compiler knows nothing about, and computes here.
#define HIDE_UNIFORM(v) __asm__ volatile("" : "+s"(v))
#define HIDE_DIVERGENT(v) __asm__ volatile("" : "+v"(v))
// Values that are not used behind here, if the compiler cannot know that.
#define FORGET_UNIFORM(a, b, c) __asm__ volatile("" : "=s"(a), "=s"(b), "=s"(c))
// Two vectors of values, each side by side in vector registers.
#define GATHER_DIVERGENT(v, w) __asm__("" : "+v"(v), "+v"(w))

// ---- lanes

typedef struct {
} group_t;
// The lanes that call from the same place.
INLINE group_t enter(u32 site) {
  (void)site;
  return (group_t){};
}
// The same in code that is inlined, so that there is but one place.
INLINE group_t enter_here(void) { return (group_t){}; }
INLINE group_t only_this_lane(void) { return (group_t){}; }
INLINE void leave(group_t group) { (void)group; }

#if __clang_major__ >= 17
INLINE u64 ballot(group_t group, bool condition) {
  (void)group;
  return __builtin_amdgcn_ballot_w64(condition);
}
// All 64 bits of EXEC. What the upper half holds in wave32 is not said anywhere.
INLINE u64 exec_register(group_t group) { return ballot(group, true); }
INLINE u64 lanes_of(group_t group) {
  // All ones in wave64, zero in wave32; known to the compiler once it knows the target.
  u32 upper = 0u - (wave_size() >> 6);
  return exec_register(group) & ((u64)upper << 32 | 0xffffffffu);
}
#else
// Before LLVM 17 a 64-bit ballot cannot be selected in wave32, a comparison can. One of constants
// would become a read of all 64 bits of EXEC, also in wave32.
INLINE u64 ballot(group_t group, bool condition) {
  (void)group;
  return __builtin_amdgcn_uicmp((u32)condition, 0u, 33 /* not equal */);
}
INLINE u64 lanes_of(group_t group) {
  (void)group;
  return __builtin_amdgcn_uicmp(divergent_zero(), 0u, 32 /* equal */);
}
INLINE u64 exec_register(group_t group) { return lanes_of(group); }
#endif

// Whether a set of lanes is empty. In wave32 one scalar comparison is enough: 1 (gfx1030) to 3
// (gfx1100) instructions less per access than one of 64 bits.
INLINE bool is_empty(u64 lanes) { return wave_size() == 64 ? lanes == 0 : (u32)lanes == 0; }

INLINE u32 rank_below(u64 mask) {
  u32 low = __builtin_amdgcn_mbcnt_lo((u32)mask, 0);
  return wave_size() == 64 ? __builtin_amdgcn_mbcnt_hi((u32)(mask >> 32), low) : low;
}
INLINE u32 lane_id(void) { return rank_below(~0ul); }
// The rank of this lane, plus n.
INLINE u32 rank_of(u64 mask, u32 n) {
  return __builtin_amdgcn_mbcnt_hi((u32)(mask >> 32), __builtin_amdgcn_mbcnt_lo((u32)mask, n));
}

INLINE u32 first_lane(group_t group, u32 v) {
  (void)group;
  return (u32)__builtin_amdgcn_readfirstlane((i32)v);
}
INLINE u32 read_lane(group_t group, u32 v, u32 lane) {
#if __clang_major__ == 16 || __clang_major__ == 17
  // LLVM 16 and 17 give stack to functions that contain v_readlane: 8 to 12 bytes (LLVM 16).
  return first_lane(group, (u32)__builtin_amdgcn_ds_bpermute((i32)(lane * 4), (i32)v));
#else
  (void)group;
  return (u32)__builtin_amdgcn_readlane((i32)v, (i32)lane);
#endif
}

// The lanes of a group for which the condition is the same.
INLINE group_t part_of(group_t group, bool condition) {
  (void)condition;
  return group;
}

// For values that are the same in all active lanes, be it because only one is.
INLINE u32 uniform(u32 v) { return first_lane((group_t){}, v); }
// A branch on it is a scalar one, which leaves EXEC alone. Without: 3 instructions more per
// coalesced access on gfx90a, 1 on gfx1100, 4 to 8 with a ring in device memory; 8 bytes of stack
// in __fade_rt_range (LLVM 15 and 19 on gfx90a, 15 and 16 on gfx1030 in wave64).
INLINE bool is_so(bool condition) { return !is_empty(ballot((group_t){}, condition)); }

// ---- memory

#define CONFIG_SPACE __constant
typedef CONFIG_SPACE const fade_control *config_t;

typedef volatile __global atomic_ulong *atomic64_t;
INLINE atomic64_t atomic64_at(__global u64 *where, u32 zero) {
  return (atomic64_t)((__global char *)where + zero);
}
INLINE atomic64_t atomic64(__global u64 *where) { return atomic64_at(where, divergent_zero()); }

INLINE u32 add32(__global u32 *where, u32 n) {
  return __opencl_atomic_fetch_add((volatile __global atomic_uint *)(where + divergent_zero()), n,
                                   __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
}
INLINE u64 add64(__global u64 *where, u64 n) {
  return __opencl_atomic_fetch_add(atomic64(where), n, __ATOMIC_RELAXED,
                                   __OPENCL_MEMORY_SCOPE_DEVICE);
}
// By several lanes at different addresses.
INLINE void count64(__global u64 *where, u64 n) {
  __opencl_atomic_fetch_add((atomic64_t)where, n, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
}
INLINE void count32(__global u32 *where, u32 n) {
  __opencl_atomic_fetch_add((volatile __global atomic_uint *)where, n, __ATOMIC_RELAXED,
                            __OPENCL_MEMORY_SCOPE_DEVICE);
}
INLINE u32 or32(__global u32 *where, u32 n) {
  return __opencl_atomic_fetch_or((volatile __global atomic_uint *)(where + divergent_zero()), n,
                                  __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
}
// Returns what was there.
INLINE u64 swap_if64(__global u64 *where, u64 expected, u64 n) {
  __opencl_atomic_compare_exchange_strong(atomic64(where), &expected, n, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
  return expected;
}
INLINE void max64(__global u64 *where, u64 n) {
  __opencl_atomic_fetch_max(atomic64(where), n, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
}
// Returns what was there.
INLINE u32 max32(__global u32 *where, u32 n) {
  return __opencl_atomic_fetch_max((volatile __global atomic_uint *)(where + divergent_zero()), n,
                                   __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
}
INLINE u64 load64(__global u64 *where) {
  return __opencl_atomic_load(atomic64(where), __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
}
INLINE u64 load64_system(__global u64 *where) {
  return __opencl_atomic_load(atomic64(where), __ATOMIC_RELAXED,
                              __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES);
}

// The lower halves of `limit` and, after n was added to it, of `head`. One zero serves for both
// addresses and as the upper half of n.
typedef struct {
  u32 limit, head;
} reservation_t;
INLINE reservation_t load_limit_add_head(__global fade_control *control, u32 n) {
  u32 zero = divergent_zero();
  u32 limit = (u32)__opencl_atomic_load(atomic64_at(&control->limit, zero), __ATOMIC_RELAXED,
                                        __OPENCL_MEMORY_SCOPE_DEVICE);
  u32 head = (u32)__opencl_atomic_fetch_add(atomic64_at(&control->head, zero), (u64)zero << 32 | n,
                                            __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
  return (reservation_t){limit, head};
}

// Waits a moment, longer if it has done so before.
INLINE void pause_lane(u32 rounds) {
  (void)rounds;
  __builtin_amdgcn_s_sleep(8);
}

// A ring in host memory is coherent: pages that the L2 of most GPUs never keeps. gfx94x with host
// memory of its own (MI300A), gfx950 and gfx12 may keep them, so there each store says that it is
// for the whole system and goes through. Then it is enough to wait until the stores have arrived.
// A release at system scope would do as well, but it writes back all of the L2 (buffer_wbl2,
// global_wb) for each record, what the application has there included.
INLINE bool stores_go_through(void) { return __fade_hook_l2_keeps_host_memory() != 0; }
INLINE void publish64(__global void *where, u64 v) {
  __opencl_atomic_store((atomic64_t)where, v, __ATOMIC_RELAXED,
                        __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES);
}
INLINE void put64(__global void *where, u64 v) {
  if (stores_go_through())
    publish64(where, v);
  else
    *(__global u64 *)where = v;
}
INLINE void put32(__global void *where, u32 v) {
  if (stores_go_through())
    __opencl_atomic_store((volatile __global atomic_uint *)where, v, __ATOMIC_RELAXED,
                          __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES);
  else
    *(__global u32 *)where = v;
}
// What the group has put is there before what its first lane publishes next. Called by all lanes
// that wrote.
INLINE void release(group_t group) {
  (void)group;
  __fade_hook_wait_for_stores();
}

// The same for a ring in this GPU's own memory, which a copy engine reads past the L2.
INLINE void write_back(group_t group) {
  (void)group;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
}
// At system scope: gfx94x has several L2, and only the own one is written back.
INLINE void publish_add64(__global u64 *where, u64 n) {
  __opencl_atomic_fetch_add(atomic64(where), n, __ATOMIC_RELAXED,
                            __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES);
}

// ---- address spaces

INLINE bool is_private(u64 address) {
  return __builtin_amdgcn_is_private((const __generic void *)address);
}
INLINE u64 flat_address(u64 address) { return address; }
INLINE u32 shared_base(void) { return (u32)((u64)(__generic char *)(__local char *)16 >> 32); }
INLINE u32 private_base(void) { return (u32)((u64)(__generic char *)(__private char *)16 >> 32); }

// ---- single instructions where the compiler takes several

// 0 if v is 0, else 1. As a comparison: 1 instruction more per access, 2 on gfx1100.
INLINE u32 at_most_one(u32 v) {
  u32 result;
  __asm__("v_min_u32 %0, 1, %1" : "=v"(result) : "v"(v));
  return result;
}

INLINE u32 at_most(u32 a, u32 b) { return a < b ? a : b; }

// ---- classes of accesses

// The class in a site's own slot. Read by the scalar unit, whose cache may have an older state of
// it: words that are 0 there, and so not what anybody looks for.
typedef struct {
  u64 mask, key;
  u32 stride;
  u64 tile;
} own_class_t;
INLINE own_class_t load_own_class(__global char *table, u32 slot) {
  const ulong4 c = *(CONFIG_SPACE const ulong4 *)(u64)(table + slot);
  return (own_class_t){c.s0, c.s1, (u32)c.s2, c.s3};
}
// In a twin's own code, where the compiler might move the load out of a loop, or make one of two.
INLINE own_class_t look_at_own_class(__global char *table, u32 slot) {
  HIDE_UNIFORM(slot);
  return load_own_class(table, slot);
}
// A value and the lanes that made it, which is no question here.
INLINE u64 with_lanes(group_t group, u32 v) {
  (void)group;
  return v;
}
INLINE u64 lanes_found(group_t group, u64 v) {
  (void)v;
  return lanes_of(group);
}
INLINE void forget_scalars(void) { __builtin_amdgcn_s_dcache_inv(); }

// That of another lane, for each. Where permutations do not reach over the halves of a wave there
// may be one lane that wants to, the first of the upper half.
INLINE u32 read_each(group_t group, u32 v, u32 lane) {
  u32 result = (u32)__builtin_amdgcn_ds_bpermute((i32)(lane * 4), (i32)v);
  if (wave_size() == 64 && __fade_hook_permutes_whole_waves() == 0) {
    u32 lower = (u32)lanes_of(group) | 1;
    u32 last = read_lane(group, v, 31 - (u32)__builtin_clz(lower));
    if (lane_id() >= 32 && lane < 32) result = last;
  }
  return result;
}
INLINE float reciprocal(u32 v) { return __builtin_amdgcn_rcpf((float)v); }
// From a cache that may have an older state of it.
INLINE u32 look_at(__global u32 *where) { return *(CONFIG_SPACE const u32 *)(u64)where; }
