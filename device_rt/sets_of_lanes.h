// Which lanes have the same value: how many cache lines or banks an access needs. Part of
// fade_rt.cl.
//
// By ballots, one for each bit, of bits in which lanes differ: that takes as long for many distinct
// values as for few. (match.any of NVIDIA GPUs takes its time for each distinct value, too.)

// In vector registers: each lane has its own. The upper half is used in wave64.
typedef struct {
  u32 low, high;
} set_t;
INLINE set_t set_of(u64 lanes) { return (set_t){(u32)lanes, (u32)(lanes >> 32)}; }
INLINE u32 size_of(set_t s) {
  u32 n = (u32)__builtin_popcount(s.low);
  return wave_size() == 64 ? n + (u32)__builtin_popcount(s.high) : n;
}

// Lanes that have another value than this one. `differs`: in which bits it differs from that of the
// first lane.
INLINE set_t other_values(group_t group, u32 differs) {
  set_t others = {0, 0};
  do {
    for (u32 i = 0; i < BITS_AT_ONCE; ++i) {
      u32 bits = (u32)((i32)(differs << (31 - i)) >> 31); // all of them are bit i
      u64 with = ballot(group, bits != 0);
      others.low |= (u32)with ^ bits;
      if (wave_size() == 64) others.high |= (u32)(with >> 32) ^ bits;
    }
    differs >>= BITS_AT_ONCE;
  } while (!is_empty(ballot(group, differs != 0)));
  return others;
}
INLINE set_t without(set_t lanes, set_t others) {
  return (set_t){lanes.low & ~others.low, lanes.high & ~others.high};
}
// Those of `lanes` that have the same value as this one.
INLINE set_t same_value(group_t group, u32 v, set_t lanes) {
  return without(lanes, other_values(group, v ^ first_lane(group, v)));
}
// Lanes that have none with the same value before them.
INLINE u64 firsts(group_t group, set_t same) {
  return ballot(group, rank_below(pair(same.low, same.high)) == 0);
}
INLINE u32 distinct(group_t group, u32 v) {
  set_t same = same_value(group, v, set_of(lanes_of(group)));
  return (u32)__builtin_popcountl(firsts(group, same));
}
// Whether at least three quarters of these lanes have the same value; those of the others do not
// matter.
INLINE bool is_frequent(group_t group, u32 v, u64 lanes) {
  u32 same = size_of(same_value(group, v, set_of(lanes)));
  return !is_empty(ballot(group, same * 4 >= (u32)__builtin_popcountl(lanes) * 3));
}

// Of dwords in LDS: how many distinct ones there are in the bank of this one, and how many lanes
// want one there, of those that are served together (32, with 64 banks all), and how many distinct
// ones the wave has.
typedef struct {
  u32 turns, lanes, values;
} turns_t;
INLINE turns_t turns_of(group_t group, u32 dword, u32 bank_shift) {
  set_t all = set_of(lanes_of(group)), together = all;
  if (wave_size() == 64 && bank_shift < 6) {
    if (lane_id() < 32)
      together.high = 0;
    else
      together.low = 0;
  }
  u32 differs = dword ^ first_lane(group, dword);
  set_t other_banks = other_values(group, differs & ((1u << bank_shift) - 1));
  set_t same = without(without(all, other_banks), other_values(group, differs >> bank_shift));
  set_t bank = without(together, other_banks);
  set_t same_here = {same.low & together.low, same.high & together.high};
  u64 values = firsts(group, same_here);
  set_t turns = {bank.low & (u32)values, bank.high & (u32)(values >> 32)};
  u32 distinct_ones = (u32)__builtin_popcountl(firsts(group, same));
  return (turns_t){size_of(turns), size_of(bank), distinct_ones};
}

// The largest value of these lanes, less one; 0 if there is none.
INLINE u32 most_beyond_one(group_t group, u32 v, u64 lanes) {
  u32 most = 0;
  while (!is_empty(ballot(group, v > most + 1) & lanes)) ++most;
  return most;
}
// The same of lanes that are served together; the sum, where the halves of a wave are not.
INLINE u32 most_turns(group_t group, u32 v, u32 bank_shift) {
  u64 together = bank_shift < 6 ? 0xffffffff : ~0ul;
  u32 most = most_beyond_one(group, v, together);
  return wave_size() == 64 ? most + most_beyond_one(group, v, ~together) : most;
}
