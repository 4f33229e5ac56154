// Wait states that a GPU leaves to the program: between some instructions so many others must be
// executed, or the second sees registers as they were before the first. Compilers see to it with
// s_nop; nobody does for assembly, and compilers do not look into statements of it.
//
// The facts are those of AMD's instruction set manuals ("manually inserted wait states", "data
// hazards"), and for what these do not name (gfx10 and later) the errata that compilers work
// around. A rule is a row of a table in hazards.cpp; those of matrix instructions depend on how
// long these take and are computed (matrix_hazards.cpp).
//
//   HazardTable    the rules of one GPU
//   HazardUse      what they need to know of an instruction; made once for each
//   HazardWindow   the instructions that a wave has just executed
//   find_hazards   the same for code that nobody executes, along all of its paths
#pragma once

#include "isa/llvm_mc.h"

#include <fade/observer.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace fade::sim {

/// What an instruction is, as far as rules ask.
enum class HazardKind : uint32_t {
  valu = 1u << 0,
  salu = 1u << 1,
  smem = 1u << 2,
  vmem = 1u << 3, // buffer, image, flat, global, scratch
  lds = 1u << 4,
  exports = 1u << 5,
  trans = 1u << 6,     // transcendental
  matrix = 1u << 7,    // v_mfma, v_smfmac
  matrix64 = 1u << 8,  // those of f64
  xdl = 1u << 9,       // those that are not of f64, on gfx94x nor of f32
  dot = 1u << 10,      // v_dot*
  wmma = 1u << 11,     // v_wmma, v_swmmac
  dpp = 1u << 12,      // reads other lanes
  lane = 1u << 13,     // v_readlane, v_writelane: a lane is selected
  one_lane = 1u << 14, // v_readlane, v_readfirstlane
  any_lane = 1u << 15, // all three
  div_fmas = 1u << 16,
  set_register = 1u << 17, // s_setreg
  get_register = 1u << 18,
  uses_m0 = 1u << 19, // by a way that does not wait for it
  part = 1u << 20,    // writes a part of a vector register: SDWA, op_sel
  fma64 = 1u << 21,
  permlane = 1u << 22,
  compare_exec = 1u << 23, // v_cmpx
  denorm_mode = 1u << 24,
  float_atomic = 1u << 25,
  accumulator_read = 1u << 26, // v_accvgpr_read, v_accvgpr_write
  accumulator_write = 1u << 27,
  // What ends a hazard without being counted.
  waits_vector = 1u << 28,  // until vector ALU results are written: depctr va_vdst(0)
  waits_sources = 1u << 29, // until memory instructions have read registers: depctr vm_vsrc(0)
  waits_scalar = 1u << 30,  // until scalar ALU results are written: depctr sa_sdst(0)
  waits_loads = 1u << 31,   // until scalar loads are there: lgkmcnt(0)
};
constexpr uint32_t operator|(HazardKind a, HazardKind b) {
  return static_cast<uint32_t>(a) | static_cast<uint32_t>(b);
}
constexpr uint32_t operator|(uint32_t a, HazardKind b) { return a | static_cast<uint32_t>(b); }

struct HazardUse {
  uint32_t kinds = 0;
  uint32_t first = 0, second = 0;           // rules in which it can be the one or the other
  uint32_t ends = 0;                        // rules that it ends
  uint8_t states = 1;                       // that it takes: s_nop
  uint8_t passes = 0;                       // matrix instructions: how long they take
  uint16_t hardware_register = 0;           // s_setreg, s_getreg
  uint32_t opcode = 0;                      // LLVM's number
  bool leaves = false;                      // calls and returns: what follows is elsewhere
  bool is_valu = false;                     // and be it v_nop
  bool is_counted_scalar = false;           // a scalar ALU instruction that does something
  bool is_wait = false;                     // s_waitcnt and its like
  bool saves_exec = false;                  // s_*_saveexec: EXEC is not its destination
  std::vector<ObservedRange> reads, writes; // with EXEC
  ObservedRange select{};                   // lanes: which
  ObservedRange data{};                     // stores of more than 64 bits: what is stored
  ObservedRange dpp{};                      // what is read of other lanes
  std::array<ObservedRange, 3> abc{};       // operands and accumulator of matrices
};

struct Hazard {
  const char *rule = ""; // "VALU write of an SGPR, then VALU read of it"
  const char *cure = ""; // empty: s_nop
  uint64_t first = 0, pc = 0;
  ObservedRange at{}; // the register; count 0: none
  unsigned present = 0, needed = 0;
  bool is_obscured = false; // only if VALU has read the register before
};

class HazardTable {
public:
  /// "gfx942". One that is not known has no rules.
  explicit HazardTable(std::string_view gpu);

  bool has_rules() const { return all_ != 0; }
  HazardUse use(const LlvmDisassembler::Registers &registers, std::span<const uint8_t> bytes) const;

  /// How much may come between two instructions until nothing is left of the first.
  static constexpr unsigned longest = 20;
  struct Passed { // since the first
    unsigned states = 0, valus = 0, trans = 0, scalars = 0;
    uint32_t ended = 0; // rules
  };
  static void pass(Passed &passed, const HazardUse &use);
  /// Whether nothing can be found behind it any more.
  bool is_over(const HazardUse &first, const Passed &passed) const;
  /// What is missing between two instructions; the rule with the most. `needed` is 0 if nothing is.
  Hazard between(const HazardUse &first, const HazardUse &second, const Passed &passed) const;

private:
  struct Rule;
  static const Rule rules[];
  uint32_t all_ = 0; // rules of this GPU
  uint32_t gpu_ = 0; // its bit there
};

/// The bit of a scalar register, of a set of pairs of them.
constexpr uint64_t pair_of(const ObservedRange &scalar) { return 1ull << (scalar.first / 2 % 64); }
/// Those that a VALU instruction reads.
uint64_t pairs_read(const HazardUse &use);

/// What a wave has executed last.
class HazardWindow {
public:
  /// `keeps_over_calls`: else nothing is left behind a call or return, which takes longer than any
  /// of this on the cards that are known.
  explicit HazardWindow(bool keeps_over_calls = false) : keeps_over_calls_(keeps_over_calls) {}
  void clear() { recent_.clear(), read_pairs_ = 0; }
  /// The next one, which must live as long as the window: what it comes too early for.
  template <class Report>
  void step(const HazardTable &table, uint64_t pc, const HazardUse &use, Report &&report) {
    if (use.second)
      for (const Recent &r : recent_)
        if (r.use->first & use.second & ~r.passed.ended) {
          Hazard found = table.between(*r.use, use, r.passed);
          if (!found.needed || (found.is_obscured && !(r.read_before & pair_of(found.at))))
            continue;
          found.first = r.pc, found.pc = pc;
          report(found);
        }
    advance(table, pc, use);
  }

private:
  struct Recent {
    uint64_t pc;
    const HazardUse *use;
    HazardTable::Passed passed;
    uint64_t read_before; // like read_pairs_
  };
  void advance(const HazardTable &table, uint64_t pc, const HazardUse &use);
  const bool keeps_over_calls_;
  std::vector<Recent> recent_;
  uint64_t read_pairs_ = 0; // scalar registers that VALU has read, two in a bit
};

/// In code that begins at `base`, such as all of .text. Each pair of instructions once.
std::vector<Hazard> find_hazards(const char *gpu, bool wave32, std::span<const uint8_t> code,
                                 uint64_t base);

} // namespace fade::sim
