// How instructions that are inserted are spelled, which differs between generations.
#pragma once

#include "codeobj/code_object.h"

#include <fmt/format.h>
#include <string>
#include <vector>

namespace fade::rewrite {

using Lines = std::vector<std::string>;

inline std::string scalarPair(unsigned first) { return fmt::format("s[{}:{}]", first, first + 1); }
inline std::string vectorPair(unsigned first) { return fmt::format("v[{}:{}]", first, first + 1); }

/// Who sees what is loaded, stored or added.
enum class Scope : uint8_t { device, system };

class Dialect {
public:
  Dialect(const codeobj::Target &target, bool is_wave32)
      : major_(target.version.major), is_wave32_(is_wave32),
        has_xcc_(target.processor == "gfx942" || target.processor == "gfx950" ||
                 target.processor == "gfx9-4-generic") {}

  unsigned major() const { return major_; }
  bool isWave32() const { return is_wave32_; }
  bool hasXcc() const { return has_xcc_; }

  // A set of lanes, in one register or two.
  std::string exec() const { return is_wave32_ ? "exec_lo" : "exec"; }
  std::string lanes(unsigned first) const {
    return is_wave32_ ? fmt::format("s{}", first) : scalarPair(first);
  }
  /// "s_mov" of lanes.
  std::string ofLanes(const char *name) const {
    return std::string(name) + (is_wave32_ ? "_b32" : "_b64");
  }

  const char *add() const { return major_ == 9 ? "v_add_u32_e32" : "v_add_nc_u32_e32"; }
  const char *subtractFrom() const {
    return major_ == 9 ? "v_subrev_u32_e32" : "v_subrev_nc_u32_e32";
  }
  const char *addWithCarry() const {
    return major_ == 9 ? "v_addc_co_u32_e64" : "v_add_co_ci_u32_e64";
  }
  const char *multiplyAdd() const { return major_ >= 12 ? "v_mad_co_i64_i32" : "v_mad_i64_i32"; }

  std::string loadScalars(unsigned count, const std::string &to, const std::string &base,
                          unsigned offset) const {
    return major_ >= 11 ? fmt::format("s_load_b{} {}, {}, {:#x}", 32 * count, to, base, offset)
                        : fmt::format("s_load_dwordx{} {}, {}, {:#x}", count, to, base, offset);
  }
  /// From where a scalar register says, beyond the base.
  std::string loadScalarsAt(unsigned count, const std::string &to, const std::string &base,
                            unsigned offset) const {
    return major_ >= 11
               ? fmt::format("s_load_b{} {}, {}, s{}{}", 32 * count, to, base, offset,
                             major_ >= 12 ? " offset:0x0" : "")
               : fmt::format("s_load_dword{} {}, {}, s{}",
                             count == 1 ? "" : fmt::format("x{}", count), to, base, offset);
  }
  /// Of 64 bits.
  std::string load(unsigned to, unsigned at, unsigned base, unsigned offset, Scope scope) const {
    return fmt::format("{} {}, v{}, {} offset:{}{}",
                       major_ >= 11 ? "global_load_b64" : "global_load_dwordx2", vectorPair(to), at,
                       scalarPair(base), offset, ofLoad(scope));
  }
  std::string store(unsigned at, unsigned from, unsigned base, unsigned offset, Scope scope) const {
    return fmt::format("{} v{}, {}, {} offset:{}{}",
                       major_ >= 11 ? "global_store_b64" : "global_store_dwordx2", at,
                       vectorPair(from), scalarPair(base), offset, ofStore(scope));
  }
  std::string addReturning(unsigned to, unsigned at, unsigned from, unsigned base,
                           unsigned offset) const {
    return fmt::format("{} {}, v{}, {}, {} offset:{}{}",
                       major_ >= 11 ? "global_atomic_add_u64" : "global_atomic_add_x2",
                       vectorPair(to), at, vectorPair(from), scalarPair(base), offset, returning());
  }
  std::string addTo(unsigned at, unsigned from, unsigned base, unsigned offset) const {
    return fmt::format("{} v{}, {}, {} offset:{}{}",
                       major_ >= 11 ? "global_atomic_add_u64" : "global_atomic_add_x2", at,
                       vectorPair(from), scalarPair(base), offset,
                       major_ >= 12 ? " scope:SCOPE_DEV" : "");
  }
  /// Of 32 bits.
  std::string addTo32(unsigned at, unsigned from, unsigned base) const {
    return fmt::format("{} v{}, v{}, {}{}",
                       major_ >= 11 ? "global_atomic_add_u32" : "global_atomic_add", at, from,
                       scalarPair(base), major_ >= 12 ? " scope:SCOPE_DEV" : "");
  }
  std::string orReturning32(unsigned to, unsigned at, unsigned from, unsigned base) const {
    return fmt::format("{} v{}, v{}, v{}, {}{}",
                       major_ >= 11 ? "global_atomic_or_b32" : "global_atomic_or", to, at, from,
                       scalarPair(base), returning());
  }
  /// `from`: the new value, and behind it the one that is expected.
  std::string swapIfReturning(unsigned to, unsigned at, unsigned from, unsigned base,
                              unsigned offset) const {
    return fmt::format("{} {}, v{}, v[{}:{}], {} offset:{}{}",
                       major_ >= 11 ? "global_atomic_cmpswap_b64" : "global_atomic_cmpswap_x2",
                       vectorPair(to), at, from, from + 3, scalarPair(base), offset, returning());
  }
  std::string addReturning32(unsigned to, unsigned at, unsigned from, unsigned base,
                             unsigned offset) const {
    return fmt::format("{} v{}, v{}, v{}, {} offset:{}{}",
                       major_ >= 11 ? "global_atomic_add_u32" : "global_atomic_add", to, at, from,
                       scalarPair(base), offset, returning());
  }
  std::string raise(unsigned at, unsigned from, unsigned base, unsigned offset) const {
    return fmt::format("{} v{}, {}, {} offset:{}{}",
                       major_ >= 11 ? "global_atomic_max_u64" : "global_atomic_umax_x2", at,
                       vectorPair(from), scalarPair(base), offset,
                       major_ >= 12 ? " scope:SCOPE_DEV" : "");
  }

  // Scratch, at the address in a scalar register.
  std::string storeScratch(unsigned from, unsigned count, unsigned at, unsigned offset) const {
    return fmt::format("scratch_store_{} off, {}, s{} offset:{}", words(count), tuple(from, count),
                       at, offset);
  }
  std::string loadScratch(unsigned to, unsigned count, unsigned at, unsigned offset) const {
    return fmt::format("scratch_load_{} {}, off, s{} offset:{}", words(count), tuple(to, count), at,
                       offset);
  }

  /// For scalar loads.
  void waitForScalars(Lines &lines) const {
    lines.push_back(major_ >= 12 ? "s_wait_kmcnt 0" : "s_waitcnt lgkmcnt(0)");
  }
  /// For vector loads, and atomics that return something.
  void waitForVectors(Lines &lines) const {
    lines.push_back(major_ >= 12 ? "s_wait_loadcnt 0" : "s_waitcnt vmcnt(0)");
  }
  /// For all that writes vector registers. On gfx9 a memory instruction must come so many wait
  /// states behind a matrix instruction that writes its registers.
  void waitForAllVectors(Lines &lines, bool has_matrices) const {
    if (major_ >= 12)
      lines.insert(lines.end(), {"s_wait_loadcnt 0", "s_wait_samplecnt 0", "s_wait_bvhcnt 0",
                                 "s_wait_dscnt 0", "s_wait_kmcnt 0"});
    else
      lines.push_back("s_waitcnt vmcnt(0) lgkmcnt(0)");
    if (major_ == 9 && has_matrices) lines.insert(lines.end(), {"s_nop 15", "s_nop 7"});
  }
  void waitForStores(Lines &lines) const {
    lines.push_back(major_ >= 12   ? "s_wait_storecnt 0"
                    : major_ >= 10 ? "s_waitcnt_vscnt null, 0x0"
                                   : "s_waitcnt vmcnt(0)");
  }
  /// Until all results have arrived: what the other instructions here do not care about. Five wait
  /// states are what a vector memory instruction on gfx9 needs behind a vector instruction that
  /// writes its scalar registers.
  void settle(Lines &lines) const {
    lines.push_back(major_ >= 12   ? "s_wait_alu 0"
                    : major_ == 11 ? "s_waitcnt_depctr 0"
                                   : "s_nop 4");
  }

private:
  const char *words(unsigned count) const {
    if (count == 1) return major_ >= 11 ? "b32" : "dword";
    return major_ >= 11 ? "b128" : "dwordx4";
  }
  static std::string tuple(unsigned first, unsigned count) {
    return count == 1 ? fmt::format("v{}", first)
                      : fmt::format("v[{}:{}]", first, first + count - 1);
  }
  /// MI300's and gfx12's L2 keep what is stored to host memory, unless a store says otherwise.
  std::string ofStore(Scope scope) const {
    if (scope == Scope::device) return "";
    return major_ >= 12 ? " scope:SCOPE_SYS" : has_xcc_ ? " sc0 sc1" : "";
  }
  std::string ofLoad(Scope scope) const {
    const bool is_device = scope == Scope::device;
    if (major_ >= 12) return is_device ? " scope:SCOPE_DEV" : " scope:SCOPE_SYS";
    if (has_xcc_) return is_device ? " sc1" : " sc0 sc1";
    return major_ == 10 ? " glc dlc" : " glc";
  }
  std::string returning() const {
    if (major_ >= 12) return " th:TH_ATOMIC_RETURN scope:SCOPE_DEV";
    return has_xcc_ ? " sc0" : " glc";
  }

  unsigned major_;
  bool is_wave32_, has_xcc_;
};

} // namespace fade::rewrite
