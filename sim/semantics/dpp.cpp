#include "semantics/dpp.h"

#include <cstring>

namespace fade::sim {
namespace {

// The lane that lane `i` reads under a DPP16 control; -1 where there is none. Broadcasts have no
// such bound: a lane to which nothing is handed reads itself, as rocWMMA's tests expect of cards.
int source_lane(unsigned ctrl, int i, int lanes) {
  const int row = i & ~15, in_row = i & 15, n = ctrl & 15;
  auto inside_row = [&](int k) { return k >= 0 && k < 16 ? row + k : -1; };
  if (ctrl < 0x100) return (i & ~3) + (ctrl >> 2 * (i & 3) & 3); // quad_perm
  switch (ctrl & 0x1f0) {
  case 0x100: return inside_row(in_row + n);    // row_shl
  case 0x110: return inside_row(in_row - n);    // row_shr
  case 0x120: return row + ((in_row - n) & 15); // row_ror
  case 0x150: return row + n;                   // row_share, row_newbcast
  case 0x160: return row + (in_row ^ n);        // row_xmask
  default: break;
  }
  switch (ctrl) {
  case 0x130: return i + 1 < lanes ? i + 1 : -1; // wave_shl
  case 0x134: return (i + 1) % lanes;            // wave_rol
  case 0x138: return i - 1;                      // wave_shr
  case 0x13c: return (i + lanes - 1) % lanes;    // wave_ror
  case 0x140: return row + 15 - in_row;          // row_mirror
  case 0x141: return (i & ~7) + 7 - (i & 7);     // row_half_mirror
  case 0x142: return row ? row - 1 : i;          // row_bcast15
  case 0x143: return i >= 32 ? 31 : i;           // row_bcast31
  default: return -1;
  }
}

// The answers for all controls, worked out once.
struct SourceLanes {
  int8_t from[2][512][64]; // for 32 and 64 lanes
  SourceLanes() {
    for (int wide = 0; wide < 2; wide++)
      for (int ctrl = 0; ctrl < 512; ctrl++)
        for (int i = 0; i < 32 << wide; i++)
          from[wide][ctrl][i] =
              static_cast<int8_t>(source_lane(static_cast<unsigned>(ctrl), i, 32 << wide));
  }
};
const int8_t *source_lanes(unsigned ctrl, unsigned lanes) {
  static const SourceLanes table;
  return table.from[lanes == 64][ctrl & 511];
}

// The lanes that row_mask and bank_mask leave to be written.
uint64_t masked_lanes(unsigned row_mask, unsigned bank_mask) {
  uint64_t rows = 0, banks = 0;
  for (unsigned n = 0; n < 4; n++) {
    if (row_mask >> n & 1) rows |= 0xffffull << 16 * n;
    if (bank_mask >> n & 1) banks |= 0x000f000f000f000full << 4 * n;
  }
  return rows & banks;
}

} // namespace

DppPlan dpp_plan(const Wave &w, const Instruction &in) {
  DppPlan p{};
  const uint64_t readable = in.fetch_inactive ? ~0ull : w.exec();
  const bool dpp8 = in.select == LaneSelect::dpp8;
  const int8_t *lanes = dpp8 ? nullptr : source_lanes(in.dpp_ctrl, w.lanes);
  uint64_t valid_lanes = 0;
  for (unsigned i = 0; i < w.lanes; i++) {
    const int from = dpp8 ? static_cast<int>((i & ~7u) + (in.dpp8 >> 3 * (i & 7) & 7)) : lanes[i];
    const bool valid = from >= 0 && readable >> (from & 63) & 1;
    p.from[i] = static_cast<uint8_t>(valid ? from : static_cast<int>(i));
    p.zero[i] = !valid;
    valid_lanes |= static_cast<uint64_t>(valid) << i;
  }
  if (dpp8)
    p.writable = w.lane_mask();
  else
    p.writable =
        masked_lanes(in.row_mask, in.bank_mask) & (in.bound_ctrl ? w.lane_mask() : valid_lanes);
  return p;
}

void dpp_permute(const DppPlan &plan, uint32_t *row, unsigned lanes) {
  uint32_t old[64];
  std::memcpy(old, row, 4 * lanes);
  for (unsigned i = 0; i < lanes; i++) row[i] = plan.zero[i] ? 0 : old[plan.from[i]];
}

} // namespace fade::sim
