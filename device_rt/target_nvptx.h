// What the runtime asks of an NVIDIA GPU from sm_70 on. A wave is a warp of 32 lanes.
//
// Lanes run on their own and need not come together again by themselves: a group is the set of
// lanes that entered together, and whatever they do as a group names it.
#define LANES_WRITE_TOGETHER 1
#define HAS_OWN_TILES 0 // in the slots of sites
#define BITS_AT_ONCE 2  // of a value, in a round of other_values(): more take registers
#define SHORTENS_KEYS 0 // see __fade_rt_summary_shorter_key(); two classes are kept instead

INLINE u32 wave_size(void) { return 32; }
// The builtin for it returns a long long, which is not 64 bits wide in OpenCL.
INLINE u64 read_clock(void) {
  u64 clock;
  __asm__ volatile("mov.u64 %0, %%clock64;" : "=l"(clock));
  return clock;
}
INLINE u64 read_time(void) {
  u64 time;
  __asm__ volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}
INLINE u32 hardware_id(void) {
  u32 sm, warp;
  __asm__ volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  __asm__ volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
  return sm << 8 | (warp & 0xff);
}
INLINE u32 xcc_id(void) { return 0; }
INLINE u32 place(void) {
  u32 sm;
  __asm__("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

// ---- registers: nothing has to be hidden from this compiler

INLINE u32 divergent_zero(void) { return 0; }
INLINE u32 to_vector(u32 v) { return v; }
#define HIDE_UNIFORM(v) (void)(v)
#define HIDE_DIVERGENT(v) (void)(v)
#define FORGET_UNIFORM(a, b, c) ((void)(a), (void)(b), (void)(c))
#define GATHER_DIVERGENT(v, w) ((void)(v), (void)(w))

// ---- lanes

typedef struct {
  u32 lanes;
} group_t;
// Lanes that call from different places may meet in the function that they call, and only those of
// one place belong together.
INLINE group_t enter(u32 site) {
  u32 active, lanes, all;
  __asm__ volatile("activemask.b32 %0;" : "=r"(active)::"memory");
  // Mostly all are of one place, and to find that out is quicker than match.any.
  __asm__ volatile("{ .reg .pred p; .reg .b32 l, v; bfind.u32 l, %1; "
                   "shfl.sync.idx.b32 v, %2, l, 31, %1; setp.eq.u32 p, v, %2; "
                   "vote.sync.all.pred p, p, %1; selp.u32 %0, 1, 0, p; }"
                   : "=r"(all)
                   : "r"(active), "r"(site));
  if (LIKELY(all != 0)) return (group_t){active};
  __asm__ volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(lanes) : "r"(site), "r"(active));
  return (group_t){lanes};
}
// The same in code that is inlined, so that there is but one place.
INLINE group_t enter_here(void) {
  u32 active;
  __asm__ volatile("activemask.b32 %0;" : "=r"(active)::"memory");
  return (group_t){active};
}
INLINE group_t only_this_lane(void) { return (group_t){(u32)__nvvm_read_ptx_sreg_lanemask_eq()}; }
INLINE void sync(group_t group) {
  __asm__ volatile("bar.warp.sync %0;" ::"r"(group.lanes) : "memory");
}
INLINE void leave(group_t group) { sync(group); }

INLINE u64 lanes_of(group_t group) { return group.lanes; }
INLINE u64 exec_register(group_t group) { return group.lanes; }
INLINE u64 ballot(group_t group, bool condition) {
  u32 lanes;
  __asm__ volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
                   : "=r"(lanes)
                   : "r"((u32)condition), "r"(group.lanes));
  return lanes;
}
INLINE bool is_empty(u64 lanes) { return (u32)lanes == 0; }
INLINE u32 lane_id(void) { return (u32)__nvvm_read_ptx_sreg_laneid(); }
INLINE u32 rank_below(u64 mask) {
  return (u32)__builtin_popcount((u32)mask & (u32)__nvvm_read_ptx_sreg_lanemask_lt());
}
INLINE u32 rank_of(u64 mask, u32 n) { return rank_below(mask) + n; }

INLINE u32 read_lane(group_t group, u32 v, u32 lane) {
  u32 result;
  __asm__ volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;"
                   : "=r"(result)
                   : "r"(v), "r"(lane), "r"(group.lanes));
  return result;
}
INLINE u32 first_lane(group_t group, u32 v) {
  return read_lane(group, v, (u32)__builtin_ctz(group.lanes));
}
INLINE group_t part_of(group_t group, bool condition) {
  u32 lanes = (u32)ballot(group, condition);
  return (group_t){condition ? lanes : group.lanes & ~lanes};
}

INLINE u32 uniform(u32 v) { return v; }
INLINE bool is_so(bool condition) { return condition; }

// ---- memory. Scopes are spelled out: LLVM's atomics have fewer of them.

#define CONFIG_SPACE __global
typedef CONFIG_SPACE const fade_control *config_t;

INLINE u32 add32(__global u32 *where, u32 n) {
  u32 old;
  __asm__ volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;"
                   : "=r"(old)
                   : "l"(where), "r"(n)
                   : "memory");
  return old;
}
INLINE u64 add64(__global u64 *where, u64 n) {
  u64 old;
  __asm__ volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;"
                   : "=l"(old)
                   : "l"(where), "l"(n)
                   : "memory");
  return old;
}
INLINE void count64(__global u64 *where, u64 n) {
  __asm__ volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(where), "l"(n) : "memory");
}
INLINE void count32(__global u32 *where, u32 n) {
  __asm__ volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(where), "r"(n) : "memory");
}
INLINE u32 or32(__global u32 *where, u32 n) {
  u32 old;
  __asm__ volatile("atom.relaxed.gpu.global.or.b32 %0, [%1], %2;"
                   : "=r"(old)
                   : "l"(where), "r"(n)
                   : "memory");
  return old;
}
// Returns what was there.
INLINE u64 swap_if64(__global u64 *where, u64 expected, u64 n) {
  u64 old;
  __asm__ volatile("atom.relaxed.gpu.global.cas.b64 %0, [%1], %2, %3;"
                   : "=l"(old)
                   : "l"(where), "l"(expected), "l"(n)
                   : "memory");
  return old;
}
INLINE void max64(__global u64 *where, u64 n) {
  __asm__ volatile("red.relaxed.gpu.global.max.u64 [%0], %1;" ::"l"(where), "l"(n) : "memory");
}
INLINE u32 max32(__global u32 *where, u32 n) {
  u32 old;
  __asm__ volatile("atom.relaxed.gpu.global.max.u32 %0, [%1], %2;"
                   : "=r"(old)
                   : "l"(where), "r"(n)
                   : "memory");
  return old;
}
INLINE u64 load64(__global u64 *where) {
  u64 v;
  __asm__ volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(where) : "memory");
  return v;
}
INLINE u64 load64_system(__global u64 *where) {
  u64 v;
  __asm__ volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(where) : "memory");
  return v;
}

typedef struct {
  u32 limit, head;
} reservation_t;
INLINE reservation_t load_limit_add_head(__global fade_control *control, u32 n) {
  u32 limit = (u32)load64(&control->limit);
  return (reservation_t){limit, (u32)add64(&control->head, n)};
}

// Thousands of waves that look at one line too often keep the rest of the memory from working.
INLINE void pause_lane(u32 rounds) {
  u32 nanoseconds = 200u << (rounds < 6 ? rounds : 6);
  __asm__ volatile("nanosleep.u32 %0;" ::"r"(nanoseconds) : "memory");
}

// The barrier orders the lanes' stores before the fence in publish64, which is cumulative.
INLINE void release(group_t group) { sync(group); }
INLINE void write_back(group_t group) { sync(group); }
INLINE bool stores_go_through(void) { return false; }
INLINE void put64(__global void *where, u64 v) { *(__global u64 *)where = v; }
INLINE void put32(__global void *where, u32 v) { *(__global u32 *)where = v; }
INLINE void publish64(__global void *where, u64 v) {
  __asm__ volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(where), "l"(v) : "memory");
}
INLINE void publish_add64(__global u64 *where, u64 n) {
  __asm__ volatile("red.release.sys.global.add.u64 [%0], %1;" ::"l"(where), "l"(n) : "memory");
}

// ---- address spaces

// Windows for shared and local memory lie anywhere; addresses in them are given an upper half that
// no other address has.
#define SHARED_BASE 0xfade0003u
#define PRIVATE_BASE 0xfade0005u

INLINE bool is_private(u64 address) {
  u32 result;
  __asm__("{ .reg .pred p; isspacep.local p, %1; selp.u32 %0, 1, 0, p; }"
          : "=r"(result)
          : "l"(address));
  return result != 0;
}
INLINE u64 flat_address(u64 address) {
  u32 shared;
  u64 offset;
  __asm__("{ .reg .pred p; isspacep.shared p, %1; selp.u32 %0, 1, 0, p; }"
          : "=r"(shared)
          : "l"(address));
  __asm__("cvta.to.shared.u64 %0, %1;" : "=l"(offset) : "l"(address));
  return shared ? (u64)SHARED_BASE << 32 | (u32)offset : address;
}
INLINE u32 shared_base(void) { return SHARED_BASE; }
INLINE u32 private_base(void) { return PRIVATE_BASE; }

INLINE u32 at_most_one(u32 v) { return v != 0; }

INLINE u32 at_most(u32 a, u32 b) { return a < b ? a : b; }

// ---- classes of accesses

// The class in a site's own slot.
typedef struct {
  u64 mask, key;
  u32 stride;
  u64 tile;
} own_class_t;
INLINE own_class_t load_own_class(__global char *table, u32 slot) {
  __global fade_class *c = (__global fade_class *)(table + slot);
  return (own_class_t){load64(&c->mask), load64(&c->key), (u32)load64(&c->line), 0};
}
// The same from a cache that may have an older state of it: words that are 0 there, and so not what
// anybody looks for.
INLINE own_class_t look_at_own_class(__global char *table, u32 slot) {
  u64 mask, key, line, tile;
  __asm__ volatile("ld.global.v2.u64 {%0, %1}, [%2];"
                   : "=l"(mask), "=l"(key)
                   : "l"(table + slot)
                   : "memory");
  __asm__ volatile("ld.global.v2.u64 {%0, %1}, [%2];"
                   : "=l"(line), "=l"(tile)
                   : "l"(table + slot + 16)
                   : "memory");
  return (own_class_t){mask, key, (u32)line, tile};
}
// A value and the lanes that made it: a function may find other lanes together than its caller.
INLINE u64 with_lanes(group_t group, u32 v) { return (u64)group.lanes << 32 | v; }
INLINE u64 lanes_found(group_t group, u64 v) {
  (void)group;
  return v >> 32;
}
INLINE void forget_scalars(void) {}

// That of another lane, for each.
INLINE u32 read_each(group_t group, u32 v, u32 lane) { return read_lane(group, v, lane); }
INLINE float reciprocal(u32 v) {
  float result;
  __asm__("rcp.approx.f32 %0, %1;" : "=f"(result) : "f"((float)v));
  return result;
}
// From a cache that may have an older state of it.
INLINE u32 look_at(__global u32 *where) {
  u32 v;
  __asm__ volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(where) : "memory");
  return v;
}
