#include "isa/dpp.h"

#include <cstring>

namespace fade::sim {
namespace {

// The lane that lane `i` reads under a DPP16 control; -1 where there is none.
int source_lane(unsigned ctrl, int i, int lanes) {
  const int row = i & ~15, in_row = i & 15, n = ctrl & 15;
  auto inside_row = [&](int k) { return k >= 0 && k < 16 ? row + k : -1; };
  if (ctrl < 0x100) return (i & ~3) + (ctrl >> 2 * (i & 3) & 3); // quad_perm
  switch (ctrl & 0x1f0) {
  case 0x100: return inside_row(in_row + n);        // row_shl
  case 0x110: return inside_row(in_row - n);        // row_shr
  case 0x120: return row + ((in_row - n) & 15);     // row_ror
  case 0x150: return row + n;                       // row_share, row_newbcast
  case 0x160: return row + (in_row ^ n);            // row_xmask
  default: break;
  }
  switch (ctrl) {
  case 0x130: return i + 1 < lanes ? i + 1 : -1;      // wave_shl
  case 0x134: return (i + 1) % lanes;                 // wave_rol
  case 0x138: return i - 1;                           // wave_shr
  case 0x13c: return (i + lanes - 1) % lanes;         // wave_ror
  case 0x140: return row + 15 - in_row;               // row_mirror
  case 0x141: return (i & ~7) + 7 - (i & 7);          // row_half_mirror
  case 0x142: return row - 1;                         // row_bcast15
  case 0x143: return i >= 32 ? 31 : -1;               // row_bcast31
  default: return -1;
  }
}

} // namespace

DppPlan dpp_plan(const Wave &w, const Instruction &in) {
  DppPlan p{};
  const uint64_t exec = w.exec();
  const bool dpp8 = in.select == LaneSelect::dpp8;
  for (unsigned i = 0; i < w.lanes; i++) {
    int from = dpp8 ? static_cast<int>((i & ~7u) + (in.dpp8 >> 3 * (i & 7) & 7))
                    : source_lane(in.dpp_ctrl, static_cast<int>(i), static_cast<int>(w.lanes));
    bool valid = from >= 0 && (in.fetch_inactive || exec >> from & 1);
    p.from[i] = static_cast<uint8_t>(valid ? from : static_cast<int>(i));
    p.zero[i] = !valid;
    bool write = dpp8 || ((in.row_mask >> (i / 16 & 3) & 1) && (in.bank_mask >> (i % 16 / 4) & 1));
    if (write && (valid || in.bound_ctrl || dpp8)) p.writable |= 1ull << i;
  }
  return p;
}

void dpp_permute(const DppPlan &plan, uint32_t *row, unsigned lanes) {
  uint32_t old[64];
  std::memcpy(old, row, 4 * lanes);
  for (unsigned i = 0; i < lanes; i++) row[i] = plan.zero[i] ? 0 : old[plan.from[i]];
}

} // namespace fade::sim
