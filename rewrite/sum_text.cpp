#include "rewrite/sum_text.h"

#include <utility>

namespace fade::rewrite {
namespace {

constexpr uint32_t bit(unsigned n) { return 1u << n; }
constexpr bool has(uint32_t how, unsigned what) { return (how & bit(what)) != 0; }

constexpr unsigned kLdsKey = 3; ///< lanes that all move on by whole dwords meet in the same numbers
constexpr unsigned kItemBits = 10; ///< of each dimension of a packed work-item

std::string tuple(unsigned first, unsigned count) {
  return fmt::format("s[{}:{}]", first, first + count - 1);
}

} // namespace

// The beginning of a wave.

void SumText::beginSums() {
  const unsigned item = s_.stride, t = s_.t, own = s_.own, wave = s_.position, height = s_.header;
  std::array<std::string, 3> id;
  keep(item, kWorkItem);
  for (unsigned i = 0; i < 3; ++i) {
    id[i] = s(start_.workgroup[i]);
    if (dialect_.major() < 12) keep(start_.workgroup[i], kWorkgroup + i);
  }
  put({dialect_.loadScalars(2, scalarPair(s_.control), scalarPair(launch_.kernargRegister()),
                            controlOffset(kernel_))});
  wait(&Dialect::waitForScalars);
  static_assert(offsetof(fade_control, copy_mask) == offsetof(fade_control, copies) + 12);
  put({dialect_.loadScalars(4, tuple(own, 4), scalarPair(s_.control),
                            offsetof(fade_control, copies)),
       fmt::format("s_getreg_b32 s{}, {}", t,
                   dialect_.major() == 9 ? "hwreg(HW_REG_HW_ID, 8, 8)"
                                         : "hwreg(HW_REG_HW_ID1, 10, 10)")});
  wait(&Dialect::waitForScalars);
  put({fmt::format("s_bitset0_b32 s{}, 31", own + 3),
       fmt::format("s_and_b32 s{0}, s{0}, s{1}", t, own + 3),
       fmt::format("s_mul_i32 s{0}, s{0}, s{1}", t, own + 2),
       fmt::format("s_add_u32 s{}, s{}, s{}", s_.table, own, t),
       fmt::format("s_addc_u32 s{}, s{}, 0", s_.table + 1, own + 1)});
  constexpr std::size_t grid = offsetof(fade_summary, grid);
  static_assert(offsetof(fade_summary, workgroup) == grid + 12 &&
                offsetof(fade_summary, groups) == grid + 24 &&
                offsetof(fade_summary, waves_per_group) == grid + 32 &&
                offsetof(fade_summary, key) == grid + 36);
  put({dialect_.loadScalars(8, tuple(own, 8), scalarPair(s_.table), grid),
       dialect_.loadScalars(2, scalarPair(s_.base), scalarPair(s_.table), grid + 32),
       dialect_.loadScalars(2, scalarPair(s_.lanes), scalarPair(s_.table),
                            offsetof(fade_summary, waves))});
  wait(&Dialect::waitForScalars);
  if (dialect_.major() >= 12) {
    put({fmt::format("s_and_b32 s{}, ttmp7, 0xffff", s_.site),
         fmt::format("s_lshr_b32 s{}, ttmp7, 16", s_.site + 1)});
    id = {"ttmp9", s(s_.site), s(s_.site + 1)};
  }
  // How wide and high the workgroup is, which may be less at the end of the grid.
  for (const auto &[to, i] : {std::pair(t, 0u), std::pair(height, 1u)})
    put({fmt::format("s_mul_i32 s{}, {}, s{}", to, id[i], own + 3 + i),
         fmt::format("s_sub_u32 s{0}, s{1}, s{0}", to, own + i),
         fmt::format("s_min_u32 s{0}, s{0}, s{1}", to, own + 3 + i)});
  const unsigned y = s_.size;
  put({fmt::format("s_lshr_b32 s{}, s{}, {}", wave, item, 2 * kItemBits),
       fmt::format("s_mul_i32 s{0}, s{0}, s{1}", wave, height),
       fmt::format("s_bfe_u32 s{}, s{}, {:#x}", y, item, kItemBits << 16 | kItemBits),
       fmt::format("s_add_u32 s{0}, s{0}, s{1}", wave, y),
       fmt::format("s_mul_i32 s{0}, s{0}, s{1}", wave, t),
       fmt::format("s_and_b32 s{}, s{}, {:#x}", y, item, (1u << kItemBits) - 1),
       fmt::format("s_add_u32 s{0}, s{0}, s{1}", wave, y),
       fmt::format("s_lshr_b32 s{0}, s{0}, {1}", wave, dialect_.isWave32() ? 5 : 6),
       // The number of the workgroup.
       fmt::format("s_mul_i32 s{}, {}, s{}", t, id[2], own + 7),
       fmt::format("s_add_u32 s{0}, s{0}, {1}", t, id[1]),
       fmt::format("s_mul_i32 s{0}, s{0}, s{1}", t, own + 6),
       fmt::format("s_add_u32 s{0}, s{0}, {1}", t, id[0]),
       fmt::format("s_mul_i32 s{0}, s{0}, s{1}", t, s_.base),
       fmt::format("s_add_u32 s{0}, s{0}, s{1}", wave, t)});
  keep(wave, kWave);
  put({fmt::format("s_lshl_b32 s{0}, s{0}, 2", wave),
       fmt::format("s_sub_u32 s{}, s{}, s{}", s_.counter, s_.lanes, s_.table),
       fmt::format("s_add_u32 s{0}, s{0}, s{1}", s_.counter, wave),
       fmt::format("s_mov_b32 s{}, s{}", s_.key, s_.base + 1)});
  if (keeps_arguments_)
    put({fmt::format("s_mov_b32 s{}, s{}", s_.arguments, launch_.kernargRegister())});
  if (!keeps_table_) {
    keep(s_.table, kTable);
    keep(s_.table + 1, kTable + 1);
  }
  if (!keeps_counter_) keep(s_.counter, kCounter);
  if (!keeps_key_) keep(s_.key, kKey);
}

void SumText::bringBackTable() {
  if (keeps_table_) return;
  bringBack(s_.table, kTable);
  bringBack(s_.table + 1, kTable + 1);
  settle();
}

// An access whose class is that of its site.

void SumText::bringBackHomes(uint32_t how) {
  bool any = false;
  const auto bring = [&](bool is_kept, unsigned to, unsigned lane) {
    if (is_kept) return;
    bringBack(to, lane);
    any = true;
  };
  bring(keeps_table_, s_.table, kTable);
  bring(keeps_table_, s_.table + 1, kTable + 1);
  bring(keeps_counter_, s_.counter, kCounter);
  if (!has(how, kIsLds)) bring(keeps_key_, s_.key, kKey);
  if (has(how, kMayBeArgument)) bring(keeps_arguments_, s_.arguments, kArguments);
  if (any) settle();
}

/// SCC: it is another class. Changes s_.t and s_.lanes.
void SumText::compareWithOwn(uint32_t how) {
  const unsigned t = s_.t, own = s_.own;
  const bool is_wave32 = dialect_.isWave32();
  readBase();
  put({fmt::format("v_mbcnt_lo_u32_b32 {}, -1, 0", v(kOffset))});
  if (!is_wave32) put({fmt::format("v_mbcnt_hi_u32_b32 {0}, -1, {0}", v(kOffset))});
  if (dialect_.hasXcc()) put({"s_nop 0"}); // before a lane of it is read
  put({fmt::format("v_readfirstlane_b32 s{}, {}", t, v(kOffset))});
  settleScalars();
  put({fmt::format("{0} {1}, s{2}, {1}", dialect_.subtractFrom(), v(kOffset), t)});
  wait(&Dialect::waitForScalars);
  put({fmt::format("s_xor_b32 s{}, s{}, {:#x}", s_.stride, own + 4, FADE_CLASS_STRIDE)});
  if (dialect_.major() >= 11) settle();
  // gfx9: one scalar operand in each instruction.
  const bool is_gfx9 = dialect_.major() == 9;
  if (is_gfx9) moveTo(kData, s(s_.stride));
  put({fmt::format("{} {}, {}, {}, {}, {}", dialect_.multiplyAdd(), vectorPair(v_ + kExpected),
                   dialect_.lanes(t), v(kOffset), is_gfx9 ? v(kData) : s(s_.stride),
                   scalarPair(s_.base)),
       fmt::format("v_cmp_ne_u64_e64 {}, {}, {}", dialect_.lanes(t), vectorPair(v_ + kExpected),
                   vectorPair(v_ + kAddress)),
       fmt::format("{} {}, {}, {}", dialect_.ofLanes("s_xor"), dialect_.lanes(s_.lanes),
                   dialect_.exec(), dialect_.lanes(own))});
  settleScalars();
  put({fmt::format("{0} {1}, {1}, {2}", dialect_.ofLanes("s_or"), dialect_.lanes(t),
                   dialect_.lanes(s_.lanes))});
  // The bits of the address that matter. A class of this site that is not for the whole address
  // has the same upper half as all others.
  const bool is_wide = !has(how, kIsLds) && (has(how, kIsAtomic) || has(how, kMayBePrivate));
  if (is_wide) {
    std::string from = scalarPair(s_.base);
    if (!has(how, kIsAtomic)) {
      put({fmt::format("s_and_b32 s{}, s{}, s{}", s_.lanes, s_.base, s_.key),
           fmt::format("s_mov_b32 s{}, s{}", s_.lanes + 1, s_.base + 1)});
      from = scalarPair(s_.lanes);
    }
    put({fmt::format("s_xnor_b64 {}, {}, {}", scalarPair(s_.lanes), from, scalarPair(own + 2)),
         fmt::format("s_or_b32 s{0}, s{0}, s{1}", s_.lanes, s_.lanes + 1)});
  } else {
    put({fmt::format("s_and_b32 s{}, s{}, {}", s_.lanes, s_.base,
                     has(how, kIsLds) ? std::to_string(kLdsKey) : s(s_.key)),
         fmt::format("s_xnor_b32 s{0}, s{0}, s{1}", s_.lanes, own + 2)});
  }
  if (!is_wave32) put({fmt::format("s_or_b32 s{0}, s{0}, s{1}", t, t + 1)});
  put({fmt::format("s_or_b32 s{0}, s{0}, s{1}", t, s_.lanes)});
}

void SumText::countAccess() {
  moveTo(kOffset, s(s_.counter));
  put({dialect_.addTo32(v_ + kOffset, v_ + kData, s_.table)});
}

/// By one lane.
void SumText::countAt(const std::string &place, bool is_lds) {
  moveTo(kOffset, place);
  moveTo(kData, "1");
  moveTo(kData + 1, "0");
  put({dialect_.addTo(v_ + kOffset, v_ + kData, s_.table, offsetof(fade_class, count))});
  if (!is_lds) countAccess();
}

void SumText::writeSums(CopiedCode::Label routine, uint32_t how) {
  const CopiedCode::Label nobody = copy_.label(), out = copy_.label(), is_other = copy_.label();
  const bool is_filtered = has(how, kMayBePrivate) || has(how, kMayBeOutside);
  const auto keepExec = [&] {
    put({fmt::format("{} {}, {}", dialect_.ofLanes("s_mov"), dialect_.lanes(s_.exec),
                     dialect_.exec())});
  };
  copy_.place(routine);
  copy_.jump("s_cbranch_execz", nobody);
  save(s_.saved_by_calls, savedCount());
  put({fmt::format("s_cselect_b32 s{}, 1, 0", s_.scc)});
  bringBackHomes(how);
  if (is_filtered) keepExec();
  if (has(how, kMayBePrivate)) leaveOutScratch(out);
  if (has(how, kMayBeOutside)) leaveOutBuffers(out);
  put({dialect_.loadScalarsAt(8, tuple(s_.own, 8), scalarPair(s_.table), s_.site)});
  compareWithOwn(how);
  copy_.jump("s_cbranch_scc1", is_other);
  if (has(how, kMayBeArgument)) {
    // Perhaps; the lower half tells only this.
    const auto leaveIfNear = [&](unsigned from, uint32_t bytes) {
      put({fmt::format("s_sub_u32 s{}, s{}, s{}", s_.t, s_.base, from),
           fmt::format("s_cmp_lt_u32 s{}, {:#x}", s_.t, bytes)});
      copy_.jump("s_cbranch_scc1", is_other);
    };
    leaveIfNear(s_.arguments, argumentBytes());
    if (kernel_.descriptor.user_sgprs.dispatch_ptr) {
      bringBack(s_.t, kPacket);
      settleScalars();
      leaveIfNear(s_.t, kPacketBytes);
    }
  }
  execTo("1");
  countAt(s(s_.site), has(how, kIsLds));
  execTo(dialect_.lanes(is_filtered ? s_.exec : s_.own)); // the lanes of the class
  const CopiedCode::Label done = copy_.label();
  copy_.place(done);
  put({fmt::format("s_cmp_lg_u32 s{}, 0", s_.scc)});
  restore(s_.saved_by_calls, savedCount());
  copy_.place(nobody);
  put({fmt::format("s_setpc_b64 {}", scalarPair(s_.back))});
  if (is_filtered) {
    copy_.place(out);
    wait(&Dialect::waitForScalars);
    execTo(dialect_.lanes(s_.exec));
    copy_.jump("s_branch", done);
  }
  copy_.place(is_other);
  if (!is_filtered) keepExec();
  put({fmt::format("s_movk_i32 s{}, {}", s_.site + 1, how)});
  copy_.jump("s_branch", search_);
}

// The search for a class.

/// Between the first lane and the next, in s_.stride. s_.t is the first lane.
void SumText::chooseStride(CopiedCode::Label is_other) {
  const unsigned t = s_.t, gap = place(), inverse = hash(), shift = probe();
  const std::string first_bit =
      dialect_.ofLanes(dialect_.major() >= 11 ? "s_ctz_i32" : "s_ff1_i32");
  const CopiedCode::Label is_chosen = copy_.label(), is_next = copy_.label();
  // Without the first lane.
  put({fmt::format("s_mov_b32 s{}, 0", s_.stride),
       fmt::format("s_sub_u32 s{}, s{}, 1", t, s_.lanes),
       fmt::format("s_subb_u32 s{}, s{}, 0", t + 1, s_.lanes + 1),
       fmt::format("s_and_b64 {0}, {0}, {1}", scalarPair(t), scalarPair(s_.lanes))});
  copy_.jump("s_cbranch_scc0", is_chosen); // it was the only one
  put({fmt::format("{} s{}, {}", first_bit, gap, dialect_.lanes(t))});
  settle();
  put({fmt::format("v_readlane_b32 s{}, {}, s{}", s_.stride, v(kAddress), gap)});
  settle();
  put({fmt::format("{} s{}, {}", first_bit, t, dialect_.lanes(s_.lanes)),
       fmt::format("s_sub_u32 s{0}, s{0}, s{1}", s_.stride, s_.base),
       fmt::format("s_sub_u32 s{0}, s{0}, s{1}", gap, t), fmt::format("s_cmp_eq_u32 s{}, 1", gap)});
  copy_.jump("s_cbranch_scc1", is_next);
  // By how many lanes they are apart: exactly, as the product with the inverse of the odd part. If
  // there is none, no line is found.
  put({fmt::format("{} s{}, s{}", dialect_.major() >= 11 ? "s_ctz_i32_b32" : "s_ff1_i32_b32", shift,
                   gap),
       fmt::format("s_ashr_i32 s{0}, s{0}, s{1}", s_.stride, shift),
       fmt::format("s_lshr_b32 s{0}, s{0}, s{1}", gap, shift),
       fmt::format("s_mov_b32 s{}, s{}", inverse, gap)});
  for (unsigned rounds = 0; rounds < 4; ++rounds) // of Newton; three bits are right before
    put({fmt::format("s_mul_i32 s{}, s{}, s{}", shift, gap, inverse),
         fmt::format("s_sub_u32 s{0}, 2, s{0}", shift),
         fmt::format("s_mul_i32 s{0}, s{0}, s{1}", inverse, shift)});
  put({fmt::format("s_mul_i32 s{0}, s{0}, s{1}", s_.stride, inverse)});
  copy_.place(is_next);
  put({fmt::format("s_cmp_eq_u32 s{}, {:#x}", s_.stride, FADE_CLASS_STRIDE)});
  copy_.jump("s_cbranch_scc1", is_other);
  copy_.place(is_chosen);
}

void SumText::checkLine(CopiedCode::Label is_other) {
  const unsigned t = s_.t;
  put({fmt::format("v_mbcnt_lo_u32_b32 {}, -1, 0", v(kOffset))});
  if (!dialect_.isWave32()) put({fmt::format("v_mbcnt_hi_u32_b32 {0}, -1, {0}", v(kOffset))});
  if (dialect_.hasXcc()) put({"s_nop 0"});
  put({fmt::format("v_readfirstlane_b32 s{}, {}", t, v(kOffset))});
  settle();
  put({fmt::format("{0} {1}, s{2}, {1}", dialect_.subtractFrom(), v(kOffset), t)});
  moveTo(kData, s(s_.base));
  moveTo(kData + 1, s(s_.base + 1));
  put({fmt::format("{} {}, {}, {}, s{}, {}", dialect_.multiplyAdd(), vectorPair(v_ + kExpected),
                   dialect_.lanes(t), v(kOffset), s_.stride, vectorPair(v_ + kData)),
       fmt::format("v_cmp_ne_u64_e64 {}, {}, {}", dialect_.lanes(t), vectorPair(v_ + kExpected),
                   vectorPair(v_ + kAddress))});
  settle();
  put({dialect_.isWave32() ? fmt::format("s_cmp_lg_u32 s{}, 0", t)
                           : fmt::format("s_cmp_lg_u64 {}, 0", scalarPair(t))});
  copy_.jump("s_cbranch_scc1", is_other);
}

/// An access whose lanes are all in one page has a class in that page, unless an end of an
/// allocation may be there; else its whole address counts. Of the line, the upper half is set.
void SumText::tellPagesApart() {
  const unsigned t = s_.t, product = hash();
  const CopiedCode::Label is_beyond = copy_.label(), done = copy_.label();
  put({fmt::format("s_not_b32 s{0}, s{0}", pageMask()),
       fmt::format("s_and_b32 s{}, s{}, s{}", product, s_.base, pageMask())});
  settleScalars();
  put({fmt::format("v_and_b32_e32 {}, s{}, {}", v(kExpected), pageMask(), v(kAddress)),
       fmt::format("v_cmp_ne_u32_e64 {}, s{}, {}", dialect_.lanes(t), product, v(kExpected))});
  settle();
  const CopiedCode::Label is_same_low = copy_.label();
  put({dialect_.isWave32() ? fmt::format("s_cmp_eq_u32 s{}, 0", t)
                           : fmt::format("s_cmp_eq_u64 {}, 0", scalarPair(t))});
  copy_.jump("s_cbranch_scc1", is_same_low);
  copy_.jump("s_branch", is_beyond);
  copy_.place(is_same_low);
  put({fmt::format("v_cmp_ne_u32_e64 {}, s{}, {}", dialect_.lanes(t), s_.base + 1,
                   v(kAddress + 1))});
  settle();
  put({dialect_.isWave32() ? fmt::format("s_cmp_lg_u32 s{}, 0", t)
                           : fmt::format("s_cmp_lg_u64 {}, 0", scalarPair(t))});
  copy_.jump("s_cbranch_scc1", is_beyond);
  // Whether an end of an allocation is in the page (FADE_PARTED_BIT), whose address is (product,
  // base + 1): bits 63 to 48 of the product with a constant.
  constexpr uint64_t factor = 0x9e3779b97f4a7c15;
  const auto low = static_cast<uint32_t>(factor), high = static_cast<uint32_t>(factor >> 32);
  const unsigned other = probe();
  static_assert(FADE_PARTED_BIT(uint64_t{4096} << 20) == 4096 * (factor << 20) >> 48);
  put({fmt::format("s_mul_hi_u32 s{}, s{}, {:#x}", t, product, low),
       fmt::format("s_mul_i32 s{}, s{}, {:#x}", other, product, high),
       fmt::format("s_add_u32 s{0}, s{0}, s{1}", t, other),
       fmt::format("s_mul_i32 s{}, s{}, {:#x}", other, s_.base + 1, low),
       fmt::format("s_add_u32 s{0}, s{0}, s{1}", t, other),
       fmt::format("s_lshr_b32 s{}, s{}, 16", product, t),
       dialect_.loadScalars(2, scalarPair(t), scalarPair(s_.table), offsetof(fade_summary, parted)),
       fmt::format("s_lshr_b32 s{}, s{}, 5", other, product),
       fmt::format("s_lshl_b32 s{0}, s{0}, 2", other)});
  wait(&Dialect::waitForScalars);
  put({dialect_.loadScalarsAt(1, s(other), scalarPair(t), other)});
  wait(&Dialect::waitForScalars);
  put({fmt::format("s_bitcmp1_b32 s{}, s{}", other, product)});
  copy_.jump("s_cbranch_scc1", is_beyond);
  put({fmt::format("s_or_b32 s{0}, s{0}, s{1}", key(), pageMask()),
       fmt::format("s_mov_b32 s{}, -1", key() + 1),
       fmt::format("s_bitset1_b32 s{}, 30", line() + 1)});
  static_assert(FADE_CLASS_IN_PAGE == bit(30));
  copy_.jump("s_branch", done);
  copy_.place(is_beyond);
  put({fmt::format("s_mov_b64 {}, -1", scalarPair(key()))});
  copy_.place(done);
  put({fmt::format("s_mov_b32 s{}, 1", probe())}); // there is no slot of the site
}

/// What describes the class, and where to look first.
void SumText::chooseKey() {
  const unsigned how = s_.site + 1;
  const CopiedCode::Label is_whole = copy_.label(), is_lds = copy_.label(),
                          is_chosen = copy_.label(), has_pages = copy_.label();
  put({fmt::format("s_xor_b32 s{}, s{}, {:#x}", line(), s_.stride, FADE_CLASS_STRIDE),
       fmt::format("s_sub_u32 s{}, s{}, {}", line() + 1, s_.site, sizeof(fade_summary)),
       fmt::format("s_lshr_b32 s{0}, s{0}, 6", line() + 1),
       fmt::format("s_add_u32 s{0}, s{0}, 1", line() + 1), fmt::format("s_mov_b32 s{}, 0", probe()),
       fmt::format("s_bitcmp1_b32 s{}, {}", how, kIsLds)});
  static_assert(sizeof(fade_class) == 64);
  copy_.jump("s_cbranch_scc1", is_lds);
  put({fmt::format("s_bitcmp1_b32 s{}, {}", how, kIsAtomic)});
  copy_.jump("s_cbranch_scc1", is_whole);
  // The upper half of a flat address tells where it leads to.
  put({fmt::format("s_mov_b32 s{}, s{}", key(), s_.key),
       fmt::format("s_bitcmp1_b32 s{}, {}", how, kMayBePrivate),
       fmt::format("s_cselect_b32 s{}, -1, 0", key() + 1),
       fmt::format("s_cmp_eq_u32 s{}, 0", pageMask())});
  copy_.jump("s_cbranch_scc1", is_chosen);
  copy_.jump("s_branch", has_pages);
  copy_.place(is_lds);
  put({fmt::format("s_mov_b64 {}, {}", scalarPair(key()), kLdsKey)});
  copy_.jump("s_branch", is_chosen);
  copy_.place(is_whole);
  put({fmt::format("s_mov_b64 {}, -1", scalarPair(key()))});
  copy_.jump("s_branch", is_chosen);
  copy_.place(has_pages);
  tellPagesApart();
  copy_.place(is_chosen);
  put({fmt::format("s_nand_b64 {0}, {0}, {1}", scalarPair(key()), scalarPair(s_.base))});
}

/// Of all that describes the class. Nobody else looks for it.
void SumText::hashClass() {
  constexpr std::array<uint32_t, 2> factors = {0x9e3779b1, 0xc2b2ae35};
  put({fmt::format("s_mul_i32 s{}, s{}, {:#x}", hash(), s_.lanes, factors[0])});
  unsigned n = 0;
  for (const unsigned word : {s_.lanes + 1, key(), key() + 1, line(), line() + 1})
    put({fmt::format("s_lshr_b32 s{}, s{}, 15", s_.t, hash()),
         fmt::format("s_xor_b32 s{0}, s{0}, s{1}", hash(), s_.t),
         fmt::format("s_xor_b32 s{0}, s{0}, s{1}", hash(), word),
         fmt::format("s_mul_i32 s{0}, s{0}, {1:#x}", hash(), factors[++n % 2])});
  put({fmt::format("s_lshr_b32 s{}, s{}, 15", s_.t, hash()),
       fmt::format("s_xor_b32 s{0}, s{0}, s{1}", hash(), s_.t)});
}

/// Sets a word of the slot if nobody has. Goes to `next` if somebody has set another; s_.t is 0 if
/// it was set here.
void SumText::setOnce(unsigned value, unsigned offset, CopiedCode::Label next) {
  const CopiedCode::Label is_set = copy_.label();
  moveTo(kData, s(value));
  moveTo(kData + 1, s(value + 1));
  put({dialect_.swapIfReturning(v_ + kData, v_ + kOffset, v_ + kData, s_.table, offset)});
  wait(&Dialect::waitForVectors);
  put({fmt::format("v_readfirstlane_b32 s{}, {}", s_.t, v(kData)),
       fmt::format("v_readfirstlane_b32 s{}, {}", s_.t + 1, v(kData + 1))});
  settle();
  put({fmt::format("s_cmp_eq_u64 {}, {}", scalarPair(s_.t), scalarPair(value))});
  copy_.jump("s_cbranch_scc1", is_set);
  put({fmt::format("s_cmp_lg_u64 {}, 0", scalarPair(s_.t))});
  copy_.jump("s_cbranch_scc1", next);
  copy_.place(is_set);
}

void SumText::lookAtSlots(CopiedCode::Label found, CopiedCode::Label no_room) {
  const CopiedCode::Label again = copy_.label(), next = copy_.label(), may_be_new = copy_.label(),
                          is_home = copy_.label(), look = copy_.label();
  const auto isWord = [&](unsigned vector, unsigned value) {
    put({fmt::format("v_readfirstlane_b32 s{}, {}", s_.t, v(vector)),
         fmt::format("v_readfirstlane_b32 s{}, {}", s_.t + 1, v(vector + 1))});
    settle();
    put({fmt::format("s_cmp_eq_u64 {}, {}", scalarPair(s_.t), scalarPair(value))});
  };
  execTo("1");
  copy_.place(again);
  put({fmt::format("s_mov_b32 s{}, s{}", place(), s_.site),
       fmt::format("s_cmp_eq_u32 s{}, 0", probe())});
  copy_.jump("s_cbranch_scc1", is_home);
  put({dialect_.loadScalars(2, scalarPair(s_.t), scalarPair(s_.table),
                            offsetof(fade_summary, site_count)),
       fmt::format("s_add_u32 s{}, s{}, s{}", place(), hash(), probe()),
       fmt::format("s_and_b32 s{0}, s{0}, s{1}", place(), slotMask())});
  wait(&Dialect::waitForScalars);
  put({fmt::format("s_add_u32 s{0}, s{0}, s{1}", place(), s_.t),
       fmt::format("s_lshl_b32 s{0}, s{0}, 6", place()),
       fmt::format("s_add_u32 s{0}, s{0}, {1}", place(), sizeof(fade_summary))});
  copy_.place(is_home);
  if (dialect_.major() >= 11) settle();
  moveTo(kOffset, s(place()));
  put({dialect_.load(v_ + kData, v_ + kOffset, s_.table, offsetof(fade_class, line), Scope::device),
       dialect_.load(v_ + kExpected, v_ + kOffset, s_.table, offsetof(fade_class, key),
                     Scope::device)});
  wait(&Dialect::waitForVectors);
  isWord(kData, line());
  copy_.jump("s_cbranch_scc1", look);
  put({fmt::format("s_cmp_lg_u64 {}, 0", scalarPair(s_.t))});
  copy_.jump("s_cbranch_scc1", next);
  copy_.jump("s_branch", may_be_new);
  copy_.place(look);
  isWord(kExpected, key());
  copy_.jump("s_cbranch_scc0", may_be_new);
  put({dialect_.load(v_ + kData, v_ + kOffset, s_.table, offsetof(fade_class, mask),
                     Scope::device)});
  wait(&Dialect::waitForVectors);
  isWord(kData, s_.lanes);
  copy_.jump("s_cbranch_scc1", found);
  copy_.place(may_be_new);
  moveTo(kExpected, "0");
  moveTo(kExpected + 1, "0");
  setOnce(line(), offsetof(fade_class, line), next);
  setOnce(key(), offsetof(fade_class, key), next);
  setOnce(s_.lanes, offsetof(fade_class, mask), next);
  put({fmt::format("s_cmp_lg_u64 {}, 0", scalarPair(s_.t))});
  copy_.jump("s_cbranch_scc1", found);
  describeClass();
  copy_.jump("s_branch", found);
  copy_.place(next);
  put({fmt::format("s_add_u32 s{0}, s{0}, 1", probe()),
       fmt::format("s_cmp_lt_u32 s{}, {}", probe(), FADE_CLASS_PROBES)});
  copy_.jump("s_cbranch_scc1", again);
  copy_.jump("s_branch", no_room);
}

/// The first of its class. By one lane.
void SumText::describeClass() {
  const unsigned zero = v_ + kData + 1;
  const auto put64 = [&](unsigned offset) {
    put({dialect_.store(v_ + kOffset, v_ + kData, s_.table, offset, Scope::device)});
  };
  moveTo(kData, "1");
  moveTo(kData + 1, "0");
  put({dialect_.load(v_ + kExpected, zero, s_.control, offsetof(fade_control, head),
                     Scope::device)});
  wait(&Dialect::waitForVectors);
  put({dialect_.store(v_ + kOffset, v_ + kExpected, s_.table, offsetof(fade_class, first),
                      Scope::device),
       dialect_.addReturning32(v_ + kExpected, zero, v_ + kData, s_.control,
                               offsetof(fade_control, classes))});
  wait(&Dialect::waitForVectors);
  put({fmt::format("v_readfirstlane_b32 s{}, {}", hash(), v(kExpected))});
  bringBack(s_.t, kWave);
  settle();
  put({fmt::format("s_add_u32 s{0}, s{0}, 1", hash())});
  if (dialect_.major() >= 11) settle();
  static_assert(offsetof(fade_class, sequence) == offsetof(fade_class, wave) + 4);
  moveTo(kData, s(s_.t));
  moveTo(kData + 1, s(hash()));
  put64(offsetof(fade_class, wave));
  moveTo(kData, s(s_.base));
  moveTo(kData + 1, s(s_.base + 1));
  put64(offsetof(fade_class, base));
  put({fmt::format("s_mov_b64 {}, src_shared_base", scalarPair(s_.t)),
       fmt::format("s_mov_b32 s{}, s{}", hash(), s_.t + 1),
       fmt::format("s_mov_b64 {}, src_private_base", scalarPair(s_.t))});
  if (dialect_.major() >= 11) settle();
  moveTo(kOffset, "0");
  moveTo(kData, s(hash()));
  moveTo(kData + 1, s(s_.t + 1));
  static_assert(offsetof(fade_summary, private_base) == offsetof(fade_summary, shared_base) + 4);
  put64(offsetof(fade_summary, shared_base));
  moveTo(kData, dialect_.isWave32() ? "32" : "64");
  moveTo(kData + 1, "0");
  put64(offsetof(fade_summary, wave_size));
}

/// An ordinary record.
void SumText::recordUnsummed() {
  const CopiedCode::Label is_lds = copy_.label(), is_announced = copy_.label();
  execTo("1");
  put({fmt::format("s_bitcmp1_b32 s{}, {}", s_.site + 1, kIsLds)});
  copy_.jump("s_cbranch_scc1", is_lds);
  moveTo(kData, "1");
  countAccess();
  copy_.place(is_lds);
  moveTo(kOffset, s(s_.counter));
  moveTo(kData, fmt::format("{:#x}", FADE_WAVE_IS_ANNOUNCED));
  put({dialect_.orReturning32(v_ + kExpected, v_ + kOffset, v_ + kData, s_.table)});
  wait(&Dialect::waitForVectors);
  put({fmt::format("v_readfirstlane_b32 s{}, {}", s_.t, v(kExpected))});
  settle();
  put({fmt::format("s_and_b32 s{0}, s{0}, {1:#x}", s_.t, FADE_WAVE_IS_ANNOUNCED)});
  copy_.jump("s_cbranch_scc1", is_announced);
  keep(s_.site, kSite);
  announceLate();
  bringBack(s_.site, kSite);
  settle();
  copy_.place(is_announced);
  execTo(dialect_.lanes(s_.lanes));
  readBase();
  settle();
  put({fmt::format("s_sub_u32 s{0}, s{0}, {1}", s_.site, sizeof(fade_summary)),
       fmt::format("s_lshr_b32 s{0}, s{0}, 6", s_.site)});
  loadRing();
  chooseEncoding();
  reserve();
  storeShared(s(s_.stride));
  storeAddresses();
  publish(s(s_.site), s(s_.header));
}

void SumText::writeSearch() {
  const CopiedCode::Label out = copy_.label(), is_other = copy_.label(), found = copy_.label(),
                          is_wanted = copy_.label();
  copy_.place(std::exchange(search_, copy_.label()));
  // A slot that another wave has filled is seen the next time.
  copy_.put({"s_dcache_inv"});
  keepLanes();
  put({fmt::format("s_bitcmp1_b32 s{}, {}", s_.site + 1, kMayBeArgument)});
  copy_.jump("s_cbranch_scc0", is_wanted);
  leaveIfArgument(out);
  copy_.place(is_wanted);
  static_assert(offsetof(fade_summary, slot_mask) == offsetof(fade_summary, flags) + 8);
  put({dialect_.loadScalars(4, tuple(s_.own, 4), scalarPair(s_.table),
                            offsetof(fade_summary, flags) - 4),
       dialect_.loadScalars(2, scalarPair(s_.t), scalarPair(s_.table),
                            offsetof(fade_summary, page_mask)),
       dialect_.loadScalars(2, scalarPair(s_.control), scalarPair(s_.table),
                            offsetof(fade_summary, control))});
  wait(&Dialect::waitForScalars);
  put({fmt::format("s_mov_b32 s{}, s{}", slotMask(), s_.own + 3),
       fmt::format("s_mov_b32 s{}, s{}", pageMask(), s_.t),
       fmt::format("s_and_b32 s{0}, s{0}, {1}", s_.own + 1, FADE_SUMMARY_STREAM)});
  copy_.jump("s_cbranch_scc1", is_other);
  chooseStride(is_other);
  if (dialect_.major() >= 11) settle();
  checkLine(is_other);
  chooseKey();
  hashClass();
  lookAtSlots(found, is_other);
  copy_.place(found);
  const CopiedCode::Label in_lds = copy_.label();
  countAt(s(place()), /*is_lds=*/true);
  put({fmt::format("s_bitcmp1_b32 s{}, {}", s_.site + 1, kIsLds)});
  copy_.jump("s_cbranch_scc1", in_lds);
  countAccess();
  copy_.place(in_lds);
  copy_.jump("s_branch", out);
  copy_.place(is_other);
  recordUnsummed();
  copy_.place(out);
  wait(&Dialect::waitForScalars);
  execTo(dialect_.lanes(s_.exec));
  put({fmt::format("s_cmp_lg_u32 s{}, 0", s_.scc)});
  restore(s_.saved_by_calls, savedCount());
  put({fmt::format("s_setpc_b64 {}", scalarPair(s_.back))});
}

} // namespace fade::rewrite
