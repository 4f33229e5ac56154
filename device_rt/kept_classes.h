// In loops a wave keeps, in registers, what it has found at a site, and adds to memory when it
// finds something else, or ends. Part of fade_rt.cl, behind summary.h.
//
// What a lane keeps of a site: the lanes that it was there with (none: nothing is kept), where it
// accessed memory then, the place of the class, and how often the same class has come since. Lanes
// may go different ways, so each has its own view. It is the same for all lanes that were there
// together until one comes again without the others; the first of them adds up.
//
// The class is the same if the same lanes have all moved by the same distance, and it is one that
// does not matter (key; of some, fewer bits: __fade_rt_summary_shorter_key()). That holds for tiles
// as well as for lines.
//
// Of some accesses to global memory a second class is kept, of the same lanes, equally far apart:
// who moves on by half a cache line meets two in turn. Of its address only the bits of the key
// count (`other_low`); a place of 0: there is none.
typedef struct {
  __private u32 *low, *high, *lanes_low, *lanes_high, *place, *count;
  __private u32 *other_low, *other_place, *other_count;
  __private u32 *followers;
} kept_t;

// Adds what a lane has kept: `lanes` as there. `counter`: 0 for LDS.
ENTRY void __fade_rt_summary_add(table_t table, u32 place, u32 counter, u32 count, u64 lanes) {
  if (count != 0 && lane_id() == first_bit(lanes)) {
    count64(&((class_t)(table + (place & FADE_SLOT_MASK)))->count, count);
    if (counter != 0) count32((__global u32 *)(table + counter), count);
  }
}

INLINE void add_kept(group_t group, table_t table, u32 counter, u32 place, u32 count, kept_t kept) {
  if (is_empty(ballot(group, count != 0))) return;
  u64 lanes = (u64)*kept.lanes_high << 32 | *kept.lanes_low;
  __fade_rt_summary_add(table, place, counter, count, lanes);
  leave(group);
}

// In a place that is kept: what follows has been asked. The bits below it are the answer.
#define IS_SHORTER_KNOWN 32u

// Where in a cache line an access begins does not matter if each line serves lanes with one and the
// same address, and no lane needs two: then only the bits of the address below the lanes' size do.
// Returns by how many bits that shortens the key. Asked of lines and tiles of the whole group.
ENTRY u32 __fade_rt_summary_shorter_key(u64 address, u32 slot, i32 key) {
  u32 size = slot & FADE_SLOT_SIZE, in_size = size - 1;
  // The key of atomics is the whole address.
  if (key <= 0 || is_so(size == 0 || (size & in_size) != 0)) return 0;
  group_t group = enter(slot);
  lanes_t w = lanes_at(group, address);
  bool is_far = (u64)(w.delta + (1 << 30)) >> 31 != 0;
  bool is_odd = is_far || ((u32)address & in_size) != 0;
  // Along the lanes addresses go up or down, by a line or more.
  i32 distance = distance_of(group, neighbor_of(w));
  u64 up = ballot(group, is_odd || (distance != 0 && distance <= key));
  u64 down = ballot(group, is_odd || (distance != 0 && distance >= -key));
  u32 bits = is_empty(up) || is_empty(down) ? (u32)__builtin_popcount((u32)key & ~in_size) : 0;
  leave(group);
  return bits;
}

// Other accesses may follow one that is kept: by the same lanes, each always as far from where that
// one was. When it comes again with the same class, so do they, and nothing is done for them; their
// classes are counted with its own. The pass puts that in the place of this call, where what was
// kept is given up.
void __fade_rt_summary_given_up(u32 count, u64 lanes);

INLINE void keep(group_t group, table_t table, u64 address, u32 slot, u32 counter, i32 key,
                 bool in_lds, bool two, bool leads, kept_t kept) {
  u64 lanes = lanes_of(group);
  // Of all 64 bits, although only distances that fit into 32 are taken for the same: the lanes of a
  // wave may be gigabytes apart, and some of them not move as the others.
  u64 moved = address - (in_lds ? *kept.low : (u64)*kept.high << 32 | *kept.low);
  u32 first = first_lane(group, (u32)moved);
  u32 other = ((u32)moved ^ first) | ((u32)lanes ^ *kept.lanes_low);
  if (wave_size() == 64) other |= (u32)(lanes >> 32) ^ *kept.lanes_high;
  if (!in_lds) other |= (u32)(moved >> 32) ^ (u32)((i32)first >> 31);
  // In advance: without an `else` there are no values to be brought together behind it.
  u32 count = (*kept.count)++, matters = (u32)key;
  if (SHORTENS_KEYS && !in_lds) matters >>= *kept.place & 31;
  if (LIKELY(is_empty(ballot(group, (other | ((u32)moved & matters)) != 0)))) return;
  bool has_other_shape = !is_empty(ballot(group, other != 0));
  if (leads) {
    if (!is_empty(ballot(group, count != 0)))
      __fade_rt_summary_given_up(count, (u64)*kept.lanes_high << 32 | *kept.lanes_low);
    *kept.followers = 0;
  }
  if (!two) {
    add_kept(group, table, in_lds ? 0 : counter, *kept.place, count, kept);
  } else {
    u32 other_place = *kept.other_place, other_count = *kept.other_count;
    if (!has_other_shape) { // the two change places
      u32 is_third = (((u32)address ^ *kept.other_low) & (u32)key) |
                     (at_most_one(other_place) ^ 1) | (first == 0x80000000 ? 1 : 0);
      *kept.other_low = *kept.low;
      *kept.other_place = *kept.place;
      *kept.other_count = count;
      if (is_empty(ballot(group, is_third != 0))) {
        *kept.low = (u32)address;
        *kept.high = (u32)(address >> 32);
        *kept.place = other_place;
        *kept.count = other_count + 1;
        return;
      }
    } else {
      add_kept(group, table, counter, *kept.place, count, kept);
      *kept.other_place = 0;
      *kept.other_count = 0;
    }
    add_kept(group, table, counter, other_place, other_count, kept);
  }
  u32 said = counter;
  if (*kept.place == WAS_IRREGULAR) said |= MAY_BE_IRREGULAR;
  u64 found = in_lds ? __fade_rt_summary_lds(table, address, slot, said)
                     : __fade_rt_summary(table, address, slot, said, key);
  u32 place = uniform((u32)found);
  u64 lanes_now = place > WAS_IRREGULAR ? lanes_found(group, found) : 0;
  // Below FADE_SLOT_MASK. Asked when the same lanes have moved together, once.
  if (SHORTENS_KEYS && !in_lds && !has_other_shape && place > WAS_IRREGULAR) {
    u32 known = uniform(*kept.place) & IS_SHORTER_KNOWN;
    place |= known;
    if (known == 0)
      place |= IS_SHORTER_KNOWN | uniform(__fade_rt_summary_shorter_key(address, slot, key));
  }
  if (two && !is_empty(lanes_now ^ lanes)) { // the other one was kept for these lanes
    add_kept(group, table, counter, *kept.other_place, *kept.other_count, kept);
    *kept.other_place = 0;
    *kept.other_count = 0;
  }
  lanes = lanes_now;
  // Copies that the compiler does not know as such: else it copies the address in each round.
  u32 low = (u32)address, high = (u32)(address >> 32);
  HIDE_DIVERGENT(low);
  HIDE_DIVERGENT(high);
  *kept.low = low;
  if (!in_lds) *kept.high = high;
  *kept.lanes_low = (u32)lanes;
  if (wave_size() == 64) *kept.lanes_high = (u32)(lanes >> 32);
  *kept.place = place;
  *kept.count = 0;
}

ENTRY void __fade_rt_summary_keep(table_t table, u64 address, u32 slot, u32 counter, i32 key,
                                  __private u32 *low, __private u32 *high, __private u32 *lanes_low,
                                  __private u32 *lanes_high, __private u32 *place,
                                  __private u32 *count) {
  kept_t kept = {low, high, lanes_low, lanes_high, place, count, 0, 0, 0, 0};
  keep(enter_here(), table, address, slot, counter, key, false, false, false, kept);
}
ENTRY void __fade_rt_summary_keep_two(table_t table, u64 address, u32 slot, u32 counter, i32 key,
                                      __private u32 *low, __private u32 *high,
                                      __private u32 *lanes_low, __private u32 *lanes_high,
                                      __private u32 *place, __private u32 *count,
                                      __private u32 *other_low, __private u32 *other_place,
                                      __private u32 *other_count) {
  kept_t kept = {low,   high,      lanes_low,   lanes_high,  place,
                 count, other_low, other_place, other_count, 0};
  keep(enter_here(), table, address, slot, counter, key, false, true, false, kept);
}
ENTRY void __fade_rt_summary_lds_keep(table_t table, u64 address, u32 slot, u32 counter,
                                      __private u32 *low, __private u32 *lanes_low,
                                      __private u32 *lanes_high, __private u32 *place,
                                      __private u32 *count) {
  kept_t kept = {low, 0, lanes_low, lanes_high, place, count, 0, 0, 0, 0};
  keep(enter_here(), table, address, slot, counter, LDS_KEY, true, false, false, kept);
}
// The same for one that others follow.
ENTRY void __fade_rt_summary_lead(table_t table, u64 address, u32 slot, u32 counter, i32 key,
                                  __private u32 *low, __private u32 *high, __private u32 *lanes_low,
                                  __private u32 *lanes_high, __private u32 *place,
                                  __private u32 *count, __private u32 *followers) {
  kept_t kept = {low, high, lanes_low, lanes_high, place, count, 0, 0, 0, followers};
  keep(enter_here(), table, address, slot, counter, key, false, false, true, kept);
}
ENTRY void __fade_rt_summary_lds_lead(table_t table, u64 address, u32 slot, u32 counter,
                                      __private u32 *low, __private u32 *lanes_low,
                                      __private u32 *lanes_high, __private u32 *place,
                                      __private u32 *count, __private u32 *followers) {
  kept_t kept = {low, 0, lanes_low, lanes_high, place, count, 0, 0, 0, followers};
  keep(enter_here(), table, address, slot, counter, LDS_KEY, true, false, true, kept);
}
// And for one that follows. Its class is known if it is in the slot of its site, then it has its
// bit in `followers`. All lanes that are here have the same, as they have of the one that leads.
ENTRY void __fade_rt_summary_follow(table_t table, u64 address, u32 slot, u32 counter, i32 key,
                                    __private u32 *followers, u32 bit) {
  if (LIKELY((*followers & bit) != 0)) return;
  u32 place = uniform((u32)__fade_rt_summary(table, address, slot, counter, key));
  if (place == (slot & FADE_SLOT_MASK)) *followers |= bit;
}
ENTRY void __fade_rt_summary_lds_follow(table_t table, u64 address, u32 slot, u32 counter,
                                        __private u32 *followers, u32 bit) {
  if (LIKELY((*followers & bit) != 0)) return;
  u32 place = uniform((u32)__fade_rt_summary_lds(table, address, slot, counter));
  if (place == (slot & FADE_SLOT_MASK)) *followers |= bit;
}
// Where the wave ends.
ENTRY void __fade_rt_summary_end(table_t table, u32 counter, __private u32 *lanes_low,
                                 __private u32 *lanes_high, __private u32 *place,
                                 __private u32 *count) {
  kept_t kept = {0, 0, lanes_low, lanes_high, place, count, 0, 0, 0, 0};
  add_kept(enter_here(), table, counter, *place, *count, kept);
}
