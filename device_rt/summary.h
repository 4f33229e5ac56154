// Accesses that are added up where they happen (SUMMARIES in fade/message.h). Part of fade_rt.cl.
//
// The twin passes the table of its part of the GPU in place of the control block, and for the wave
// the offset of its counter from there; for a site the offset of its slot. So the common case, an
// access whose class is in the site's own slot, is one load, a comparison and two additions.
//
// What a wave keeps in loops: kept_classes.h.

typedef __global char *table_t;
typedef CONFIG_SPACE const fade_summary *summary_t;
typedef __global fade_class *class_t;

INLINE table_t uniform_table(table_t t) {
  return (table_t)((u64)uniform((u32)((u64)t >> 32)) << 32 | uniform((u32)(u64)t));
}
INLINE summary_t summary_of(table_t table) { return (summary_t)(u64)table; }
INLINE u32 site_at(u32 slot) {
  return (slot - (u32)sizeof(fade_summary)) / (u32)sizeof(fade_class);
}
INLINE u32 wave_at(table_t table, u32 counter) {
  return (u32)((u64)table + counter - summary_of(table)->waves) / 4;
}

// ---- records of what cannot be added up

// Says where the wave is in the grid. By one lane.
INLINE void announce(table_t table, u32 wave, u64 mask) {
  summary_t summary = summary_of(table);
  control_t control = (control_t)summary->control;
  u32 group = wave / summary->waves_per_group;
  u32 x = group % summary->groups[0], row = group / summary->groups[0];
  u32 y = row % summary->groups[1], z = row / summary->groups[1];
  u32 width = at_most(summary->workgroup[0], summary->grid[0] - x * summary->workgroup[0]);
  u32 height = at_most(summary->workgroup[1], summary->grid[1] - y * summary->workgroup[1]);
  u32 item = wave % summary->waves_per_group * wave_size();
  u32 item_x = item % width, item_row = item / width;
  u32 work_item = item_x | item_row % height << 10 | item_row / height << 20;
  // Neither stays in scalar registers. Without: 8 bytes of stack in __fade_rt_summary_range on gfx9
  // (LLVM 19, -O1).
  u64 clock = read_clock();
  HIDE_DIVERGENT(clock);
  u64 time = read_time();
  HIDE_DIVERGENT(time);
  write_wave_begin(control, summary->module, summary->kernel_index, x, y, z, work_item, wave, mask,
                   clock, time);
}

// Of a wave that is announced late it is not known which lanes exist: all, as if its workgroup were
// whole.
INLINE u64 all_lanes(void) { return 0xffffffff | (u64)(0u - (wave_size() >> 6)) << 32; }

// Counts an access of the wave if it is one to global memory, and announces the wave if it has not
// been: `lanes` are those that it has. Called by the group.
INLINE void count_and_announce(group_t group, table_t table, u32 counter, u32 accesses, u64 lanes) {
  if (is_leader(group)) {
    __global u32 *count = (__global u32 *)(table + counter);
    if (accesses != 0) count32(count, accesses);
    if (is_so((or32(count, FADE_WAVE_IS_ANNOUNCED) & FADE_WAVE_IS_ANNOUNCED) == 0)) {
      announce(table, wave_at(table, counter), lanes);
    }
  }
}

INLINE void record_unsummed(group_t group, table_t table, u64 address, u32 slot, u32 counter,
                            u32 accesses, bool flat) {
  // In a vector register where scalar ones are fewer still. Without: 8 bytes of stack in
  // __fade_rt_summary_flat in wave64 (LLVM 19).
  control_t control = (control_t)summary_of(table)->control;
  if (!flat) control = uniform_control(control);
  if (is_filtered(group, control, uniform(site_at(slot)))) return;
  count_and_announce(group, table, counter, accesses, all_lanes());
  write_access(group, control, wave_at(table, counter), site_at(slot), address, FADE_RECORD_ACCESS,
               0, true);
}

// The most frequent kind of record, as record_access() writes it: no filter is in use, and
// addresses are on a line from the first active lane and its neighbour on. False if it is another
// one. With record_shape(): 8 bytes of stack in wave64 (LLVM 19).
INLINE bool record_line(group_t group, control_t control, u64 address, u32 slot, u32 wave) {
  u64 base = first_lane64(group, address);
  u32 lane = lane_id(), writer = first_lane(group, lane);
  i32 stride = stride_to_neighbor(group, address, base, writer, from_first(group, writer));
  i64 to_first = (i64)stride * (i32)(writer - lane);
  u64 uncommon = config_of(control)->flags | ballot(group, address + (u64)to_first != base);
  if (!is_empty(uncommon)) return false;
  shared_t shared = {lanes_of(group), LANES_WRITE_TOGETHER ? base : address, wave, stride};
  write_record(group, control, shared, line_header(site_at(slot), stride), false);
  return true;
}

// ---- the search for a class. By one lane.

// Whether the word has this value now. `is_new`: it got it here.
INLINE bool set_once(__global u64 *word, u64 value, bool *is_new) {
  u64 old = load64(word);
  if (is_so(old == 0)) old = swap_if64(word, 0, value);
  *is_new = old == 0;
  return is_so(old == 0 || old == value);
}

INLINE u32 hash_of(u64 mask, u64 key, u64 line, u64 tile) {
  u64 h = (mask ^ tile) * 0x9e3779b97f4a7c15ul;
  h = (h ^ h >> 32 ^ key) * 0xc2b2ae3d27d4eb4ful;
  h = (h ^ h >> 29 ^ line) * 0x9e3779b97f4a7c15ul;
  return (u32)(h >> 32);
}

// Null if there is no room. `at_home`: it may be in the slot of its site.
INLINE class_t find_class(table_t table, u32 slot, u64 mask, u64 key, u64 line, u64 tile,
                          bool at_home, bool *is_new) {
  summary_t summary = summary_of(table);
  class_t more = (class_t)(table + sizeof(fade_summary)) + summary->site_count;
  u32 hash = hash_of(mask, key, line, tile);
  u32 i = at_home ? 0 : 1;
  class_t at = i == 0 ? (class_t)(table + (slot & FADE_SLOT_MASK))
                      : more + ((hash + 1) & summary->slot_mask);
  do {
    bool any;
    if (set_once(&at->line, line, &any) && set_once(&at->key, key, &any) &&
        (is_so(tile == 0) || set_once(&at->tile, tile, &any)) && set_once(&at->mask, mask, is_new))
      return at;
    ++i;
    at = more + ((hash + i) & summary->slot_mask);
  } while (is_so(i < FADE_CLASS_PROBES));
  return 0;
}

INLINE void describe_first(table_t table, class_t found, u64 base, u32 wave) {
  __global fade_summary *summary = (__global fade_summary *)table;
  control_t control = (control_t)summary->control;
  summary->shared_base = shared_base();
  summary->private_base = private_base();
  summary->wave_size = wave_size();
  found->base = base;
  found->wave = wave;
  found->first = load64(&control->head);
  found->sequence = add32(&control->classes, 1) + 1;
}

// Whether an end of an allocation is in the page, or may be.
INLINE u32 is_parted(table_t table, u64 page) {
  u32 bit = FADE_PARTED_BIT(page);
  return ((__global u32 *)summary_of(table)->parted)[bit / 32] >> bit % 32 & 1;
}

// The bits of an access's first address that matter, if pages do: all ones in `in_page` if all
// lanes are in one page that is not parted, else the whole address counts. Arithmetic, for want of
// scalar registers to compare in.
INLINE u64 key_in_page(group_t group, table_t table, u64 address, u32 page_mask, u64 key,
                       u32 *in_page) {
  u64 page = address & ~(u64)page_mask;
  u32 is_beyond = to_vector(ballot(group, page != first_lane64(group, page)) != 0 ? 1 : 0);
  *in_page = (is_beyond | is_parted(table, page)) - 1;
  // In halves: LLVM 19 takes the upper half of key | ~(u64)(page_mask & *in_page) for that of key.
  return pair((u32)key | ~(page_mask & *in_page), ~0u);
}

// Instead of the place of a class in its table: the access has been counted, but where the next one
// belongs cannot be known from it. 0: it has not been counted.
#define NOT_TO_BE_KEPT 1u
// The same, because it has none. Where that is of use, a wave says so the next time, in a bit of
// the place of its counter: then no class is looked for.
#define WAS_IRREGULAR 2u
#define MAY_BE_IRREGULAR 1u

// Finds the class of an access, counts it there and returns its place.
INLINE u32 classify(group_t group, table_t table, u64 address, u32 slot, u32 counter, u64 key,
                    u32 accesses) {
  // Of atomics and in LDS pages do not matter: the whole address does, or nothing of it.
  u32 page_mask = 0, in_page = 0;
  if (accesses != 0) page_mask = summary_of(table)->page_mask & (0 - at_most_one(~(u32)key));
  if (is_so(page_mask != 0)) key = key_in_page(group, table, address, page_mask, key, &in_page);
  lanes_t w = lanes_at(group, address);
  plan_t plan = choose_encoding(w);
  u32 place = 0;
  if (is_leader(group) && is_so(plan.encoding <= FADE_ENCODING_TILED)) {
    bool is_tiled = plan.encoding == FADE_ENCODING_TILED;
    u64 line = (u64)(site_at(slot) + 1 | (is_tiled ? FADE_CLASS_TILED : 0) |
                     (in_page & FADE_CLASS_IN_PAGE))
                   << 32 |
               ((u32)plan.stride ^ FADE_CLASS_STRIDE);
    u64 tile = is_tiled ? (u64)plan.tile.width << 32 | (u32)plan.tile.row_stride : 0;
    class_t found = 0;
    bool is_new = false;
    if (is_so((u32)line != 0))
      // The own slot of a site is for classes whose key is the one that callers give.
      found =
          find_class(table, slot, w.mask, ~(address & key) & ~(is_tiled ? FADE_CLASS_LINE_KEY : 0),
                     line, tile, (HAS_OWN_TILES || !is_tiled) && page_mask == 0, &is_new);
    if (is_so(found != 0)) {
      if (is_so(is_new)) describe_first(table, found, address, wave_at(table, counter));
      count64(&found->count, 1);
      if (accesses != 0) count32((__global u32 *)(table + counter), 1);
      place = page_mask == 0 ? (u32)((u64)found - (u64)table) : NOT_TO_BE_KEPT;
    }
  }
  return to_vector(first_lane(group, place));
}

// ---- what has no class

// How far a lane is from its neighbour, the active one before it: 0 for the first lane.
typedef struct {
  u32 previous, gap; // the neighbour, and how many lanes it is away
  i32 moved;
} neighbor_t;
INLINE neighbor_t neighbor_of(lanes_t w) {
  u64 below = (w.mask & ((1ul << w.lane) - 1)) | 1ul << w.first;
  u32 previous = 63 - (u32)__builtin_clzl(below);
  i32 moved = (i32)w.delta - (i32)read_each(w.group, (u32)w.delta, previous);
  return (neighbor_t){previous, w.lane - previous, moved};
}
// The same as analyzers see it: if others between them are not active, the distance is that of one
// lane to the next.
INLINE i32 distance_of(group_t group, neighbor_t n) {
  if (is_empty(ballot(group, n.gap > 1))) return n.moved;
  return n.moved / (i32)(n.gap | (at_most_one(n.gap) ^ 1));
}
// Whether no distance can be that of three quarters of these lanes, found without divisions: then
// at least so many would have that of their neighbour. `lanes`: all but the first.
INLINE bool is_uneven(group_t group, neighbor_t n, u64 lanes) {
  float distance = (float)n.moved * reciprocal(n.gap + (at_most_one(n.gap) ^ 1));
  float before = as_float(read_each(group, as_uint(distance), n.previous));
  // Rounded, and not yet to whole numbers, of which 0 is that of all between -1 and 1.
  float apart = __builtin_fabsf(distance - before);
  bool may_be_same = apart <= __builtin_fabsf(distance) * 0x1p-18f + 2.001f;
  u32 all = (u32)__builtin_popcountl(lanes);
  u32 same = (u32)__builtin_popcountl(ballot(group, may_be_same) & lanes);
  return same + 1 + all / 4 * 2 < all;
}

// How many cache lines the lanes need. Where each lane is behind the one before it, or each in
// front of it, lines are new where they are not those of the neighbour.
INLINE u32 lines_of(group_t group, u64 address, u32 shift, i32 moved) {
  u32 line = (u32)(address >> shift), before = (u32)((address - (u64)(i64)moved) >> shift);
  if (!is_empty(ballot(group, moved > 0)) && !is_empty(ballot(group, moved < 0)))
    return distinct(group, line);
  return (u32)__builtin_popcountl(ballot(group, line != before)) + 1;
}

// Byte i of `bytes` is added to counter i, each by another lane.
INLINE void add_sums(group_t group, __global fade_sums *sums, u64 bytes) {
  u32 lanes = (u32)__builtin_popcountl(lanes_of(group)), i = rank_below(lanes_of(group));
  do {
    u32 n = (u32)(bytes >> (i * 8 & 63)) & 255;
    if (i < 6 && n != 0) count64((__global u64 *)sums + i, n);
    i += lanes;
  } while (!is_empty(ballot(group, i < 6)));
}

// Where the sums of a site and stride are, from the table on: 0 if there is no room. By one lane.
INLINE u32 sums_with_stride(table_t table, u32 first, u32 slot, u32 stride) {
  u64 line = (u64)(site_at(slot) + 1) << 32 | (stride ^ FADE_CLASS_STRIDE);
  u32 hash = hash_of(0, line, 0, 0), i = 0;
  do {
    u32 at = first + ((hash + i) & summary_of(table)->slot_mask) * (u32)sizeof(fade_sums);
    bool any;
    if (set_once(&((__global fade_sums *)(table + at))->line, line, &any)) return at;
    ++i;
  } while (is_so(i < FADE_CLASS_PROBES));
  return 0;
}

// Works out what an access costs, as analyzers would from its record
// (coalescing_and_bank_conflicts.h and memory_stats.cpp of handlers), and adds that up:
// WAS_IRREGULAR, or NOT_TO_BE_KEPT if it has a stride. 0 if it cannot be said here, WORST if it is
// the worst so far, which is recorded.
#define WORST 3u
INLINE u32 sum_irregular(group_t group, table_t table, u64 address, u32 slot, u32 counter,
                         bool in_lds) {
  // All in vector registers where that is possible: scalar ones are few (see add_up()).
  u32 how = summary_of(table)->irregular, size = slot & FADE_SLOT_SIZE;
  u32 is_atomic = slot & FADE_SLOT_ATOMIC;
  // Of atomics in global memory, all addresses are wanted.
  if (is_so(how == 0 || size == 0 || (is_atomic != 0 && !in_lds))) return 0;
  lanes_t w = lanes_at(group, address);
  u32 unit = in_lds ? 2 : how & 255, in_unit = (u32)address & ((1u << unit) - 1);
  bool is_far = in_lds ? address >> 18 != 0 : (u64)(w.delta + (1 << 30)) >> 31 != 0;
  bool is_odd = is_far || in_unit + size > 1u << unit;
  if (!is_empty(ballot(group, is_odd))) return 0;
  summary_t summary = summary_of(table);
  u32 sums_at = (u32)sizeof(fade_summary) +
                (summary->site_count + summary->slot_mask + 1) * (u32)sizeof(fade_class);
  u32 of_site = sums_at + site_at(slot) * (u32)sizeof(fade_sums), to = of_site;
  // Where most of the distances are the same, but not all, a record tells what the stride is.
  neighbor_t neighbor = neighbor_of(w);
  u64 pairs = w.mask & (w.mask - 1);
  if (!is_uneven(group, neighbor, pairs)) {
    u32 distance = (u32)distance_of(group, neighbor);
    u32 stride = to_vector(read_lane(group, distance, 63 - (u32)__builtin_clzl(w.mask)));
    if (is_empty(ballot(group, distance != stride) & pairs)) {
      u32 by_stride = sums_at + summary->site_count * (u32)sizeof(fade_sums);
      if (is_leader(group)) to = sums_with_stride(table, by_stride, slot, stride);
      to = to_vector(first_lane(group, to));
      if (is_so(to == 0)) return 0;
    } else if (is_frequent(group, distance, pairs)) {
      return 0;
    }
  }
  u32 lanes = to_vector((u32)__builtin_popcountl(w.mask)), badness;
  u64 sums = 1 | lanes << 8;
  if (in_lds) {
    u32 bank_shift = uniform(how >> 8);
    turns_t turns = turns_of(group, (u32)address >> unit, bank_shift);
    badness = to_vector(most_turns(group, turns.turns, bank_shift));
    if (is_so(is_atomic != 0)) {
      u32 values = turns.values;
      if (is_so(size != 4)) values = distinct(group, (u32)address);
      u32 one_by_one = most_turns(group, turns.lanes, bank_shift);
      sums |= (u64)(lanes - to_vector(values)) << 40 | (u64)(to_vector(one_by_one) - badness) << 16;
    }
  } else {
    u32 needed = (lanes * size + (1u << unit) - 1) >> unit;
    u32 used = to_vector(lines_of(group, address, unit, neighbor.moved));
    badness = used > needed ? used - needed : 0;
    sums |= (u64)needed << 16 | (u64)used << 24;
  }
  sums |= (u64)badness << 32;
  __global u32 *worst_of_site = &((__global fade_sums *)(table + of_site))->worst;
  u32 worst = look_at(worst_of_site);
  if (is_so(worst <= badness)) {
    if (is_leader(group)) worst = max32(worst_of_site, badness + 1);
    if (is_so(first_lane(group, worst) <= badness)) return WORST;
  }
  add_sums(group, (__global fade_sums *)(table + to), sums);
  if (!in_lds && is_leader(group)) count32((__global u32 *)(table + counter), 1);
  return is_so(to == of_site) ? WAS_IRREGULAR : NOT_TO_BE_KEPT;
}

// ---- what twins call

// Lanes with another upper half of the address than the first one: they may lead elsewhere.
INLINE u64 lanes_apart(group_t group, u64 address) {
  u32 upper = (u32)(address >> 32);
  return ballot(group, upper != first_lane(group, upper));
}

// Whether the class of an access is the one in the slot of its site. `lane`: this one, `first`: of
// the group.
INLINE bool is_own_class(group_t group, own_class_t own, u64 address, u64 key, u32 lane, u32 first,
                         bool flat) {
  u64 base = first_lane64(group, address);
  i32 stride = (i32)(own.stride ^ FADE_CLASS_STRIDE);
  u64 other = ballot(group, address != base + (u64)((i64)stride * (i32)(lane - first)));
  if (flat) other |= lanes_apart(group, address);
  return LIKELY(((own.mask ^ lanes_of(group)) | (own.key ^ ~(base & key)) | other) == 0);
}
// The same, also for tiles: of lines the width is 0, and so is the distance of rows. Without a
// branch, which would take 8 bytes of stack on gfx9 (LLVM 19).
INLINE bool is_own_line_or_tile(group_t group, own_class_t own, u64 address, u64 key, u32 lane,
                                u32 first, bool flat) {
  u64 base = first_lane64(group, address);
  u32 r = lane - first, width = (u32)(own.tile >> 32);
  i32 row = (i32)(r >> first_bit(width | 0x80000000u)), column = (i32)(r & (width - 1));
  i32 stride = (i32)(own.stride ^ FADE_CLASS_STRIDE);
  u64 place = base + (u64)((i64)stride * column + (i64)(i32)own.tile * row);
  u64 other = ballot(group, address != place);
  if (flat) other |= lanes_apart(group, address);
  u64 key_here = ~(base & key);
  return LIKELY(
      ((own.mask ^ lanes_of(group)) | ((own.key | FADE_CLASS_LINE_KEY) ^ key_here) | other) == 0);
}
// By the first lane. `slot`: without what else it says.
INLINE void count_own(table_t table, u32 slot, u32 counter, u32 accesses) {
  count64(&((class_t)(table + slot))->count, 1);
  if (accesses != 0) count32((__global u32 *)(table + counter), 1);
}

// Of a flat address the upper half says where it leads.
INLINE u64 extended_key(i32 bits, bool flat) {
  return flat ? (u32)bits | 0xffffffff00000000ul : (u64)(i64)bits;
}
// Any access. `key_bits`: the bits of the first address that matter; accesses: 1 to global memory,
// 0 to LDS. Returns what classify() does.
INLINE u32 add_up(group_t group, table_t table, u64 address, u32 slot, u32 counter, i32 key_bits,
                  u32 accesses, bool flat) {
  u32 may_be_irregular = first_lane(group, counter) & MAY_BE_IRREGULAR;
  if (may_be_irregular == 0) {
    own_class_t own = load_own_class(table, uniform(slot) & FADE_SLOT_MASK);
    u32 lane = lane_id(), first = first_lane(group, lane);
    u64 key = extended_key((i32)uniform((u32)key_bits), flat);
    // Where everything is recorded there is none.
    if (LIKELY(own.mask != 0) &&
        (HAS_OWN_TILES ? is_own_line_or_tile(group, own, address, key, lane, first, flat)
                       : is_own_class(group, own, address, key, lane, first, flat))) {
      if (lane == first) count_own(table, slot & FADE_SLOT_MASK, counter, accesses);
      return slot & FADE_SLOT_MASK;
    }
  }
  // control, waves and flags in one load, which the compiler would part
  uint8 head = *(CONFIG_SPACE const uint8 *)summary_of(table);
  HIDE_UNIFORM(head);
  control_t control = (control_t)pair(head.s0, head.s1);
  if (control == 0) return NOT_TO_BE_KEPT;
  u32 records_only = head.s7 & FADE_SUMMARY_STREAM, place = 0;
  // The wave has been announced then.
  u32 wave = ((u32)(u64)table + counter - head.s2) / 4;
  if (records_only == 0 || !record_line(group, control, address, slot, wave)) {
    // Scalar registers are few from here on. Without each of these three: 8 bytes of stack on gfx9
    // (LLVM 19).
    table += divergent_zero();
    HIDE_DIVERGENT(counter);
    bool was_irregular = is_so((counter & MAY_BE_IRREGULAR) != 0);
    counter &= ~MAY_BE_IRREGULAR;
    HIDE_DIVERGENT(key_bits);
    u64 key = extended_key(key_bits, flat);
    if (is_so((summary_of(table)->flags & FADE_SUMMARY_STREAM) == 0)) {
      if (!was_irregular && (!flat || is_empty(lanes_apart(group, address)))) {
        forget_scalars(); // a slot that another wave has filled is seen the next time
        place = classify(group, table, address, slot, counter, key, accesses);
      }
      if (!flat && is_so(place == 0)) {
        place = sum_irregular(group, table, address, slot, counter, accesses == 0);
        // Its class found no room, and would find none the next time.
        if (!was_irregular && place == NOT_TO_BE_KEPT) place = WAS_IRREGULAR;
      }
    }
    if (is_so(place == 0 || place == WORST)) {
      record_unsummed(group, table, address, slot, counter, accesses, flat);
      place = is_so(place == WORST) ? WAS_IRREGULAR : NOT_TO_BE_KEPT;
    }
  }
  return place;
}

// These return the place of the class that was found, and which lanes they took for a group.
ENTRY u64 __fade_rt_summary(table_t table, u64 address, u32 slot, u32 counter, i32 key) {
  group_t group = enter(slot);
  u32 place = add_up(group, uniform_table(table), address, slot, counter, key, 1, false);
  leave(group);
  return with_lanes(group, place);
}

// Lanes that all move on by whole dwords meet in the same numbers, in other banks.
#define LDS_KEY 3
ENTRY u64 __fade_rt_summary_lds(table_t table, u64 address, u32 slot, u32 counter) {
  group_t group = enter(slot);
  u32 place = add_up(group, uniform_table(table), address, slot, counter, LDS_KEY, 0, false);
  leave(group);
  return with_lanes(group, place);
}

// The upper half of a flat address tells where it leads to. If that is not the same for all lanes
// it is recorded; lanes that point to their own scratch are no business of ours.
ENTRY void __fade_rt_summary_flat(table_t table, u64 address, u32 slot, u32 counter, i32 key) {
  group_t all = enter(slot);
  bool leaves = is_private(address);
  group_t group = part_of(all, leaves);
  if (!leaves)
    add_up(group, uniform_table(table), flat_address(address), slot, counter, key, 1, true);
  leave(all);
}

// ---- what twins contain: these are inlined, and their table is known to be uniform

// Calls only for what is not in the slot of its site. The count is in the `if`: behind the calls it
// saves an instruction on gfx90a, and costs a sparse product a tenth of its time on an H200.
INLINE void add_up_here(table_t table, u64 address, u32 slot, u32 counter, i32 key, bool in_lds) {
  group_t group = enter_here();
  own_class_t own = look_at_own_class(table, slot & FADE_SLOT_MASK);
  u32 lane = lane_id(), first = first_lane(group, lane);
  if (is_own_class(group, own, address, (u64)(i64)key, lane, first, false)) {
    // As vectors, so that addresses are not known to be the same in all lanes (divergent_zero()).
    if (lane == first)
      count_own(table, to_vector(slot & FADE_SLOT_MASK), to_vector(counter), in_lds ? 0 : 1);
  } else if (in_lds) {
    __fade_rt_summary_lds(table, address, slot, counter);
  } else {
    __fade_rt_summary(table, address, slot, counter, key);
  }
}

ENTRY void __fade_rt_summary_here(table_t table, u64 address, u32 slot, u32 counter, i32 key) {
  add_up_here(table, address, slot, counter, key, false);
}
ENTRY void __fade_rt_summary_lds_here(table_t table, u64 address, u32 slot, u32 counter) {
  add_up_here(table, address, slot, counter, LDS_KEY, true);
}

// Accesses with a length: one record for each length, and each counts.
INLINE void record_unsummed_ranges(table_t table, u64 address, u64 length, u32 slot, u32 counter) {
  if (summary_of(table)->control == 0) return;
  group_t group = enter(slot);
  u32 done = 0;
  table += divergent_zero(); // as in add_up()
  do {
    bool same = length == first_lane64(group, length);
    group = part_of(group, same);
    if (same) {
      if (length != 0) {
        count_and_announce(group, table, counter, 1, all_lanes());
        control_t control = (control_t)summary_of(table)->control;
        write_access(group, control, wave_at(table, counter), site_at(slot), address,
                     FADE_RECORD_RANGE, length, true);
      }
      done = 1;
    }
    HIDE_DIVERGENT(done); // as in record_ranges()
    HIDE_DIVERGENT(table);
  } while (done == 0);
}

ENTRY void __fade_rt_summary_range(table_t table, u64 address, u32 slot, u32 counter, u64 length) {
  record_unsummed_ranges(uniform_table(table), address, length, slot, counter);
}
ENTRY void __fade_rt_summary_range_flat(table_t table, u64 address, u32 slot, u32 counter,
                                        u64 length) {
  record_unsummed_ranges(uniform_table(table), flat_address(address),
                         is_private(address) ? 0 : length, slot, counter);
}

// What the kernel's author records.
ENTRY void __fade_rt_summary_user(table_t table, u64 value, u32 slot, u32 counter) {
  table = uniform_table(table);
  if (summary_of(table)->control == 0) return;
  group_t group = enter(slot);
  count_and_announce(group, table, counter, 0, all_lanes());
  write_access(group, (control_t)summary_of(table)->control, wave_at(table, counter), site_at(slot),
               value, FADE_RECORD_USER, 0, true);
  leave(group);
}

// Blocks are recorded if everything is. Called only then, and by waves that nobody wants to see.
ENTRY void __fade_rt_summary_block(table_t table, u32 slot, u32 counter) {
  table = uniform_table(table);
  if ((summary_of(table)->flags & FADE_SUMMARY_STREAM) == 0) return;
  write_block(enter(slot), (control_t)summary_of(table)->control, wave_at(table, counter),
              site_at(slot));
}

// Called once by each wave, with the work-item of each lane. Two numbers are the address of its
// table, the third is the offset of its counter, the last the bits of an address that matter: none
// where everything is recorded, which is how waves know that blocks are, too.
ENTRY uint4 __fade_rt_summary_begin(control_t control, u32 x, u32 y, u32 z, u32 work_item) {
  control = uniform_control(control);
  x = uniform(x), y = uniform(y), z = uniform(z);
  group_t group = enter(x);
  u32 item = first_lane(group, work_item);
  config_t config = config_of(control);
  u32 mask = config->copy_mask & ~FADE_COPY_FILTERED, number = place() & mask;
  if (config->sample_workgroups != 0 && !is_in_range(config, x, y, z)) number = mask + 1;
  u64 copies = config->copies, table = copies + (u64)number * config->copy_size;
  summary_t summary = summary_of((table_t)copies);
  u32 width = at_most(summary->workgroup[0], summary->grid[0] - x * summary->workgroup[0]);
  u32 height = at_most(summary->workgroup[1], summary->grid[1] - y * summary->workgroup[1]);
  u32 flat = (item & 1023) + width * ((item >> 10 & 1023) + height * (item >> 20));
  u32 group_number = x + summary->groups[0] * (y + summary->groups[1] * z);
  u32 wave = group_number * summary->waves_per_group + flat / wave_size();
  u32 counter = (u32)(summary->waves - table) + wave * 4;
  u32 key = summary->key, records = summary->flags & FADE_SUMMARY_STREAM; // both in any case
  if (records) key = 0;
  return (uint4)((u32)table, (u32)(table >> 32), counter, key);
}

// Called behind it by a wave that records everything: it is announced at once. Not a part of it: 8
// bytes of stack on gfx9 (LLVM 19).
ENTRY void __fade_rt_summary_announce(table_t table, u32 counter) {
  table = uniform_table(table);
  if ((summary_of(table)->flags & FADE_SUMMARY_STREAM) == 0) return;
  group_t group = enter(counter);
  u64 lanes = lanes_of(group);
  lanes = (u64)to_vector((u32)(lanes >> 32)) << 32 | to_vector((u32)lanes);
  count_and_announce(group, table + divergent_zero(), counter, 0, lanes);
  leave(group);
}
