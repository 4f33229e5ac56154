// Records, as instructions that write them into the ring (fade/message.h).
#pragma once

#include "rewrite/address.h"
#include "rewrite/routine_text.h"

#include "fade/message.h"

#include <algorithm>
#include <cstddef>

namespace fade::rewrite {

// What routines are told about an access: bits.
inline constexpr unsigned kMayBeArgument = 0, kMayBePrivate = 1, kMayBeOutside = 2, kIsLds = 3,
                          kIsAtomic = 4;
inline constexpr uint32_t kPacketBytes = 64;

/// In scratch, behind the kernel's own: what was borrowed, and kKept.
inline constexpr unsigned kKeptAt = kVectorCount * 4, kBorrowedBytes = kKeptAt + 4;

constexpr uint32_t headerOf(uint32_t words, uint32_t kind, uint32_t encoding) {
  return words | kind << 16 | encoding << 24;
}

class RecordText : protected RoutineText {
protected:
  RecordText(const Dialect &dialect, CopiedCode copy, const codeobj::Kernel &kernel, bool adds_up,
             bool borrows)
      : RoutineText(dialect, std::move(copy)), kernel_(kernel), adds_up_(adds_up),
        borrows_(borrows) {}

  unsigned firstSaved() const { return adds_up_ ? kFirstSavedOfSums : kFirstSaved; }
  unsigned savedCount() const { return static_cast<unsigned>(s_.saved.size()); }

  void save(unsigned first, unsigned end) {
    if (first == end) return;
    wait(&Dialect::waitForScalars); // they may still be on their way
    for (unsigned n = first; n < end; ++n) keep(s_.saved[n], firstSaved() + n);
    settle();
  }

  void restore(unsigned first, unsigned end) {
    if (first == end) return;
    for (unsigned n = first; n < end; ++n) bringBack(s_.saved[n], firstSaved() + n);
    settle();
  }

  // Where the kernel leaves no vector registers free, some of its own are borrowed: they are in
  // scratch meanwhile, and so is kKept while they are the kernel's.

  /// The scalar registers that this uses are none of the kernel's.
  void borrow() {
    if (!borrows_) return;
    Lines lines;
    dialect_.waitForAllVectors(lines, has_matrices_);
    copy_.put(lines);
    forAllLanes({dialect_.storeScratch(v_, 4, s_.back, 0),
                 dialect_.storeScratch(v_ + 4, 4, s_.back, 16),
                 dialect_.loadScratch(v_ + kKept, 1, s_.back, kKeptAt)});
    wait(&Dialect::waitForVectors);
  }
  void giveBack() {
    if (!borrows_) return;
    forAllLanes(
        {dialect_.loadScratch(v_, 4, s_.back, 0), dialect_.loadScratch(v_ + 4, 4, s_.back, 16)});
    wait(&Dialect::waitForVectors);
  }
  /// When a wave begins.
  void putKeptAside() {
    if (borrows_) forAllLanes({dialect_.storeScratch(v_ + kKept, 1, s_.back, kKeptAt)});
  }
  void forAllLanes(std::initializer_list<std::string> lines) {
    put({fmt::format("{} {}, {}", dialect_.ofLanes("s_mov"), dialect_.lanes(s_.exec),
                     dialect_.exec())});
    execTo("-1");
    put({fmt::format("s_mov_b32 s{}, {:#x}", s_.back, scratch_)});
    put(lines);
    execTo(dialect_.lanes(s_.exec));
  }

  /// Two words of the record, by one lane.
  void store(const std::string &low, const std::string &high, unsigned offset) {
    moveTo(kData, low);
    moveTo(kData + 1, high);
    put({dialect_.store(v_ + kOffset, v_ + kData, s_.ring, offset, Scope::system)});
  }

  /// Reserves as many bytes of the ring as s_.size says, and waits until they are free. One lane is
  /// active then, and has their offset.
  void reserve() {
    wait(&Dialect::waitForScalars);
    execTo("1");
    moveTo(kData, s(s_.size));
    moveTo(kData + 1, "0");
    moveTo(kOffset, "0");
    put({dialect_.load(v_ + kExpected, v_ + kOffset, s_.control, offsetof(fade_control, limit),
                       Scope::device),
         dialect_.addReturning(v_ + kData, v_ + kOffset, v_ + kData, s_.control,
                               offsetof(fade_control, head))});
    wait(&Dialect::waitForVectors);
    put({fmt::format("v_readfirstlane_b32 s{}, {}", s_.position, v(kData)),
         fmt::format("v_readfirstlane_b32 s{}, {}", s_.t, v(kExpected))});
    settle();
    const CopiedCode::Label again = copy_.label(), has_room = copy_.label();
    copy_.place(again);
    put({fmt::format("s_sub_u32 s{0}, s{0}, s{1}", s_.t, s_.position),
         fmt::format("s_cmp_ge_i32 s{}, s{}", s_.t, s_.size)});
    copy_.jump("s_cbranch_scc1", has_room);
    put({"s_sleep 8", dialect_.loadScalars(2, scalarPair(s_.t), scalarPair(s_.control),
                                           offsetof(fade_control, tail))});
    wait(&Dialect::waitForScalars);
    put({dialect_.load(v_ + kData, v_ + kOffset, s_.t, 0, Scope::system)});
    wait(&Dialect::waitForVectors);
    put({fmt::format("v_readfirstlane_b32 s{}, {}", s_.t, v(kData)),
         fmt::format("v_readfirstlane_b32 s{}, {}", s_.t + 1, v(kData + 1))});
    settle();
    put({fmt::format("s_add_u32 s{0}, s{0}, s{1}", s_.t, s_.ring + 2),
         fmt::format("s_addc_u32 s{0}, s{0}, s{1}", s_.t + 1, s_.ring + 3),
         fmt::format("s_add_u32 s{0}, s{0}, 1", s_.t),
         fmt::format("s_addc_u32 s{0}, s{0}, 0", s_.t + 1)});
    if (dialect_.major() >= 11) settle();
    moveTo(kData, s(s_.t));
    moveTo(kData + 1, s(s_.t + 1));
    put({dialect_.raise(v_ + kOffset, v_ + kData, s_.control, offsetof(fade_control, limit))});
    copy_.jump("s_branch", again);
    copy_.place(has_room);
    put({fmt::format("s_and_b32 s{0}, s{0}, s{1}", s_.position, s_.ring + 2)});
    if (dialect_.major() >= 11) settle();
    moveTo(kOffset, s(s_.position));
  }

  /// The header, last of all.
  void publish(const std::string &site, const std::string &header) {
    wait(&Dialect::waitForStores);
    store(site, header, 0);
  }

  void loadRing() {
    put({dialect_.loadScalars(4, fmt::format("s[{}:{}]", s_.ring, s_.ring + 3),
                              scalarPair(s_.control), offsetof(fade_control, data))});
  }

  void readTimes(unsigned time) {
    readClock();
    put({dialect_.major() < 11 ? fmt::format("s_memrealtime {}", scalarPair(time))
                               : fmt::format("s_sendmsg_rtn_b64 {}, sendmsg(MSG_RTN_GET_REALTIME)",
                                             scalarPair(time))});
  }
  /// It has arrived when scalar loads have.
  void readClock() {
    const unsigned clock = s_.base;
    if (dialect_.major() < 11) put({fmt::format("s_memtime {}", scalarPair(clock))});
    if (dialect_.major() == 11)
      put({fmt::format("s_getreg_b32 s{}, hwreg(HW_REG_SHADER_CYCLES, 0, 20)", clock),
           fmt::format("s_mov_b32 s{}, 0", clock + 1)});
    if (dialect_.major() >= 12)
      put({fmt::format("s_getreg_b32 s{}, hwreg(HW_REG_SHADER_CYCLES_LO)", clock),
           fmt::format("s_getreg_b32 s{}, hwreg(HW_REG_SHADER_CYCLES_HI)", clock + 1)});
  }

  /// Jumps to `to` if the first lane's address is one of so many bytes from that in a lane of
  /// kKept on.
  void leaveIfWithin(unsigned lane, uint32_t bytes, CopiedCode::Label to) {
    const CopiedCode::Label is_elsewhere = copy_.label();
    bringBack(s_.t, lane);
    bringBack(s_.t + 1, lane + 1);
    settle();
    put({fmt::format("s_sub_u32 s{0}, s{1}, s{0}", s_.t, s_.base),
         fmt::format("s_subb_u32 s{0}, s{1}, s{0}", s_.t + 1, s_.base + 1),
         fmt::format("s_cmp_lg_u32 s{}, 0", s_.t + 1)});
    copy_.jump("s_cbranch_scc1", is_elsewhere);
    put({fmt::format("s_cmp_lt_u32 s{}, {:#x}", s_.t, bytes)});
    copy_.jump("s_cbranch_scc1", to);
    copy_.place(is_elsewhere);
  }

  /// Lanes that access their scratch are not recorded, and loads of arguments neither, as the
  /// software GPU's observer has it.
  void filter(CopiedCode::Label out) {
    const CopiedCode::Label is_shared = copy_.label(), is_no_buffer = copy_.label(),
                            is_wanted = copy_.label();
    put({fmt::format("s_bitcmp1_b32 s{}, {}", s_.site + 1, kMayBePrivate)});
    copy_.jump("s_cbranch_scc0", is_shared);
    leaveOutScratch(out);
    copy_.place(is_shared);
    put({fmt::format("s_bitcmp1_b32 s{}, {}", s_.site + 1, kMayBeOutside)});
    copy_.jump("s_cbranch_scc0", is_no_buffer);
    leaveOutBuffers(out);
    copy_.place(is_no_buffer);
    readBase();
    settle();
    put({fmt::format("s_bitcmp1_b32 s{}, {}", s_.site + 1, kMayBeArgument)});
    copy_.jump("s_cbranch_scc0", is_wanted);
    leaveIfArgument(out);
    copy_.place(is_wanted);
  }
  /// The address of the first lane.
  void readBase() {
    put({fmt::format("v_readfirstlane_b32 s{}, {}", s_.base, v(kAddress)),
         fmt::format("v_readfirstlane_b32 s{}, {}", s_.base + 1, v(kAddress + 1))});
  }
  uint32_t argumentBytes() const {
    constexpr uint32_t least = 256;
    return std::max(kernel_.descriptor.kernarg_size, least);
  }
  void leaveIfArgument(CopiedCode::Label out) {
    leaveIfWithin(kArguments, argumentBytes(), out);
    if (kernel_.descriptor.user_sgprs.dispatch_ptr) leaveIfWithin(kPacket, kPacketBytes, out);
  }
  void leaveOutScratch(CopiedCode::Label out) {
    put({fmt::format("s_mov_b64 {}, src_private_base", scalarPair(s_.t))});
    if (dialect_.major() >= 11) settle();
    put({fmt::format("v_cmp_ne_u32_e64 {}, s{}, {}", dialect_.lanes(s_.t), s_.t + 1,
                     v(kAddress + 1))});
    settle();
    put({fmt::format("{0} {1}, {1}, {2}", dialect_.ofLanes("s_and"), dialect_.exec(),
                     dialect_.lanes(s_.t))});
    copy_.jump("s_cbranch_execz", out);
  }

  /// Lanes with that in the upper halves of their addresses, in s_.t.
  void findLanes(const char *comparison, int upper) {
    put({fmt::format("{} {}, {}, {}", comparison, dialect_.lanes(s_.t), upper, v(kAddress + 1))});
    settle();
  }
  /// What is not understood counts as dropped, as a whole.
  void leaveOutBuffers(CopiedCode::Label out) {
    const CopiedCode::Label is_understood = copy_.label();
    findLanes("v_cmp_eq_u32_e64", kNotUnderstood);
    put({dialect_.isWave32() ? fmt::format("s_cmp_eq_u32 s{}, 0", s_.t)
                             : fmt::format("s_cmp_eq_u64 {}, 0", scalarPair(s_.t))});
    copy_.jump("s_cbranch_scc1", is_understood);
    findControl();
    execTo("1");
    moveTo(kData, "1");
    moveTo(kData + 1, "0");
    moveTo(kOffset, "0");
    put({dialect_.addReturning(v_ + kData, v_ + kOffset, v_ + kData, s_.control,
                               offsetof(fade_control, dropped))});
    wait(&Dialect::waitForVectors);
    copy_.jump("s_branch", out);
    copy_.place(is_understood);
    findLanes("v_cmp_ne_u32_e64", kOutside);
    put({fmt::format("{0} {1}, {1}, {2}", dialect_.ofLanes("s_and"), dialect_.exec(),
                     dialect_.lanes(s_.t))});
    copy_.jump("s_cbranch_execz", out);
    if (dialect_.major() >= 11) settle();
  }
  /// The address of the fade_control, where routines do not begin with it.
  void findControl() {
    if (!adds_up_) return;
    put({dialect_.loadScalars(2, scalarPair(s_.control), scalarPair(s_.table),
                              offsetof(fade_summary, control))});
    wait(&Dialect::waitForScalars);
  }

  /// Finds out whether the addresses are on a line, and how large the record is.
  void chooseEncoding() {
    const bool is_wave32 = dialect_.isWave32();
    const std::string exec = dialect_.exec();
    keepLanes();
    put({fmt::format("{} s{}, {}",
                     dialect_.major() >= 11 ? dialect_.ofLanes("s_ctz_i32")
                                            : dialect_.ofLanes("s_ff1_i32"),
                     s_.t, exec)});
    if (dialect_.major() >= 11) settle();
    put({fmt::format("v_mbcnt_lo_u32_b32 {}, -1, 0", v(kOffset))});
    if (!is_wave32) put({fmt::format("v_mbcnt_hi_u32_b32 {0}, -1, {0}", v(kOffset))});
    put({fmt::format("{0} {1}, s{2}, {1}", dialect_.subtractFrom(), v(kOffset), s_.t),
         fmt::format("s_add_u32 s{0}, s{0}, 1", s_.t)});
    settle();
    put({fmt::format("v_readlane_b32 s{}, {}, s{}", s_.stride, v(kAddress), s_.t)});
    settle();
    // The distance to the neighbour of the first lane, if that is active.
    put({fmt::format("s_sub_u32 s{0}, s{0}, s{1}", s_.stride, s_.base),
         fmt::format("{} {}, s{}", is_wave32 ? "s_bitcmp1_b32" : "s_bitcmp1_b64", exec, s_.t),
         fmt::format("s_cselect_b32 s{0}, s{0}, 0", s_.stride)});
    if (dialect_.major() >= 11) settle();
    moveTo(kData, s(s_.base));
    moveTo(kData + 1, s(s_.base + 1));
    put({fmt::format("{} {}, {}, {}, s{}, {}", dialect_.multiplyAdd(), vectorPair(v_ + kExpected),
                     dialect_.lanes(s_.t), v(kOffset), s_.stride, vectorPair(v_ + kData)),
         fmt::format("v_cmp_ne_u64_e64 {}, {}, {}", dialect_.lanes(s_.t),
                     vectorPair(v_ + kExpected), vectorPair(v_ + kAddress))});
    settle();
    const CopiedCode::Label is_raw = copy_.label(), is_known = copy_.label();
    put({is_wave32 ? fmt::format("s_cmp_lg_u32 s{}, 0", s_.t)
                   : fmt::format("s_cmp_lg_u64 {}, 0", scalarPair(s_.t))});
    copy_.jump("s_cbranch_scc1", is_raw);
    constexpr uint32_t words = sizeof(fade_record) / FADE_RECORD_ALIGN;
    static_assert(FADE_ENCODING_UNIFORM == 0 && FADE_ENCODING_AFFINE == 1);
    put({fmt::format("s_cmp_lg_u32 s{}, 0", s_.stride),
         fmt::format("s_cselect_b32 s{}, 1, 0", s_.header),
         fmt::format("s_lshl_b32 s{0}, s{0}, 24", s_.header),
         fmt::format("s_or_b32 s{0}, s{0}, {1:#x}", s_.header,
                     headerOf(words, FADE_RECORD_ACCESS, 0)),
         fmt::format("s_movk_i32 s{}, {}", s_.size, sizeof(fade_record))});
    copy_.jump("s_branch", is_known);
    copy_.place(is_raw);
    put({fmt::format("s_mov_b32 s{}, 0", s_.stride),
         fmt::format("{} s{}, {}", dialect_.ofLanes("s_bcnt1_i32"), s_.t, exec),
         fmt::format("s_add_u32 s{0}, s{0}, {1}", s_.t, words - 1),
         fmt::format("s_lshl_b32 s{}, s{}, 3", s_.size, s_.t),
         fmt::format("s_or_b32 s{}, s{}, {:#x}", s_.header, s_.t,
                     headerOf(0, FADE_RECORD_ACCESS, FADE_ENCODING_RAW))});
    copy_.place(is_known);
    if (dialect_.major() >= 11) settle();
  }

  /// By all lanes but the first.
  void storeAddresses() {
    const CopiedCode::Label is_line = copy_.label();
    constexpr unsigned bit_of_raw = 26;
    static_assert(FADE_ENCODING_RAW == 4);
    put({fmt::format("s_bitcmp1_b32 s{}, {}", s_.header, bit_of_raw)});
    copy_.jump("s_cbranch_scc0", is_line);
    put({fmt::format("s_sub_u32 s{}, s{}, 1", s_.t, s_.lanes),
         fmt::format("s_subb_u32 s{}, s{}, 0", s_.t + 1, s_.lanes + 1),
         fmt::format("{} {}, {}, {}", dialect_.ofLanes("s_and"), dialect_.exec(),
                     dialect_.lanes(s_.lanes), dialect_.lanes(s_.t)),
         fmt::format("s_add_u32 s{}, s{}, {}", s_.t, s_.position, sizeof(fade_record) - 8)});
    if (dialect_.major() >= 11) settle();
    put({fmt::format("v_mbcnt_lo_u32_b32 {}, s{}, 0", v(kExpected), s_.lanes)});
    if (!dialect_.isWave32())
      put({fmt::format("v_mbcnt_hi_u32_b32 {0}, s{1}, {0}", v(kExpected), s_.lanes + 1)});
    put({fmt::format("v_lshlrev_b32_e32 {0}, 3, {0}", v(kExpected)),
         fmt::format("{0} {1}, s{2}, {1}", dialect_.add(), v(kExpected), s_.t),
         dialect_.store(v_ + kExpected, v_ + kAddress, s_.ring, 0, Scope::system)});
    execTo("1");
    copy_.place(is_line);
  }

  /// What all records have besides the header.
  void storeShared(const std::string &extra) {
    store(s(s_.lanes), s(s_.lanes + 1), offsetof(fade_record, mask));
    store(s(s_.base), s(s_.base + 1), offsetof(fade_record, value));
    bringBack(s_.t, kWave);
    settle();
    store(s(s_.t), extra, offsetof(fade_record, wave));
  }

  void keepLanes() {
    put({fmt::format("{} {}, {}", dialect_.ofLanes("s_mov"), dialect_.lanes(s_.lanes),
                     dialect_.exec())});
    if (dialect_.isWave32()) put({fmt::format("s_mov_b32 s{}, 0", s_.lanes + 1)});
  }

  const codeobj::Kernel &kernel_;
  const bool adds_up_;        ///< accesses, in tables
  const bool borrows_;        ///< vector registers
  unsigned scratch_ = 0;      ///< where what is borrowed is kept
  bool has_matrices_ = false; ///< the kernel has matrix instructions
};

} // namespace fade::rewrite
