#include "checks/nan_check.h"

#include "checks/allocations.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace fade::checks {
namespace {

FloatType typeOf(std::string_view word) {
  if (word == "f16") return FloatType::f16;
  if (word == "bf16") return FloatType::bf16;
  if (word == "f32") return FloatType::f32;
  if (word == "f64") return FloatType::f64;
  return FloatType::none;
}

bool isOtherType(std::string_view word) {
  if (word.size() < 2 || std::string_view("iub").find(word[0]) == std::string_view::npos)
    return false;
  return std::ranges::all_of(word.substr(1), [](char c) { return c >= '0' && c <= '9'; });
}

struct Kind {
  bool is_nan = false, is_inf = false;
  Kind &operator|=(Kind o) {
    is_nan |= o.is_nan, is_inf |= o.is_inf;
    return *this;
  }
};

/// Sign, exponent and fraction of so many bits.
Kind kindOfBits(uint64_t bits, unsigned exponent, unsigned fraction) {
  const uint64_t all = (uint64_t{1} << exponent) - 1;
  if ((bits >> fraction & all) != all) return {};
  const bool is_nan = (bits & ((uint64_t{1} << fraction) - 1)) != 0;
  return {is_nan, !is_nan};
}

Kind kindOf(FloatType type, uint64_t bits, bool is_packed) {
  switch (type) {
  case FloatType::f16:
  case FloatType::bf16: {
    const unsigned exponent = type == FloatType::f16 ? 5 : 8, fraction = 15 - exponent;
    Kind kind = kindOfBits(bits & 0xffff, exponent, fraction);
    if (is_packed) kind |= kindOfBits(bits >> 16 & 0xffff, exponent, fraction);
    return kind;
  }
  case FloatType::f32: return kindOfBits(bits & 0xffffffff, 8, 23);
  case FloatType::f64: return kindOfBits(bits, 11, 52);
  case FloatType::none: break;
  }
  return {};
}

bool isZero(FloatType type, uint64_t bits) {
  return (bits & (type == FloatType::f16 ? 0x7fff : 0x7fffffff)) == 0;
}

double halfValue(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double fraction = bits & 1023, sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24));
}

std::string valueText(FloatType type, uint64_t bits, bool is_packed) {
  const auto one = [&](uint32_t half) {
    return type == FloatType::f16 ? halfValue(half)
                                  : static_cast<double>(std::bit_cast<float>(half << 16));
  };
  switch (type) {
  case FloatType::f16:
  case FloatType::bf16: {
    const auto word = static_cast<uint32_t>(bits);
    return is_packed ? fmt::format("({:.6g}, {:.6g})", one(word & 0xffff), one(word >> 16))
                     : fmt::format("{:.6g}", one(word & 0xffff));
  }
  case FloatType::f64: return fmt::format("{:.9g}", std::bit_cast<double>(bits));
  default: return fmt::format("{:.6g}", std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
}

/// Operations whose result is known by those of their operands that are registers.
FloatOperation::Arithmetic arithmeticOf(std::string_view name) {
  using Arithmetic = FloatOperation::Arithmetic;
  if (name == "v_mul_f32" || name == "v_mul_legacy_f32") return Arithmetic::product;
  if (name == "v_add_f32" || name == "v_sub_f32" || name == "v_subrev_f32") return Arithmetic::sum;
  if (name == "v_fma_f32" || name == "v_fmac_f32" || name == "v_mad_f32" || name == "v_mac_f32")
    return Arithmetic::fused;
  if (name == "v_cvt_f32_f64" || name == "v_cvt_f16_f32") return Arithmetic::conversion;
  return Arithmetic::other;
}

/// Encodings with three operands can clamp a result (and then make 0 of what is below), take the
/// upper half of an operand, or multiply the result.
bool hasModifiers(uint64_t pc, const ObservedMemory &memory) {
  uint32_t words[2] = {};
  if (!memory.read(pc, words, sizeof words)) return true;
  const uint32_t kind = words[0] >> 26;
  const bool has_three = kind == 0x34 || kind == 0x35;
  return has_three && ((words[0] >> 11 & 31) != 0 || (words[1] >> 27 & 3) != 0);
}

template <class Visit> void eachLane(uint64_t lanes, Visit visit) {
  for (; lanes; lanes &= lanes - 1) visit(static_cast<unsigned>(std::countr_zero(lanes)));
}

/// NaN and infinities as programs and libraries write them, of f32, or the upper half of f64.
Kind kindOfConstant(uint32_t value) {
  switch (value & 0x7fffffff) {
  case 0x7fc00000:
  case 0x7ff80000: return {.is_nan = true, .is_inf = false};
  case 0x7f800000:
  case 0x7ff00000: return {.is_nan = false, .is_inf = true};
  default: return {};
  }
}

FloatOperation::Flow flowOf(std::string_view name) {
  using Flow = FloatOperation::Flow;
  if (name == "v_mov_b32" || name == "s_mov_b32" || name == "s_mov_b64" || name == "v_mov_b64" ||
      name == "s_movk_i32" || name == "v_accvgpr_write_b32" || name == "v_accvgpr_read_b32")
    return Flow::move;
  if (name.starts_with("v_cndmask_b32")) return Flow::select;
  if (name.starts_with("v_cmp_")) return Flow::compare;
  for (const char *logic : {"s_and", "s_or", "s_xor", "s_nand", "s_nor", "s_xnor", "s_not"})
    if (name.starts_with(logic)) return Flow::masks;
  return Flow::other;
}

/// Negation, magnitude and copysign, of an f32, the upper half of an f64, or halves.
bool setsSign(std::string_view name) {
  return name == "v_xor_b32" || name == "v_and_b32" || name == "v_or_b32" || name == "v_bfi_b32";
}

bool isSameButForSigns(uint32_t a, uint32_t b) {
  const uint32_t differ = a ^ b;
  return differ == 0 || differ == 0x80000000 || differ == 0x8000 || differ == 0x80008000;
}

bool crossesLanes(std::string_view name) {
  for (const char *part : {"permute", "permlane", "readlane", "readfirstlane", "swizzle"})
    if (name.find(part) != std::string_view::npos) return true;
  return false;
}

/// Of operands with several causes, the one that originates first; what was flushed or selected
/// comes last.
void keepFirst(uint32_t &cause, uint32_t other, const NanGroup &group) {
  const auto rank = [&](uint32_t c) { return std::pair(group.causes[c - 1].isWeak(), c); };
  if (!cause || rank(other) < rank(cause)) cause = other;
}

} // namespace

FloatOperation floatOperation(std::string_view name) {
  FloatOperation op;
  op.flow = flowOf(name);
  op.is_scalar = name.starts_with("s_");
  if ((!op.is_scalar && !name.starts_with("v_")) || op.flow != FloatOperation::Flow::other ||
      name.starts_with("s_cmp") || name.starts_with("v_cmp"))
    return op;
  op.is_matrix =
      name.starts_with("v_mfma") || name.starts_with("v_smfmac") || name.starts_with("v_wmma");
  // A product or sum of f32, and what became of it as f16.
  const bool is_narrowed = name.starts_with("v_fma_mixlo") || name.starts_with("v_fma_mixhi") ||
                           name.starts_with("v_mad_mixlo") || name.starts_with("v_mad_mixhi");
  op.is_conversion = name.starts_with("v_cvt") || is_narrowed;
  op.is_division = name.starts_with("v_div_fixup");
  bool has_result = false;
  for (std::size_t at = 2; at <= name.size();) {
    const std::size_t end = std::min(name.find('_', at), name.size());
    const std::string_view word = name.substr(at, end - at);
    at = end + 1;
    FloatType type = typeOf(word);
    if (op.is_matrix && type == FloatType::none) // 16x16x16f16
      for (const char *suffix : {"bf16", "f16", "f32", "f64"})
        if (word.ends_with(suffix)) {
          type = typeOf(suffix);
          break;
        }
    if (!has_result && (type != FloatType::none || isOtherType(word)))
      op.result = type, op.source = type, has_result = true;
    else if (type != FloatType::none || isOtherType(word))
      op.source = type;
  }
  op.is_packed =
      name.starts_with("v_pk_") || name.starts_with("v_cvt_pk") || name.starts_with("v_wmma");
  if (name.starts_with("v_fma_mix") || name.starts_with("v_mad_mix")) op.source = FloatType::f32;
  return op;
}

bool isFlushed(const FloatOperation &operation, const double *operands, unsigned count) {
  using Arithmetic = FloatOperation::Arithmetic;
  const double least = std::ldexp(1.0, operation.result == FloatType::f16 ? -24 : -149);
  const auto is_held = [&](double x) { return std::isfinite(x) && std::abs(x) >= least; };
  const auto all = [&](auto... values) { return (is_held(values) && ...); };
  switch (operation.arithmetic) {
  case Arithmetic::conversion: return count == 1 && is_held(operands[0]);
  case Arithmetic::product: return count == 2 && is_held(operands[0] * operands[1]);
  case Arithmetic::sum:
    return count == 2 && all(operands[0] + operands[1], operands[0] - operands[1]);
  case Arithmetic::fused: {
    if (count != 3) return false;
    // Which of them is added is not known of all: in whatever order, and with whatever signs.
    const double a = operands[0], b = operands[1], c = operands[2];
    return all(a * b + c, a * b - c, a * c + b, a * c - b, b * c + a, b * c - a);
  }
  case Arithmetic::other: break;
  }
  return false;
}

bool NanValues::wasFlushed(unsigned lane) const {
  std::array<double, 3> values{};
  unsigned count = 0;
  for (std::size_t i = 0; i + 1 < step_.operands.size() && count < values.size(); i += 2) {
    const uint64_t bits = step_.operands[i][lane] | uint64_t{step_.operands[i + 1][lane]} << 32;
    values[count++] = step_.operation.source == FloatType::f64
                          ? std::bit_cast<double>(bits)
                          : static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  return isFlushed(step_.operation, values.data(), count);
}

void NanValues::setCause(unsigned number, unsigned lane, uint32_t cause) {
  if (number >= kRegisters) return;
  if (!cause && !hasCause(number)) return;
  auto [at, is_new] = causes_.try_emplace(number);
  if (is_new) at->second.fill(0);
  at->second[lane] = cause;
  if (cause)
    tagged_[number / 64] |= uint64_t{1} << number % 64;
  else if (std::ranges::all_of(at->second, [](uint32_t c) { return c == 0; }))
    tagged_[number / 64] &= ~(uint64_t{1} << number % 64), causes_.erase(at);
}

/// What the operands are before they may be overwritten.
void NanValues::readOperands(const ObservedWave &wave, const ObservedInstruction &instruction,
                             const NanGroup &group) {
  const FloatOperation &op = step_.operation;
  step_.cause.fill(0);
  unsigned index = 0;
  for (uint32_t i = 0; i < instruction.reads_count; ++i) {
    const ObservedRange &range = instruction.reads[i];
    if (op.is_division && i == 0) continue;            // the quotient so far
    if (!range.vector && range.first >= 106) continue; // masks
    // An accumulator has the type of the result.
    const bool is_accumulator = op.is_matrix && instruction.writes_count &&
                                range.count == instruction.writes[0].count && range.count > 2;
    const FloatType type = is_accumulator ? op.result : op.source;
    const unsigned step = type == FloatType::f64 ? 2 : 1;
    const bool is_packed = op.is_packed || (op.is_matrix && !is_accumulator);
    for (unsigned k = 0; k < range.count; k += step) {
      const unsigned number = range.first + k;
      const auto bitsOf = [&](unsigned lane) {
        const auto word = [&](unsigned n) -> uint64_t {
          return range.vector ? wave.vector_registers[n][lane] : wave.scalar_registers[n];
        };
        return step == 2 && k + 1 < range.count ? word(number) | word(number + 1) << 32
                                                : word(number);
      };
      const auto found = range.vector && number < kRegisters && hasCause(number)
                             ? causes_.find(number)
                             : causes_.end();
      const auto scalar = range.vector ? scalars_.end() : scalars_.find(number);
      eachLane(instruction.lanes, [&](unsigned lane) {
        const Kind kind = kindOf(type, bitsOf(lane), is_packed);
        const uint64_t bit =
            op.is_matrix || instruction.selects ? ~uint64_t{0} : uint64_t{1} << lane;
        if (kind.is_nan) step_.had_nan |= bit;
        if (kind.is_inf) step_.had_inf |= bit;
        if (scalar != scalars_.end() && (kind.is_nan || kind.is_inf))
          keepFirst(step_.cause[lane], scalar->second, group);
        if (found == causes_.end() || !found->second[lane]) return;
        if (op.is_matrix || instruction.selects)
          for (uint32_t &cause : step_.cause) keepFirst(cause, found->second[lane], group);
        else
          keepFirst(step_.cause[lane], found->second[lane], group);
      });
      if (index < step_.shown.size() && k == 0) {
        std::array<uint32_t, 64> low{}, high{};
        eachLane(instruction.lanes, [&](unsigned lane) {
          const uint64_t bits = bitsOf(lane);
          low[lane] = static_cast<uint32_t>(bits), high[lane] = static_cast<uint32_t>(bits >> 32);
        });
        step_.operands.push_back(low), step_.operands.push_back(high);
        ++index;
      }
    }
  }
}

void NanValues::registers(const ObservedWave &wave, const ObservedInstruction &instruction,
                          uint64_t site, NanGroup &group, const ObservedMemory &memory,
                          const Reporter &reporter) {
  finish(wave, group, reporter);
  const auto [at, is_new] = operations_.try_emplace(instruction.pc);
  if (is_new) {
    at->second = floatOperation(instruction.name);
    // Scalar operations of other types than floats are many.
    if (at->second.is_scalar && at->second.source == FloatType::none)
      at->second.result = FloatType::none;
    if (group.looks_for_flushes && !instruction.selects && !hasModifiers(instruction.pc, memory))
      at->second.arithmetic = arithmeticOf(instruction.name);
  }
  if (!instruction.writes_count || !instruction.lanes) return;
  step_.decided = step_.variable = 0;
  follow(wave, instruction, at->second);
  step_.decided &= ~step_.variable;
  const bool is_float = at->second.result != FloatType::none && !instruction.paired;
  if (!is_float && causes_.empty() && scalars_.empty() && kept_.empty() && group.lds.empty() &&
      !step_.decided)
    return;
  step_.is_there = true;
  step_.operation = is_float ? at->second : FloatOperation{};
  step_.site = site;
  step_.lanes = instruction.lanes;
  step_.name = instruction.name;
  step_.had_nan = step_.had_inf = 0;
  step_.is_load = false;
  step_.crosses_lanes = instruction.selects || crossesLanes(instruction.name);
  step_.operands.clear();
  step_.sources.clear();
  step_.writes.assign(instruction.writes, instruction.writes + instruction.writes_count);
  if (is_float) return readOperands(wave, instruction, group);
  addSources(wave, instruction, group);
}

void NanValues::addSources(const ObservedWave &wave, const ObservedInstruction &instruction,
                           const NanGroup &group) {
  for (uint32_t i = 0; i < instruction.reads_count; ++i)
    for (unsigned k = 0; k < instruction.reads[i].count; ++k) {
      const unsigned number = instruction.reads[i].first + k;
      Step::Source source;
      if (!instruction.reads[i].vector) {
        const auto at = scalars_.find(number);
        if (at == scalars_.end()) continue;
        source.values.fill(wave.scalar_registers[number]);
        source.causes.fill(at->second);
        source.decides = ~uint64_t{0};
      } else {
        if (number >= kRegisters || !hasCause(number)) continue;
        std::copy_n(wave.vector_registers[number], 64, source.values.begin());
        source.causes = causes_.at(number);
        uint64_t caused = 0, flushed = 0;
        eachLane(instruction.lanes, [&](unsigned lane) {
          const uint32_t cause = source.causes[lane];
          if (cause) caused |= uint64_t{1} << lane;
          if (cause && group.causes[cause - 1].is_flush) flushed |= uint64_t{1} << lane;
        });
        // Many a 0 is another one's, as the lower half of a double is: whether it is this is tried.
        if (!instruction.trial) source.decides = caused & ~flushed;
        if (caused && instruction.trial) {
          const ObservedBytes input{
              true, static_cast<uint16_t>(number), {caused, caused, caused, caused}};
          std::array<ObservedBytes, 4> results;
          const uint32_t count = instruction.trial->depends(&input, 1, results.data(),
                                                            static_cast<uint32_t>(results.size()));
          for (uint32_t r = 0; r < count && r < results.size(); ++r)
            for (const uint64_t lanes : results[r].lanes)
              if (results[r].vector) source.decides |= lanes & caused;
        }
      }
      step_.sources.push_back(source);
    }
}

void NanValues::finishScalars(const ObservedWave &wave) {
  constexpr unsigned scalar_registers = 106;
  for (const ObservedRange &range : step_.writes)
    for (unsigned k = 0; !range.vector && k < range.count; ++k) {
      const unsigned number = range.first + k;
      if (number >= scalar_registers) continue;
      const uint32_t value = wave.scalar_registers[number];
      uint32_t cause = 0;
      for (const Step::Source &source : step_.sources)
        for (unsigned lane = 0; !cause && lane < wave.lanes; ++lane)
          if (source.causes[lane] && source.values[lane] == value) cause = source.causes[lane];
      if (cause)
        scalars_[number] = cause;
      else
        scalars_.erase(number);
    }
}

void NanValues::finish(const ObservedWave &wave, NanGroup &group, const Reporter &reporter) {
  if (!step_.is_there) return;
  step_.is_there = false;
  finishScalars(wave);
  if (step_.operation.result != FloatType::none && step_.operation.is_scalar)
    finishScalarFloat(wave, group, reporter);
  else if (step_.operation.result != FloatType::none)
    finishFloat(wave, group, reporter);
  else
    finishMove(wave, group, reporter);
}

void NanValues::finishFloat(const ObservedWave &wave, NanGroup &group, const Reporter &reporter) {
  const FloatOperation &op = step_.operation;
  const unsigned step = op.result == FloatType::f64 ? 2 : 1;
  const uint64_t lanes = op.is_matrix ? ~uint64_t{0} >> (64 - wave.lanes) : step_.lanes;
  for (const ObservedRange &range : step_.writes) {
    if (!range.vector) continue;
    for (unsigned k = 0; k < range.count; k += step)
      eachLane(lanes, [&](unsigned lane) {
        const unsigned number = range.first + k;
        if (number + step > kRegisters) return;
        uint64_t bits = wave.vector_registers[number][lane];
        if (step == 2) bits |= uint64_t{wave.vector_registers[number + 1][lane]} << 32;
        const Kind kind = kindOf(op.result, bits, op.is_packed);
        uint32_t cause = 0;
        if (kind.is_nan || kind.is_inf) {
          const uint64_t bit = uint64_t{1} << lane;
          const bool had =
              kind.is_nan ? step_.had_nan & bit : (step_.had_nan | step_.had_inf) & bit;
          // A NaN made of an infinity which may have been wanted originates here.
          const bool is_known = step_.cause[lane] && !group.causes[step_.cause[lane] - 1].is_flush;
          if (is_known && (had || !group.causes[step_.cause[lane] - 1].is_selected))
            cause = step_.cause[lane];
          else if (!had)
            cause =
                causeOf(wave, lane, kind.is_nan ? Birth::nan : Birth::infinity, group, reporter);
        } else if (op.arithmetic != FloatOperation::Arithmetic::other && isZero(op.result, bits) &&
                   wasFlushed(lane)) {
          cause = causeOf(wave, lane, Birth::flush, group, reporter);
        }
        setCause(number, lane, cause);
        if (step == 2) setCause(number + 1, lane, cause);
      });
  }
}

/// Of the scalar unit: one value for all lanes.
void NanValues::finishScalarFloat(const ObservedWave &wave, NanGroup &group,
                                  const Reporter &reporter) {
  const auto lane = static_cast<unsigned>(std::countr_zero(step_.lanes));
  for (const ObservedRange &range : step_.writes) {
    if (range.vector || range.count != 1 || range.first >= 106) continue;
    const Kind kind = kindOf(step_.operation.result, wave.scalar_registers[range.first], false);
    if (!kind.is_nan && !kind.is_inf) continue;
    const bool had = (kind.is_nan ? step_.had_nan : step_.had_nan | step_.had_inf) >> lane & 1;
    uint32_t cause = step_.cause[lane];
    if (!cause && !had)
      cause = causeOf(wave, lane, kind.is_nan ? Birth::nan : Birth::infinity, group, reporter);
    if (cause) scalars_[range.first] = cause;
  }
}

/// What moves values keeps their causes where it has kept the values.
void NanValues::finishMove(const ObservedWave &wave, NanGroup &group, const Reporter &reporter) {
  const bool sets_sign = setsSign(step_.name);
  for (const ObservedRange &range : step_.writes)
    for (unsigned k = 0; range.vector && k < range.count; ++k)
      eachLane(step_.lanes, [&](unsigned lane) {
        const unsigned number = range.first + k;
        if (number >= kRegisters) return;
        uint32_t cause = 0;
        if (step_.is_load && k < step_.loaded.size()) cause = step_.loaded[k][lane];
        const uint32_t value = wave.vector_registers[number][lane];
        const auto is_flush = [&](uint32_t c) { return c && group.causes[c - 1].is_flush; };
        for (const Step::Source &source : step_.sources) {
          const bool decides = source.decides >> lane & 1;
          const bool is_kept = source.values[lane] == value ||
                               (sets_sign && isSameButForSigns(source.values[lane], value));
          if (source.causes[lane] && is_kept &&
              (decides || (step_.crosses_lanes && !is_flush(source.causes[lane]))))
            cause = source.causes[lane];
          for (unsigned other = 0; step_.crosses_lanes && !cause && other < wave.lanes; ++other)
            if (source.causes[other] && !is_flush(source.causes[other]) &&
                source.values[other] == value)
              cause = source.causes[other];
        }
        // A selection whose result is a NaN or an infinity that none of the values was.
        const Kind kind = kindOfConstant(value);
        if (!cause && (kind.is_nan || kind.is_inf) && step_.decided >> lane & 1)
          cause = causeOf(wave, lane, kind.is_nan ? Birth::selected_nan : Birth::selected_infinity,
                          group, reporter);
        setCause(number, lane, cause);
      });
}

void NanValues::follow(const ObservedWave &wave, const ObservedInstruction &instruction,
                       const FloatOperation &operation) {
  using Flow = FloatOperation::Flow;
  followMasks(wave, instruction, operation);
  const auto is_constant = [&](const ObservedRange &range) {
    for (unsigned k = 0; k < range.count; ++k) {
      const unsigned number = range.first + k;
      if (range.vector ? number >= kRegisters || !constants_[number]
                       : number >= 128 || !scalar_constants_[number])
        return false;
    }
    return true;
  };
  if (operation.flow == Flow::select) {
    for (uint32_t i = 0; i < instruction.reads_count; ++i) {
      const ObservedRange &range = instruction.reads[i];
      if (!range.vector && masks_.contains(range.first)) {
        step_.decided = instruction.lanes & ~masks_[range.first];
      } else if (!is_constant(range)) {
        step_.variable |= takes(wave, instruction, range);
      }
    }
  }
  // What it moves need not be NaN or infinite: that is asked where it is selected.
  bool moves_constant = operation.flow == Flow::move && !instruction.selects;
  for (uint32_t i = 0; i < instruction.reads_count; ++i)
    moves_constant = moves_constant && is_constant(instruction.reads[i]);
  for (uint32_t i = 0; i < instruction.writes_count; ++i)
    for (unsigned k = 0; k < instruction.writes[i].count; ++k) {
      const unsigned number = instruction.writes[i].first + k;
      if (instruction.writes[i].vector && number < kRegisters) constants_[number] = moves_constant;
      if (!instruction.writes[i].vector && number < 128) scalar_constants_[number] = moves_constant;
    }
}

void NanValues::followMasks(const ObservedWave &wave, const ObservedInstruction &instruction,
                            const FloatOperation &operation) {
  using Flow = FloatOperation::Flow;
  uint64_t unusual = 0;
  bool is_known = false;
  if (operation.flow == Flow::compare) {
    const std::string_view name = instruction.name;
    const FloatType type = typeOf(name.substr(name.rfind('_') + 1));
    const unsigned step = type == FloatType::f64 ? 2 : 1;
    is_known = true;
    for (uint32_t i = 0; type != FloatType::none && i < instruction.reads_count; ++i) {
      const ObservedRange &range = instruction.reads[i];
      if (range.count != step || (!range.vector && range.first >= 106)) continue;
      eachLane(instruction.lanes, [&](unsigned lane) {
        const auto word = [&](unsigned n) -> uint64_t {
          return range.vector ? wave.vector_registers[n][lane] : wave.scalar_registers[n];
        };
        const uint64_t bits =
            step == 2 ? word(range.first) | word(range.first + 1u) << 32 : word(range.first);
        const Kind kind = kindOf(type, bits, false);
        if (kind.is_nan || kind.is_inf) unusual |= uint64_t{1} << lane;
      });
    }
  } else if (operation.flow == Flow::masks && !masks_.empty()) {
    is_known = true;
    for (uint32_t i = 0; i < instruction.reads_count; ++i) {
      const ObservedRange &range = instruction.reads[i];
      constexpr unsigned exec = 126;
      if (range.vector || range.first == exec) continue;
      const auto at = masks_.find(range.first);
      if (at == masks_.end())
        is_known = false;
      else
        unusual |= at->second;
    }
  }
  if (masks_.empty() && !is_known) return;
  for (uint32_t i = 0; i < instruction.writes_count; ++i) {
    const ObservedRange &range = instruction.writes[i];
    if (range.vector || range.first == kObservedScc) continue;
    for (unsigned k = 0; k < range.count; ++k) masks_.erase(range.first + k);
    if (is_known) masks_[range.first] = unusual;
  }
}

uint64_t NanValues::takes(const ObservedWave &wave, const ObservedInstruction &instruction,
                          const ObservedRange &operand) {
  uint64_t unusual = 0;
  eachLane(instruction.lanes, [&](unsigned lane) {
    const Kind kind = kindOfConstant(operand.vector ? wave.vector_registers[operand.first][lane]
                                                    : wave.scalar_registers[operand.first]);
    if (kind.is_nan || kind.is_inf) unusual |= uint64_t{1} << lane;
  });
  if (!unusual || !operand.vector || !instruction.trial) return unusual;
  const ObservedBytes input{true, operand.first, {unusual, unusual, unusual, unusual}};
  ObservedBytes result;
  if (!instruction.trial->depends(&input, 1, &result, 1)) return 0;
  return unusual & (result.lanes[0] | result.lanes[1] | result.lanes[2] | result.lanes[3]);
}

uint32_t NanValues::causeOf(const ObservedWave &wave, unsigned lane, Birth birth, NanGroup &group,
                            const Reporter &reporter) {
  constexpr uint64_t flush_bit = uint64_t{1} << 63;
  uint32_t &number = group.by_site[step_.site ^ (birth == Birth::flush ? flush_bit : 0)];
  if (number) return number;
  const FloatOperation &op = step_.operation;
  std::string operands;
  for (std::size_t i = 0; i + 1 < step_.operands.size(); i += 2)
    operands += fmt::format(
        "{}{}", operands.empty() ? "" : ", ",
        valueText(op.source, step_.operands[i][lane] | uint64_t{step_.operands[i + 1][lane]} << 32,
                  op.is_packed && !op.is_conversion));
  NanGroup::Cause cause;
  cause.is_flush = birth == Birth::flush;
  cause.is_selected = birth == Birth::selected_nan || birth == Birth::selected_infinity;
  cause.is_precision = cause.is_flush || (op.is_conversion && birth == Birth::infinity);
  const bool is_nan = birth == Birth::nan || birth == Birth::selected_nan;
  cause.finding = reporter.begin(cause.is_precision ? Check::precision : Check::nan,
                                 cause.is_flush       ? Problem::flushed
                                 : cause.is_precision ? Problem::overflow
                                 : is_nan             ? Problem::nan_born
                                                      : Problem::infinity_born);
  cause.finding.limit = cause.is_selected ? 1 : 0;
  cause.finding.place = reporter.place(wave, lane, step_.site, AccessKind::load, 4);
  cause.finding.rule = FindingLog::instance().string(
      op.is_matrix || operands.empty() ? std::string(step_.name)
                                       : fmt::format("{} of {}", step_.name, operands));
  group.causes.push_back(cause);
  return number = static_cast<uint32_t>(group.causes.size());
}

/// What lies in LDS or private memory comes back.
void NanValues::load(const ObservedAccess &access, const NanGroup &group) {
  const bool in_lds = access.space == AccessSpace::lds;
  if (in_lds ? group.lds.empty() : access.space != AccessSpace::scratch || kept_.empty()) return;
  if (!step_.is_load) step_.loaded = {};
  step_.is_load = true;
  const std::size_t dwords = std::max(1u, access.size / 4);
  for (unsigned k = 0; k < std::min(dwords, step_.loaded.size()); ++k)
    eachLane(access.lanes, [&](unsigned lane) {
      const uint64_t dword = access.address[lane] / 4 + k;
      if (in_lds) {
        const auto at = group.lds.find(dword);
        step_.loaded[k][lane] = at == group.lds.end() ? 0 : at->second;
      } else {
        const auto at = kept_.find(dword);
        step_.loaded[k][lane] = at == kept_.end() ? 0 : at->second[lane];
      }
    });
}

void NanValues::keep(const ObservedAccess &access, unsigned dword, unsigned lane, uint32_t cause) {
  const uint64_t number = access.address[lane] / 4 + dword;
  if (cause) {
    kept_.try_emplace(number, Row{}).first->second[lane] = cause;
  } else if (const auto at = kept_.find(number); at != kept_.end()) {
    at->second[lane] = 0;
    if (std::ranges::all_of(at->second, [](uint32_t c) { return c == 0; })) kept_.erase(at);
  }
}

void NanValues::access(const ObservedWave &wave, const ObservedAccess &access, NanGroup &group,
                       bool reports_births, bool reports_precision, Reporter &reporter) {
  if (access.path == AccessPath::scalar || access.data == ObservedAccess::none) return;
  const unsigned dwords = std::max(1u, access.size / 4);
  if (access.kind == AccessKind::load) return load(access, group);
  if (causes_.empty() && (access.space != AccessSpace::lds || group.lds.empty()) &&
      (access.space != AccessSpace::scratch || kept_.empty()))
    return;
  for (unsigned k = 0; k < dwords; ++k) {
    const unsigned number = access.data + k;
    const auto found =
        number < kRegisters && hasCause(number) ? causes_.find(number) : causes_.end();
    eachLane(access.lanes, [&](unsigned lane) {
      const uint32_t cause = found == causes_.end() ? 0 : found->second[lane];
      if (access.space == AccessSpace::lds) {
        if (cause)
          group.lds[access.address[lane] / 4 + k] = cause;
        else
          group.lds.erase(access.address[lane] / 4 + k);
        return;
      }
      if (access.space == AccessSpace::scratch) return keep(access, k, lane, cause);
      if (!cause) return;
      // Both halves of a double are one value.
      const auto before = k ? causes_.find(number - 1) : causes_.end();
      if (before != causes_.end() && before->second[lane] == cause) return;
      const NanGroup::Cause &born = group.causes[cause - 1];
      if (!(born.is_precision ? reports_precision : reports_births)) return;
      Finding f = born.finding;
      f.other = reporter.place(wave, lane, access.pc, access.kind, access.size);
      f.space = static_cast<uint32_t>(access.space);
      f.address = access.address[lane] + 4 * k;
      if (const auto a = AllocationMap::instance().find(f.address)) {
        f.allocation = a->info();
        f.distance = static_cast<int64_t>(f.address - a->base);
      }
      reporter.report(f);
    });
  }
}

} // namespace fade::checks
