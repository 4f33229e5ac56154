#include "isa/hazards.h"

#include "isa/instruction.h"
#include "isa/matrix_hazards.h"
#include "isa/register_use.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace fade::sim {
namespace {

using Kind = HazardKind;
constexpr uint32_t bit(Kind k) { return static_cast<uint32_t>(k); }
bool is(const HazardUse &use, Kind kind) { return use.kinds & bit(kind); }

// ---- GPUs

enum Gpus : uint32_t {
  gfx9 = 1 << 0, // without matrix instructions
  gfx908 = 1 << 1,
  gfx90a = 1 << 2,
  gfx94x = 1 << 3,
  gfx950 = 1 << 4,
  gfx101x = 1 << 5,
  gfx103x = 1 << 6,
  gfx110x = 1 << 7,
  gfx115x = 1 << 8,
  gfx12 = 1 << 9,
  all_gfx9 = gfx9 | gfx908 | gfx90a | gfx94x | gfx950,
  all_gfx94 = gfx94x | gfx950,
  all_gfx11 = gfx110x | gfx115x,
};

uint32_t gpu_of(std::string_view name) {
  struct Named {
    std::string_view prefix;
    uint32_t gpu;
  };
  // The longer ones first; generic targets are what all that they stand for need.
  for (const Named &n :
       {Named{"gfx908", gfx908}, Named{"gfx90a", gfx90a}, Named{"gfx94", gfx94x},
        Named{"gfx9-4-generic", gfx94x}, Named{"gfx950", gfx950}, Named{"gfx9", gfx9},
        Named{"gfx101", gfx101x}, Named{"gfx10-1-generic", gfx101x}, Named{"gfx103", gfx103x},
        Named{"gfx10-3-generic", gfx103x}, Named{"gfx115", gfx115x}, Named{"gfx11", gfx110x},
        Named{"gfx120", gfx12}, Named{"gfx12-generic", gfx12}})
    if (name.starts_with(n.prefix)) return n.gpu;
  return 0;
}

MatrixGpu matrix_gpu(uint32_t gpu) {
  switch (gpu) {
  case gfx908: return MatrixGpu::gfx908;
  case gfx90a: return MatrixGpu::gfx90a;
  case gfx94x: return MatrixGpu::gfx94x;
  case gfx950: return MatrixGpu::gfx950;
  default: return MatrixGpu::none;
  }
}

// ---- registers

constexpr uint16_t vccz = 251, execz = 252;
constexpr ObservedRange kVcc{false, sreg::vcc_lo, 2}, kM0{false, sreg::m0, 1},
    kExec{false, sreg::exec_lo, 2}, kScalars{false, 0, sreg::m0};

bool touches(std::span<const ObservedRange> ranges, const ObservedRange &what) {
  return std::ranges::any_of(ranges, [&](const ObservedRange &r) { return shared(r, what).count; });
}

/// Of scalar registers that hold values: not EXEC, M0 or SCC.
ObservedRange shared_scalar(std::span<const ObservedRange> a, std::span<const ObservedRange> b) {
  for (const ObservedRange &x : a)
    if (const ObservedRange value = shared(x, kScalars); value.count)
      for (const ObservedRange &y : b)
        if (const ObservedRange at = shared(value, y); at.count) return at;
  return {};
}

// ---- what has to be between two instructions

struct Meeting {
  bool met = false;
  ObservedRange at{};
};
Meeting at(ObservedRange r) { return {r.count != 0, r}; }
using Use = const HazardUse &;

Meeting scalar_read(Use a, Use b) { return at(shared_scalar(a.writes, b.reads)); }
Meeting lane_select(Use a, Use b) {
  const ObservedRange select[] = {b.select};
  return at(shared_scalar(a.writes, select));
}
Meeting vcc_read(Use a, Use b) {
  const ObservedRange vcc[] = {kVcc};
  return touches(b.reads, kVcc) ? at(shared(a.writes, vcc, false)) : Meeting{};
}
Meeting exec_written(Use a, Use) { return {touches(a.writes, kExec), {}}; }
Meeting dpp_read(Use a, Use b) {
  const ObservedRange source[] = {b.dpp};
  return at(shared(a.writes, source, true));
}
Meeting vector_read(Use a, Use b) { return at(shared(a.writes, b.reads, true)); }
Meeting data_written(Use a, Use b) {
  const ObservedRange data[] = {a.data};
  return at(shared(data, b.writes, true));
}
Meeting same_register(Use a, Use b) { return {a.hardware_register == b.hardware_register, {}}; }
Meeting m0_written(Use a, Use) {
  const ObservedRange m0[] = {kM0};
  return at(shared(a.writes, m0, false));
}
Meeting zero_flag(Use a, Use b) {
  if (touches(b.reads, {false, vccz, 1}) && touches(a.writes, kVcc)) return at(kVcc);
  return {touches(b.reads, {false, execz, 1}) && touches(a.writes, kExec), {}};
}
Meeting scalar_overwritten(Use a, Use b) {
  const ObservedRange value = shared_scalar(b.writes, a.reads);
  if (value.count) return at(value);
  if (touches(a.reads, kM0) && touches(b.writes, kM0)) return at(kM0);
  return {!b.saves_exec && touches(a.reads, kExec) && touches(b.writes, kExec), {}};
}
Meeting exec_overwritten(Use a, Use b) {
  return {touches(a.reads, kExec) && touches(b.writes, kExec), {}};
}
Meeting always(Use, Use) { return {true, {}}; }
Meeting operand_read(Use a, Use b) {
  for (const ObservedRange &operand : {b.abc[0], b.abc[1]})
    for (const ObservedRange &w : a.writes)
      if (const ObservedRange r = shared(w, operand); r.count) return at(r);
  return {};
}

// ---- what ends it

bool by_nothing(Use) { return false; }
bool by_valu(Use u) { return u.is_valu || is(u, Kind::waits_sources); }
bool by_valu_or_wait(Use u) { return u.is_valu || u.is_wait; }
bool by_vector_memory(Use u) {
  return u.kinds & (Kind::vmem | Kind::lds | Kind::exports | Kind::waits_vector);
}
bool by_scalar_or_loads(Use u) { return u.is_counted_scalar || is(u, Kind::waits_loads); }
bool by_scalar_result(Use u) {
  return is(u, Kind::waits_scalar) || (is(u, Kind::valu) && touches(u.writes, kScalars));
}
/// Memory instructions wait for what SALU has written, whatever they read.
bool by_scalar_wait_or_memory(Use u) {
  return u.kinds & (Kind::waits_scalar | Kind::vmem | Kind::smem);
}
bool by_any_valu(Use u) { return is(u, Kind::valu); }

// ---- of which registers the first instruction must write, to be one

enum class From : uint8_t { anything, scalars, vectors, exec, flags, m0, data };
bool has(const HazardUse &use, From from) {
  switch (from) {
  case From::anything: return true;
  case From::scalars: return touches(use.writes, kScalars);
  case From::vectors: return std::ranges::any_of(use.writes, &ObservedRange::vector);
  case From::exec: return touches(use.writes, kExec);
  case From::flags: return touches(use.writes, kExec) || touches(use.writes, kVcc);
  case From::m0: return touches(use.writes, kM0);
  case From::data: return use.data.count != 0;
  }
  return false;
}

constexpr uint32_t kAnyVector = Kind::valu | Kind::vmem | Kind::lds | Kind::exports;

enum class Unit : uint8_t { states, valus, scalars, never };

} // namespace

struct HazardTable::Rule {
  const char *what;
  uint32_t gpus;
  uint32_t first, second; // kinds, any of them
  From from;
  Meeting (*meets)(Use, Use);
  unsigned needed;
  Unit unit = Unit::states;
  bool (*ended)(Use) = by_nothing;
  const char *cure = "";
  uint32_t not_second = 0;
  bool is_obscured = false; // only if VALU has read the register before
};

// clang-format off
const HazardTable::Rule HazardTable::rules[] = {
    {"VALU write of an SGPR, then memory instruction reads it", all_gfx9, bit(Kind::valu), bit(Kind::vmem), From::scalars, scalar_read, 5},
    {"VALU write of an SGPR, then it selects a lane", all_gfx9, bit(Kind::valu), bit(Kind::lane), From::scalars, lane_select, 4},
    {"VALU write of VCC, then v_div_fmas", all_gfx9, bit(Kind::valu), bit(Kind::div_fmas), From::scalars, vcc_read, 4},
    {"VALU write of a VGPR, then DPP reads it", all_gfx9, bit(Kind::valu), bit(Kind::dpp), From::vectors, dpp_read, 2},
    {"VALU write of EXEC, then DPP", all_gfx9, bit(Kind::valu), bit(Kind::dpp), From::exec, exec_written, 5},
    {"VALU write of VCC or EXEC, then VALU reads VCCZ or EXECZ", all_gfx9, bit(Kind::valu), bit(Kind::valu), From::flags, zero_flag, 5},
    {"s_setreg, then s_getreg or s_setreg of the same register", all_gfx9, bit(Kind::set_register), Kind::set_register | Kind::get_register, From::anything, same_register, 2},
    {"SALU write of M0, then an instruction that takes it at once", all_gfx9, bit(Kind::salu), bit(Kind::uses_m0), From::m0, m0_written, 1},
    {"store of more than 64 bits, then VALU writes its data", gfx9 | gfx908 | gfx90a, bit(Kind::vmem), bit(Kind::valu), From::data, data_written, 1},
    {"store of more than 64 bits, then VALU writes its data", all_gfx94, bit(Kind::vmem), bit(Kind::valu), From::data, data_written, 2},
    {"VALU write of an SGPR, then VALU read of it", all_gfx94, bit(Kind::valu), bit(Kind::valu), From::scalars, scalar_read, 2},
    {"VALU write of a VGPR, then v_readlane of it", all_gfx94, bit(Kind::valu), bit(Kind::one_lane), From::vectors, vector_read, 1},
    {"VALU write of EXEC, then v_readlane or v_writelane", all_gfx94, bit(Kind::valu), bit(Kind::any_lane), From::exec, exec_written, 4},
    {"transcendental result, then VALU read of it", all_gfx94, bit(Kind::trans), bit(Kind::valu), From::vectors, vector_read, 1, Unit::states, by_nothing, "", bit(Kind::trans)},
    {"VALU write of a part of a VGPR, then VALU read of it", all_gfx94, bit(Kind::part), bit(Kind::valu), From::vectors, vector_read, 1},
    {"VALU write of EXEC, then matrix instruction", gfx908 | gfx90a | all_gfx94, bit(Kind::valu), bit(Kind::matrix), From::exec, exec_written, 4},
    {"VALU write of a VGPR, then v_permlane*_swap of it", gfx950, bit(Kind::valu), bit(Kind::permlane), From::vectors, vector_read, 2},
    {"v_cmpx, then v_permlane*_swap", gfx950, bit(Kind::compare_exec), bit(Kind::permlane), From::anything, always, 4},
    {"matrix instruction of f64, then v_fma_f64", gfx90a | all_gfx94, bit(Kind::matrix64), bit(Kind::fma64), From::anything, always, 2},
    {"memory instruction reads a scalar register, then SALU or SMEM writes it", gfx101x, Kind::vmem | Kind::lds, Kind::salu | Kind::smem, From::anything, scalar_overwritten, 1, Unit::never, by_valu, "s_waitcnt_depctr 0xffe3"},
    {"SMEM reads a scalar register, then VALU writes it", gfx101x, bit(Kind::smem), bit(Kind::valu), From::anything, scalar_overwritten, 1, Unit::never, by_scalar_or_loads, "s_mov_b32 null, 0"},
    {"EXEC is read, then VALU writes it", gfx101x, Kind::salu | Kind::vmem | Kind::lds, bit(Kind::valu), From::anything, exec_overwritten, 1, Unit::never, by_scalar_result, "s_waitcnt_depctr 0xfffe"},
    {"v_cmpx, then v_permlane", gfx101x | all_gfx11, bit(Kind::compare_exec), bit(Kind::permlane), From::anything, always, 1, Unit::never, by_any_valu, "a VALU instruction other than v_nop"},
    {"atomic on floats, then s_denorm_mode", gfx101x | gfx103x, bit(Kind::float_atomic), bit(Kind::denorm_mode), From::anything, always, 3, Unit::states, by_valu_or_wait},
    {"transcendental result, then VALU read of it", gfx110x, bit(Kind::trans), bit(Kind::valu), From::vectors, vector_read, 6, Unit::valus, by_vector_memory, "s_waitcnt_depctr 0xfff"},
    {"matrix result, then matrix operand", all_gfx11 | gfx12, bit(Kind::wmma), bit(Kind::wmma), From::vectors, operand_read, 1, Unit::valus, by_nothing, "v_nop"},
    {"SALU write of an SGPR that VALU has read before, then a read of it", gfx12, bit(Kind::salu), Kind::valu | Kind::salu, From::scalars, scalar_read, 11, Unit::scalars, by_scalar_wait_or_memory, "s_wait_alu 0xfffe", 0, true},
    // Computed; `needed` is the most.
    {"", gfx90a | all_gfx94, Kind::matrix | Kind::dot, kAnyVector, From::vectors, nullptr, longest},
    {"", gfx908, Kind::matrix | Kind::accumulator_read | Kind::accumulator_write, kAnyVector, From::vectors, nullptr, longest},
    {"", gfx908 | gfx90a | all_gfx94, bit(Kind::valu), Kind::matrix | Kind::accumulator_write, From::vectors, nullptr, 2},
};
// clang-format on

HazardTable::HazardTable(std::string_view gpu) : gpu_(gpu_of(gpu)) {
  static_assert(std::size(rules) <= 32);
  for (size_t i = 0; i < std::size(rules); i++)
    if (rules[i].gpus & gpu_) all_ |= 1u << i;
}

void HazardTable::pass(Passed &passed, const HazardUse &use) {
  passed.states += use.states;
  passed.valus += use.is_valu;
  passed.trans += is(use, Kind::trans);
  passed.scalars += use.is_counted_scalar;
  passed.ended |= use.ends;
}

namespace {
unsigned present(Unit unit, const HazardTable::Passed &passed) {
  switch (unit) {
  case Unit::states: return passed.states;
  case Unit::valus: return passed.trans >= 2 ? HazardTable::longest : passed.valus;
  case Unit::scalars: return passed.scalars;
  case Unit::never: return 0;
  }
  return 0;
}
} // namespace

bool HazardTable::is_over(const HazardUse &first, const Passed &passed) const {
  for (uint32_t left = first.first & ~passed.ended; left; left &= left - 1) {
    const Rule &rule = rules[std::countr_zero(left)];
    if (present(rule.unit, passed) < rule.needed) return false;
  }
  return true;
}

Hazard HazardTable::between(const HazardUse &first, const HazardUse &second,
                            const Passed &passed) const {
  Hazard worst;
  unsigned missing = 0;
  for (uint32_t left = first.first & second.second & ~passed.ended; left; left &= left - 1) {
    const Rule &rule = rules[std::countr_zero(left)];
    const unsigned there = present(rule.unit, passed);
    if (there >= rule.needed) continue;
    Hazard h{rule.what, rule.cure, 0, 0, {}, there, rule.needed, rule.is_obscured};
    if (rule.meets) {
      const Meeting meeting = rule.meets(first, second);
      if (!meeting.met) continue;
      h.at = meeting.at;
      if (rule.is_obscured && is(second, Kind::salu)) h.needed--;
    } else {
      const MatrixHazard m = matrix_hazard(matrix_gpu(gpu_), first, second);
      h.needed = m.states, h.at = m.at, h.rule = m.rule;
    }
    if (h.needed > there && h.needed - there > missing) missing = h.needed - there, worst = h;
  }
  return worst;
}

// ---- instructions

namespace {

std::string_view without_suffix(std::string_view name) {
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view suffix : {"_e32", "_e64", "_dpp", "_sdwa", "_dpp8"})
      if (name.ends_with(suffix)) name.remove_suffix(suffix.size()), found = true;
  }
  return name;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}
bool starts_with(std::string_view name, std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view p) { return name.starts_with(p); });
}

bool is_transcendental(std::string_view name) {
  for (const std::string_view function :
       {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"})
    if (name.starts_with(function)) return name.find("_f") != name.npos;
  return false;
}

/// Ranges of the names, with those that hold no values of the program.
std::vector<ObservedRange> all_ranges(const std::vector<std::string> &names) {
  std::vector<ObservedRange> ranges = ranges_of(names);
  for (const std::string &name : names) {
    if (name == "EXEC") ranges.push_back(kExec);
    if (name == "EXEC_LO") ranges.push_back({false, sreg::exec_lo, 1});
    if (name == "EXEC_HI") ranges.push_back({false, sreg::exec_hi, 1});
    if (name == "SRC_VCCZ") ranges.push_back({false, vccz, 1});
    if (name == "SRC_EXECZ") ranges.push_back({false, execz, 1});
  }
  return ranges;
}

uint32_t scalar_kinds(std::string_view name, uint32_t word, HazardUse &use) {
  uint32_t kinds = bit(Kind::salu);
  const bool is_sopp = word >> 23 == 0x17f;
  use.is_counted_scalar = !is_sopp;
  const uint32_t immediate = word & 0xffff;
  if (name.starts_with("s_setreg")) kinds |= bit(Kind::set_register);
  if (name.starts_with("s_getreg")) kinds |= bit(Kind::get_register);
  if (name.starts_with("s_setreg") || name.starts_with("s_getreg"))
    use.hardware_register = immediate & 0x3f;
  if (starts_with(name, {"s_movrel", "s_sendmsg", "s_ttracedata"})) kinds |= bit(Kind::uses_m0);
  if (name == "s_nop") use.states = static_cast<uint8_t>((immediate & 0xf) + 1);
  if (name == "s_denorm_mode") kinds |= bit(Kind::denorm_mode);
  if (name == "s_waitcnt_depctr" || name == "s_wait_alu") {
    if (!(immediate >> 12)) kinds |= bit(Kind::waits_vector);
    if (!(immediate >> 2 & 7)) kinds |= bit(Kind::waits_sources);
    if (!(immediate & 1)) kinds |= bit(Kind::waits_scalar);
  }
  if (name == "s_waitcnt") { // as gfx10 has it, whose rules ask
    if (!immediate) kinds |= bit(Kind::waits_sources);
    if (!(immediate >> 8 & 0x3f)) kinds |= bit(Kind::waits_loads);
  }
  if (name == "s_waitcnt_lgkmcnt" && !immediate) kinds |= bit(Kind::waits_loads);
  use.is_wait = name.starts_with("s_wait");
  use.saves_exec = name.find("saveexec") != name.npos || name.find("wrexec") != name.npos;
  use.leaves = is_one_of(name, {"s_setpc_b64", "s_swappc_b64", "s_call_b64", "s_rfe_b64"});
  return kinds;
}

uint32_t vector_kinds(std::string_view name, bool is_gfx94) {
  if (name == "v_nop") return 0;
  uint32_t kinds = bit(Kind::valu);
  if (is_transcendental(name)) kinds |= bit(Kind::trans);
  if (starts_with(name, {"v_mfma_", "v_smfmac_"})) {
    kinds |= bit(Kind::matrix);
    const bool is64 = name.starts_with("v_mfma_f64");
    const bool is_f32 = name.ends_with("f32") && !name.ends_with("xf32");
    if (is64) kinds |= bit(Kind::matrix64);
    if (!is64 && !(is_gfx94 && is_f32)) kinds |= bit(Kind::xdl);
  }
  if (starts_with(name, {"v_wmma_", "v_swmmac_"})) kinds |= bit(Kind::wmma);
  if (starts_with(name, {"v_dot"})) kinds |= bit(Kind::dot);
  if (is_one_of(name, {"v_readlane_b32", "v_writelane_b32"})) kinds |= bit(Kind::lane);
  if (is_one_of(name, {"v_readlane_b32", "v_readfirstlane_b32"})) kinds |= bit(Kind::one_lane);
  if (is_one_of(name, {"v_readlane_b32", "v_readfirstlane_b32", "v_writelane_b32"}))
    kinds |= bit(Kind::any_lane);
  if (name.starts_with("v_div_fmas")) kinds |= bit(Kind::div_fmas);
  if (name.starts_with("v_cmpx")) kinds |= bit(Kind::compare_exec);
  if (name.starts_with("v_permlane")) kinds |= bit(Kind::permlane);
  if (is_one_of(name, {"v_fma_f64", "v_fmac_f64"})) kinds |= bit(Kind::fma64);
  if (name.starts_with("v_accvgpr_read")) kinds |= bit(Kind::accumulator_read);
  if (name.starts_with("v_accvgpr_write")) kinds |= bit(Kind::accumulator_write);
  if (name.starts_with("v_interp")) kinds |= bit(Kind::uses_m0);
  return kinds;
}

uint32_t memory_kinds(std::string_view name, uint32_t word) {
  if (name.starts_with("ds_")) {
    uint32_t kinds = bit(Kind::lds);
    const bool is_gds = word >> 16 & 1; // gfx9
    if (starts_with(name, {"ds_gws_", "ds_ordered_count"}) || name.find("addtid") != name.npos ||
        is_gds)
      kinds |= bit(Kind::uses_m0);
    return kinds;
  }
  if (name.starts_with("exp")) return bit(Kind::exports);
  if (!starts_with(name, {"buffer_", "tbuffer_", "image_", "flat_", "global_", "scratch_"}))
    return 0;
  uint32_t kinds = bit(Kind::vmem);
  const bool to_lds = name.find("_lds_") != name.npos ||
                      (name.starts_with("buffer_load") && word >> 16 & 1); // gfx9
  if (to_lds) kinds |= bit(Kind::uses_m0);
  if (name.find("atomic") != name.npos &&
      (name.find("_f32") != name.npos || name.find("_f64") != name.npos ||
       name.find("_f16") != name.npos || name.find("fcmpswap") != name.npos ||
       name.find("fmin") != name.npos || name.find("fmax") != name.npos))
    kinds |= bit(Kind::float_atomic);
  return kinds;
}

bool is_scalar_memory(uint32_t word, uint32_t gpu) {
  return word >> 26 == (gpu & all_gfx9 ? 0x30 : 0x3d);
}

/// SDWA and DPP of gfx9, whose names do not tell: the first source stands for a second word.
constexpr uint32_t kSdwa = 0xf9, kDpp = 0xfa;
bool has_second_word(const uint32_t *words, uint32_t source) {
  return !(words[0] >> 31) && (words[0] & 0x1ff) == source;
}

/// Whether a part of the vector register is written, on gfx9. With a second, scalar destination
/// there are no bits for that.
bool writes_part(const uint32_t *words, const HazardUse &use) {
  if (touches(use.writes, kScalars)) return false;
  constexpr uint32_t whole = 6;
  if (has_second_word(words, kSdwa)) return (words[1] >> 8 & 7) != whole;
  const bool is_vop3 = words[0] >> 26 == 0x34 && words[0] >> 23 != 0x1a7;
  return is_vop3 && words[0] >> 14 & 1;
}

/// What is stored, if it is more than 64 bits and not read at once.
ObservedRange wide_data(std::string_view name, const HazardUse &use) {
  const bool stores = name.find("store") != name.npos || name.find("atomic") != name.npos;
  if (!stores || name.starts_with("image_")) return {};
  const bool is_buffer = name.find("buffer_") != name.npos;
  for (const ObservedRange &r : use.reads) // an offset in a register takes the time that is needed
    if (is_buffer && !r.vector && r.count == 1 && r.first <= sreg::m0) return {};
  for (const ObservedRange &r : use.reads)
    if (r.vector && r.count > 2) return r;
  return {};
}

} // namespace

HazardUse HazardTable::use(const LlvmDisassembler::Registers &registers,
                           std::span<const uint8_t> bytes) const {
  HazardUse use;
  if (registers.size == 0) { // not known to LLVM: nothing is said about what is before it
    use.ends = all_;
    use.is_valu = true;
    return use;
  }
  uint32_t words[5] = {};
  std::memcpy(words, bytes.data(), std::min(bytes.size(), sizeof words));
  const std::string_view name = without_suffix(registers.mnemonic);
  use.reads = all_ranges(registers.reads);
  use.writes = all_ranges(registers.writes);
  use.opcode = registers.opcode;
  use.is_valu = name.starts_with("v_");
  if (use.is_valu)
    use.kinds = vector_kinds(name, gpu_ & all_gfx94);
  else if (is_scalar_memory(words[0], gpu_))
    use.kinds = bit(Kind::smem);
  else if (name.starts_with("s_"))
    use.kinds = scalar_kinds(name, words[0], use);
  else
    use.kinds = memory_kinds(name, words[0]);

  const std::vector<ObservedRange> named =
      ranges_of({registers.reads.begin(),
                 registers.reads.begin() + static_cast<long>(registers.named_reads)});
  if (is(use, Kind::lane)) // the second source; the first may be scalar, too
    if (const uint32_t source = words[1] >> 9 & 0x1ff; source < sreg::count)
      use.select = {false, static_cast<uint16_t>(source), 1};
  if (gpu_ & all_gfx9 && is(use, Kind::valu)) {
    if (has_second_word(words, kDpp)) {
      use.kinds |= bit(Kind::dpp);
      use.dpp = {true, static_cast<uint16_t>(words[1] & 0xff), 1};
    }
    if (registers.writes_part || writes_part(words, use)) use.kinds |= bit(Kind::part);
  }
  if (is(use, Kind::vmem)) use.data = wide_data(name, use);
  if (use.kinds & (Kind::matrix | Kind::wmma)) {
    use.passes = static_cast<uint8_t>(std::min(registers.cycles, 255u));
    for (size_t i = 0; i < std::min<size_t>(named.size(), 3); i++) use.abc[i] = named[i];
    // It adds to its destination.
    if (name.starts_with("v_smfmac") && !use.writes.empty()) use.abc[2] = use.writes.front();
  }
  if (is(use, Kind::dot)) // the last is the accumulator
    for (size_t i = 0; i + 1 < std::min<size_t>(named.size(), 3); i++) use.abc[i] = named[i];

  for (uint32_t left = all_; left; left &= left - 1) {
    const Rule &rule = rules[std::countr_zero(left)];
    const uint32_t own = 1u << std::countr_zero(left);
    if (rule.first & use.kinds && has(use, rule.from)) use.first |= own;
    if (rule.second & use.kinds && !(rule.not_second & use.kinds)) use.second |= own;
    if (rule.ended(use)) use.ends |= own;
  }
  return use;
}

uint64_t pairs_read(const HazardUse &use) {
  uint64_t pairs = 0;
  if (use.is_valu)
    for (const ObservedRange &r : use.reads)
      for (uint16_t i = 0; i < shared(r, kScalars).count; i++)
        pairs |= pair_of({false, static_cast<uint16_t>(r.first + i), 1});
  return pairs;
}

void HazardWindow::advance(const HazardTable &table, uint64_t pc, const HazardUse &use) {
  const uint64_t read_before = std::exchange(read_pairs_, read_pairs_ | pairs_read(use));
  if (use.leaves && !keeps_over_calls_) return recent_.clear();
  for (Recent &r : recent_) HazardTable::pass(r.passed, use);
  std::erase_if(recent_, [&](const Recent &r) { return table.is_over(*r.use, r.passed); });
  constexpr size_t most = 64; // where nothing but certain instructions ends a hazard
  if (recent_.size() >= most) recent_.erase(recent_.begin());
  if (use.first) recent_.push_back({pc, &use, {}, read_before});
}

} // namespace fade::sim
