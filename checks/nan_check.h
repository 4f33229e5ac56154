// nan: where a NaN or an infinity originates that ends up in memory.
//
// Each instruction that computes floating-point values is looked at: a result that is NaN or
// infinite though no operand is originates there. From then on it is followed, lane by lane,
// through registers and LDS; what is computed from it belongs to the same cause, what is not
// selected or overwritten is forgotten, and it is reported when a lane stores it to global memory.
// What was NaN or infinite when it was loaded, and constants, are wanted, and nobody's cause; a NaN
// that is made of wanted infinities (inf - inf) originates there, too.
//
// Library functions select constants where their operands are out of range (powf of a negative
// number). Such a selection, by comparisons of finite values, is an origin, too; whether it is in a
// library function is known when lines are looked up, and what is not, is dropped then.
//
// Denormals that are flushed (precision): a result of 0 that is none by the operands. Whether MODE
// or the instruction itself flushes need not be known. Only the 0 itself is followed: what is
// computed from it may be what it would have been.
#pragma once

#include "checks/reporter.h"

#include <array>
#include <bitset>
#include <string>
#include <unordered_map>
#include <vector>

namespace fade::checks {

enum class FloatType : uint8_t { none, f16, bf16, f32, f64 };

/// What an instruction computes, by its name.
struct FloatOperation {
  FloatType result = FloatType::none, source = FloatType::none;
  bool is_packed = false; ///< two 16-bit results in a register
  bool is_matrix = false; ///< results depend on other lanes
  bool is_conversion = false;
  bool is_division = false; ///< the last step of one, which decides by the second and third operand
  bool is_scalar = false;   ///< the scalar unit's
  enum class Flow : uint8_t { other, move, select, compare, masks };
  Flow flow =
      Flow::other; ///< of those that compute no values: what they do with constants and masks
  enum class Arithmetic : uint8_t { other, product, sum, fused, conversion };
  Arithmetic arithmetic = Arithmetic::other; ///< of which it is known what the result should be
};
FloatOperation floatOperation(std::string_view name);

/// Whether f32 or, of a conversion, f16 holds a value that is not 0 where these operands give 0:
/// that was flushed. Their signs do not matter, because instructions can change them.
bool isFlushed(const FloatOperation &operation, const double *operands, unsigned count);

/// Births of a workgroup, and what of them lies in LDS.
struct NanGroup {
  struct Cause {
    Finding finding;
    bool is_precision = false; ///< overflow of a conversion, or flushed
    bool is_flush = false;
    bool is_selected = false; ///< a constant
    bool isWeak() const { return is_flush || is_selected; }
  };
  std::vector<Cause> causes;
  std::unordered_map<uint64_t, uint32_t> by_site; ///< number in causes + 1
  std::unordered_map<uint64_t, uint32_t> lds;     ///< by dword
  bool looks_for_flushes = false;
  void begin() { causes.clear(), by_site.clear(), lds.clear(); }
};

/// One wave's.
class NanValues {
public:
  void begin() { *this = {}; }
  /// Told before it is executed.
  void registers(const ObservedWave &wave, const ObservedInstruction &instruction, uint64_t site,
                 NanGroup &group, const ObservedMemory &memory, const Reporter &reporter);
  /// Likewise, behind registers() of the same instruction.
  void access(const ObservedWave &wave, const ObservedAccess &access, NanGroup &group,
              bool reports_births, bool reports_precision, Reporter &reporter);

private:
  static constexpr unsigned kRegisters = 512, kMostResults = 32;
  using Row = std::array<uint32_t, 64>;
  /// The instruction before, whose results are there when the next one is told of.
  struct Step {
    bool is_there = false;
    FloatOperation operation;
    uint64_t site = 0, lanes = 0;
    uint64_t had_nan = 0, had_inf = 0; ///< lanes of which an operand was
    std::array<uint32_t, 64> cause{};  ///< of an operand; 0: none
    std::vector<ObservedRange> writes;
    /// Operands that have a cause, of what moves values.
    struct Source {
      Row values, causes;
      uint64_t decides = 0; ///< lanes whose result depends on it; of what was flushed
    };
    std::vector<Source> sources;
    std::array<std::string, 3> shown; ///< operands, of the first lane
    const char *name = "";
    std::vector<std::array<uint32_t, 64>> operands; ///< dwords of up to three operands
    std::vector<uint8_t> operand_dwords;
    bool is_load = false;
    std::array<Row, 4> loaded{}; ///< causes
    bool crosses_lanes = false;
    // Of a selection: lanes that comparisons of finite values have decided, and those that get the
    // value of a register which holds no constant.
    uint64_t decided = 0, variable = 0;
  };

  void finish(const ObservedWave &wave, NanGroup &group, const Reporter &reporter);
  void finishFloat(const ObservedWave &wave, NanGroup &group, const Reporter &reporter);
  void finishMove(const ObservedWave &wave, NanGroup &group, const Reporter &reporter);
  enum class Birth : uint8_t { nan, infinity, flush, selected_nan, selected_infinity };
  /// Constants, and what comparisons have found, before the instruction is executed.
  void follow(const ObservedWave &wave, const ObservedInstruction &instruction,
              const FloatOperation &operation);
  void followMasks(const ObservedWave &wave, const ObservedInstruction &instruction,
                   const FloatOperation &operation);
  void finishScalarFloat(const ObservedWave &wave, NanGroup &group, const Reporter &reporter);
  /// Lanes in which a selection has an operand that is NaN or infinite, and takes it.
  static uint64_t takes(const ObservedWave &wave, const ObservedInstruction &instruction,
                        const ObservedRange &operand);
  uint32_t causeOf(const ObservedWave &wave, unsigned lane, Birth birth, NanGroup &group,
                   const Reporter &reporter);
  bool wasFlushed(unsigned lane) const;
  void readOperands(const ObservedWave &wave, const ObservedInstruction &instruction,
                    const NanGroup &group);
  bool hasCause(unsigned number) const { return tagged_[number / 64] >> number % 64 & 1; }
  void setCause(unsigned number, unsigned lane, uint32_t cause);
  void addSources(const ObservedWave &wave, const ObservedInstruction &instruction,
                  const NanGroup &group);
  /// What the scalar registers hold that the last instruction has written.
  void finishScalars(const ObservedWave &wave);
  void load(const ObservedAccess &access, const NanGroup &group);
  void keep(const ObservedAccess &access, unsigned dword, unsigned lane, uint32_t cause);

  Step step_;
  std::array<uint64_t, kRegisters / 64> tagged_{}; ///< registers of which some lane has a cause
  std::unordered_map<unsigned, Row> causes_;       ///< by register
  std::unordered_map<unsigned, uint32_t> scalars_; ///< by scalar register
  std::bitset<kRegisters> constants_;              ///< registers that hold a constant
  std::bitset<128> scalar_constants_;
  /// Masks that comparisons have made, by scalar register: lanes with an operand that was NaN or
  /// infinite.
  std::unordered_map<unsigned, uint64_t> masks_;
  std::unordered_map<uint64_t, Row> kept_;                  ///< private memory, by dword
  std::unordered_map<uint64_t, FloatOperation> operations_; ///< by pc
};

} // namespace fade::checks
