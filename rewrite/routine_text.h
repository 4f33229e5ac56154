// What routines that are added to a kernel are written with: names of the registers that they use,
// and instructions that many of them need.
#pragma once

#include "rewrite/copied_code.h"
#include "rewrite/dialect.h"

#include <array>
#include <initializer_list>
#include <string_view>

namespace fade::rewrite {

/// Vector registers that are added, or borrowed.
enum Vector : unsigned {
  kAddress = 0,  ///< pair: of each lane
  kData = 2,     ///< pair
  kExpected = 4, ///< pair: the addresses, if they are on a line
  kOffset = 6,   ///< in the ring, or the table
  kKept = 7,     ///< what follows, in its lanes
  kVectorCount = 8,
};
/// Lanes of kKept.
enum Lane : unsigned {
  kControl = 0,   ///< two: address of the fade_control
  kWave = 2,      ///< number of the wave
  kArguments = 3, ///< two: address
  kPacket = 5,    ///< two: address
  kFirstSaved = 7,
  // Where accesses are added up.
  kTable = 7,      ///< two: address
  kCounter = 9,    ///< offset of the wave's counter from the table
  kKey = 10,       ///< bits of an address that matter
  kWorkItem = 11,  ///< of the first lane
  kWorkgroup = 12, ///< three
  kSite = 15,      ///< while the wave is announced
  kFirstSavedOfSums = 16,
};

/// Scalar registers that routines use. Those of the kernel are saved meanwhile.
struct Scalars {
  unsigned back = 0;    ///< pair: where the routine returns to
  unsigned site = 0;    ///< pair: number of the site, and what is known of the access
  unsigned exec = 0;    ///< pair: lanes that were active
  unsigned control = 0; ///< pair: address
  unsigned base = 0;    ///< pair: address of the first lane
  unsigned ring = 0;    ///< four: address and mask
  unsigned t = 0;       ///< pair: temporary
  unsigned lanes = 0;   ///< pair: of the record
  unsigned scc = 0, stride = 0, header = 0, position = 0, size = 0;
  // Only if accesses are added up.
  unsigned own = 0;   ///< eight: the class of the site, and what is looked for
  unsigned table = 0; ///< pair: address
  unsigned counter = 0, key = 0, arguments = 0;

  std::vector<unsigned> saved; ///< in lanes from kFirstSaved on; those of calls come first
  unsigned saved_by_calls = 0; ///< how many
  unsigned taken = 0, end = 0; ///< that the kernel does not use; behind the last
};

/// Whether a line is an instruction of the scalar unit that computes something.
inline bool writesScalars(std::string_view line) {
  constexpr std::array<std::string_view, 7> others = {"s_cmp",  "s_bitcmp", "s_nop", "s_sleep",
                                                      "s_load", "s_setpc",  "s_wait"};
  if (!line.starts_with("s_")) return false;
  for (const std::string_view other : others)
    if (line.starts_with(other)) return false;
  return true;
}

class RoutineText {
protected:
  RoutineText(const Dialect &dialect, CopiedCode copy)
      : dialect_(dialect), copy_(std::move(copy)) {}

  std::string v(unsigned which) const { return fmt::format("v{}", v_ + which); }
  static std::string s(unsigned number) { return fmt::format("s{}", number); }
  /// gfx12: what the scalar unit writes must not be read at once where vector instructions have
  /// read the register before.
  void put(std::initializer_list<std::string> lines) {
    for (const std::string &line : lines) {
      copy_.put({line});
      if (dialect_.major() >= 12 && writesScalars(line)) copy_.put({"s_wait_alu 0xfffe"});
    }
  }
  void settle() {
    Lines lines;
    dialect_.settle(lines);
    copy_.put(lines);
  }
  /// Only where a result of the scalar unit, or of a vector instruction in a scalar register, is
  /// not there at once for a vector instruction.
  void settleScalars() {
    if (dialect_.major() >= 11 || dialect_.hasXcc()) settle();
  }
  template <typename Wait> void wait(Wait what) {
    Lines lines;
    (dialect_.*what)(lines);
    copy_.put(lines);
  }
  void keep(unsigned from, unsigned lane) {
    put({fmt::format("v_writelane_b32 {}, s{}, {}", v(kKept), from, lane)});
  }
  void bringBack(unsigned to, unsigned lane) {
    put({fmt::format("v_readlane_b32 s{}, {}, {}", to, v(kKept), lane)});
  }
  void execTo(const std::string &value) {
    put({fmt::format("{} {}, {}", dialect_.ofLanes("s_mov"), dialect_.exec(), value)});
    if (dialect_.major() >= 11) settle();
  }
  void moveTo(unsigned vector, const std::string &from) {
    put({fmt::format("v_mov_b32_e32 {}, {}", v(vector), from)});
  }

  const Dialect dialect_;
  CopiedCode copy_;
  Scalars s_;
  unsigned v_ = 0; ///< the first vector register that is added, or borrowed
};

} // namespace fade::rewrite
