// The kernels of the proof program: waves that call the runtime's entry points as pattern.h says,
// and the ones that measure limits. OpenCL C for nvptx64.
#include "pattern.h"

typedef unsigned int u32;
typedef unsigned long u64;
typedef __global fade_control *control_t;

u32 __fade_rt_wave_begin(control_t control, u64 module, u32 kernel_index, u32 x, u32 y, u32 z,
                         u32 work_item);
void __fade_rt_wave_end(control_t control, u32 wave, u32 kernel_index);
void __fade_rt_access(control_t control, u64 address, u32 site, u32 unused, u32 wave);
void __fade_rt_access_flat(control_t control, u64 address, u32 site, u32 unused, u32 wave);
void __fade_rt_range(control_t control, u32 wave, u32 site, u64 address, u64 length);
void __fade_rt_range_flat(control_t control, u32 wave, u32 site, u64 address, u64 length);
void __fade_rt_block(control_t control, u32 wave, u32 site);
u64 __fade_rt_counters(control_t control, u32 wave);
void __fade_rt_count(__global char *counters, u32 gate, u32 offset);

static u32 thread_x(void) { return (u32)__nvvm_read_ptx_sreg_tid_x(); }
static u32 group_x(void) { return (u32)__nvvm_read_ptx_sreg_ctaid_x(); }
static u32 lane_id(void) { return thread_x() & 31; }

// Lanes come together again only where they are told to.
static void join_lanes(void) { __nvvm_bar_warp_sync(0xffffffffu); }

static u32 begin(control_t control, __global const emit_plan *plan) {
  return __fade_rt_wave_begin(control, plan->module, plan->kernel_index, group_x(), 0, 0,
                              thread_x());
}

// Every kind of call, in an order that differs from wave to wave.
__kernel void emit(control_t control, __global emit_plan *plan) {
  __local u32 shared[32];
  volatile u32 own[2];
  const u32 lane = lane_id();
  const u32 number = group_x() * plan->waves_per_group + (thread_x() >> 5);
  const u64 shared_at = (u64)(__generic char *)(__local char *)&shared[lane];
  const u64 private_at = (u64)(__generic char *)(char *)&own[0];
  own[0] = lane;
  shared[lane] = lane;
  if (number == 0 && lane == 0) plan->shared_offset = (u32)(u64)(__local char *)shared;

  const u32 wave = begin(control, plan);
  const u64 counters = __fade_rt_counters(control, wave);
  const u32 seed = plan->seed, kinds = plan->kinds, shapes = plan->shapes, masks = plan->masks;
  for (u32 i = 0, n = plan->calls; i < n; ++i) {
    const emit_call c = emit_at(seed, kinds, shapes, masks, number, i);
    const u64 in_region = plan->region + emit_region_offset(c, lane);
    const u32 space = emit_space(c, lane);
    const u64 anywhere = space == 3 ? shared_at : space == 5 ? private_at : in_region;
    join_lanes();
    if (c.mask >> lane & 1) {
      switch (c.kind) {
      case EMIT_ACCESS: __fade_rt_access(control, emit_address(c, lane), i, 0, wave); break;
      case EMIT_FLAT: __fade_rt_access_flat(control, in_region, i, 0, wave); break;
      case EMIT_SPACES: __fade_rt_access_flat(control, anywhere, i, 0, wave); break;
      case EMIT_RANGE:
      case EMIT_LENGTHS:
        __fade_rt_range(control, wave, i, emit_address(c, lane), emit_length(c, lane));
        break;
      case EMIT_RANGE_FLAT:
        __fade_rt_range_flat(control, wave, i, anywhere, emit_length(c, lane));
        break;
      case EMIT_BLOCK: __fade_rt_block(control, wave, i); break;
      case EMIT_SPLIT:
        if (emit_way(c, lane))
          __fade_rt_access(control, emit_address(c, lane), i + n, 0, wave);
        else
          __fade_rt_access(control, emit_address(c, lane), i, 0, wave);
        break;
      case EMIT_SPLIT_BLOCK:
        if (emit_way(c, lane))
          __fade_rt_block(control, wave, i + n);
        else
          __fade_rt_block(control, wave, i);
        break;
      default:
        if (counters != 0)
          __fade_rt_count((__global char *)counters, 0,
                          i % EMIT_COUNTERS * (u32)sizeof(fade_counter));
      }
    }
    join_lanes();
  }
  __fade_rt_wave_end(control, wave, plan->kernel_index);
}

// One access after the other, with addresses that cost nothing to work out, for measurements. Its
// pattern is in plan->shapes, its lanes in plan->masks.
__kernel void emit_fast(control_t control, __global const emit_plan *plan) {
  const u32 lane = lane_id(), shape = plan->shapes, calls = plan->calls;
  u64 address = plan->region;
  if (shape == EMIT_AFFINE) address += 4 * lane;
  if (shape == EMIT_DELTA) address += 64 * (emit_mix(lane) & 0xffff);
  if (shape == EMIT_RAW) address += (u64)emit_mix(lane) << 12;
  const bool is_active = plan->masks >> lane & 1;
  const u32 wave = begin(control, plan);
  if (is_active)
    for (u32 i = 0; i < calls; ++i) {
      __fade_rt_access(control, address, i, 0, wave);
      address += 128;
    }
  join_lanes();
  __fade_rt_wave_end(control, wave, plan->kernel_index);
}

// The limit: 16 bytes per lane, side by side, nothing else.
__kernel void store16(__global uint4 *to, u64 count) {
  const u64 threads = (u64)__nvvm_read_ptx_sreg_ntid_x() * (u64)__nvvm_read_ptx_sreg_nctaid_x();
  const uint4 value = {1, 2, 3, 4};
  for (u64 i = (u64)group_x() * (u64)__nvvm_read_ptx_sreg_ntid_x() + thread_x(); i < count;
       i += threads)
    to[i] = value;
}

// The least that any protocol of this kind does for a record: one lane reserves, the wave writes
// side by side, a fence, the header. `ring` has a power of two of bytes; nobody reads it.
__kernel void bare_records(__global char *ring, u64 mask, __global u64 *head, u32 size, u32 count) {
  const u32 lane = lane_id();
  for (u32 i = 0; i < count; ++i) {
    u64 position = 0;
    if (lane == 0)
      __asm__ volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;"
                       : "=l"(position)
                       : "l"(head), "l"((u64)size)
                       : "memory");
    const u32 low = (u32)__nvvm_shfl_sync_idx_i32(0xffffffffu, (int)(u32)position, 0, 31);
    __global char *at = ring + (low & (u32)mask);
    for (u32 word = lane; word < size / 4; word += 32)
      if (word >= 2) ((__global u32 *)at)[word] = i + word;
    join_lanes();
    if (lane == 0)
      __asm__ volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(at), "l"((u64)i + 1) : "memory");
  }
}
