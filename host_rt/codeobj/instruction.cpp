#include "codeobj/instruction.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace fade::codeobj {
namespace {

using Tokens = std::vector<std::string_view>;

Tokens split(std::string_view text, char separator) {
  Tokens tokens;
  while (!text.empty()) {
    std::size_t end = std::min(text.find(separator), text.size());
    tokens.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return tokens;
}

bool contains(const Tokens &tokens, std::string_view token) {
  return std::ranges::find(tokens, token) != tokens.end();
}

template <std::size_t N>
bool isOneOf(std::string_view text, const std::array<std::string_view, N> &list) {
  return std::ranges::find(list, text) != list.end();
}

std::optional<unsigned> number(std::string_view digits) {
  unsigned value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
    return std::nullopt;
  return value;
}

bool isFloatType(std::string_view type) {
  return type == "f16" || type == "f32" || type == "f64" || type == "bf16" || type == "fp8" ||
         type == "bf8";
}

// --- Widths -------------------------------------------------------------------------------------

/// "dwordx4" is 16, "b96" 12, "ubyte" and "u8" 1, "xyz" (a format of dwords) 12; 0 if the token is
/// no width.
unsigned widthOf(std::string_view token) {
  if (token.starts_with("dword")) {
    if (token == "dword") return 4;
    return 4 * number(token.substr(6)).value_or(0);
  }
  for (std::string_view prefix : {"b", "u", "i", "f", "bf"})
    if (token.starts_with(prefix))
      if (auto bits = number(token.substr(prefix.size()))) return *bits / 8;
  if (token.ends_with("byte")) return 1;
  if (token.ends_with("short")) return 2;
  if (token == "x" || token == "xy" || token == "xyz" || token == "xyzw")
    return static_cast<unsigned>(4 * token.size());
  return 0;
}

/// The width of a load or store: the first token that names one. "d16" halves a format and leaves
/// the rest.
unsigned accessWidth(const Tokens &tokens) {
  bool format = contains(tokens, "format");
  for (auto it = tokens.rbegin(); it != tokens.rend(); ++it)
    if (unsigned width = widthOf(*it)) return format && contains(tokens, "d16") ? width / 2 : width;
  return 0;
}

/// Atomics name their type last ("add_u32", "pk_add_f16", "add_x2", or nothing for 32 bits); "rtn"
/// comes after it.
unsigned atomicWidth(Tokens tokens) {
  while (!tokens.empty() && (tokens.back() == "rtn" || tokens.back() == "e32")) tokens.pop_back();
  if (contains(tokens, "pk")) return 4;
  if (!tokens.empty() && tokens.back() == "x2") return 8;
  unsigned width = tokens.empty() ? 0 : widthOf(tokens.back());
  return width != 0 ? width : 4;
}

// --- Memory instructions ------------------------------------------------------------------------

InstructionInfo classifyVectorMemory(MemorySpace space, const Tokens &tokens,
                                     std::string_view text) {
  InstructionInfo info;
  info.unit = Unit::Vmem;
  info.space = space;
  if (contains(tokens, "atomic")) {
    info.memory = MemoryOperation::Atomic;
    info.width = atomicWidth(tokens);
  } else if (contains(tokens, "load") || contains(tokens, "sample") ||
             contains(tokens, "gather4")) {
    info.memory = MemoryOperation::Load;
    info.width = accessWidth(tokens);
    // "buffer_load_dword v1, s[8:11], 0 offen lds", "global_load_lds_dwordx4"
    info.also_lds = contains(tokens, "lds") || text.ends_with(" lds") ||
                    text.find(" lds ") != std::string_view::npos;
  } else if (contains(tokens, "store")) {
    info.memory = MemoryOperation::Store;
    info.width = accessWidth(tokens);
  } else {
    info.unit = Unit::Other; // buffer_wbl2, global_inv: caches, not data
    info.space = MemorySpace::None;
  }
  return info;
}

InstructionInfo classifyScalarMemory(const Tokens &tokens) {
  InstructionInfo info;
  info.unit = Unit::Smem;
  if (contains(tokens, "atomic")) {
    info.memory = MemoryOperation::Atomic;
    info.width = atomicWidth(tokens);
  } else if (contains(tokens, "load") || contains(tokens, "store")) {
    info.memory = contains(tokens, "load") ? MemoryOperation::Load : MemoryOperation::Store;
    info.width = accessWidth(tokens);
  } else {
    return info; // s_memtime, s_dcache_inv
  }
  info.space = contains(tokens, "scratch") ? MemorySpace::Scratch : MemorySpace::Constant;
  return info;
}

InstructionInfo classifyLds(const Tokens &tokens) {
  // The names before and after gfx11: read and load, write and store.
  static constexpr std::array<std::string_view, 12> kNoMemory = {
      "permute", "bpermute", "swizzle", "nop",    "gws",     "bvh",
      "ordered", "param",    "direct",  "append", "consume", "barrier"};
  InstructionInfo info;
  info.unit = Unit::Lds;
  std::string_view operation = tokens.size() > 1 ? tokens[1] : "";
  if (isOneOf(operation, kNoMemory)) return info; // cross-lane traffic and counters
  info.space = MemorySpace::Lds;
  auto starts = [&](std::string_view prefix) { return operation.starts_with(prefix); };
  bool exchange = contains(tokens, "wrxchg") || contains(tokens, "wrxchg2") ||
                  contains(tokens, "wrxchg2st64") || contains(tokens, "storexchg");
  if (!exchange && (starts("read") || starts("load")))
    info.memory = MemoryOperation::Load;
  else if (!exchange && (starts("write") || starts("store")))
    info.memory = MemoryOperation::Store;
  else
    info.memory = MemoryOperation::Atomic;
  const bool is_atomic = info.memory == MemoryOperation::Atomic;
  info.has_two_addresses =
      contains(tokens, "2addr") ||
      ((exchange || !is_atomic) && (operation.ends_with('2') || operation.ends_with("2st64")));
  info.width =
      (is_atomic ? atomicWidth(tokens) : accessWidth(tokens)) * (info.has_two_addresses ? 2 : 1);
  return info;
}

// --- Arithmetic ---------------------------------------------------------------------------------

/// Operands of one lane, for the old names that leave out the number of blocks ("32x32x1f32").
unsigned elementsPerLane(std::string_view type) {
  if (type == "f16" || type == "i8" || type == "bf16_1k") return 4;
  if (type == "bf16") return 2;
  return 1; // f32, f64
}

/// "v_mfma_f32_32x32x8f16", "v_mfma_f32_16x16x4_4b_f32", "v_wmma_f32_16x16x16_f16".
uint32_t matrixFlops(std::string_view mnemonic) {
  std::size_t x = mnemonic.find('x');
  while (x != std::string_view::npos) {
    std::size_t begin = mnemonic.find_last_not_of("0123456789", x - 1) + 1;
    std::string_view shape = mnemonic.substr(begin);
    Tokens parts = split(shape, 'x');
    if (x > begin && parts.size() >= 3) {
      std::size_t digits = std::min(parts[2].find_first_not_of("0123456789"), parts[2].size());
      auto m = number(parts[0]), n = number(parts[1]), k = number(parts[2].substr(0, digits));
      if (m && n && k && *m != 0 && *k != 0) {
        std::string_view rest = parts[2].substr(digits); // "f16", "_f16", "_2b_f32", "bf16_1k"
        unsigned blocks = 1;
        if (!rest.starts_with('_'))
          blocks = std::max(1u, 64 * elementsPerLane(rest) / (*m * *k));
        else if (Tokens words = split(rest.substr(1), '_');
                 !words.empty() && words[0].ends_with('b'))
          blocks = number(words[0].substr(0, words[0].size() - 1)).value_or(1);
        return 2 * *m * *n * *k * blocks;
      }
    }
    x = mnemonic.find('x', x + 1);
  }
  return 0;
}

/// "f32", "16x16x16f16", "bf16".
NumberType numberType(std::string_view token) {
  static constexpr std::array<std::pair<std::string_view, NumberType>, 11> kTypes = {
      {{"bf16", NumberType::Bf16},
       {"f16", NumberType::F16},
       {"f32", NumberType::F32},
       {"xf32", NumberType::F32},
       {"f64", NumberType::F64},
       {"fp8", NumberType::F8},
       {"bf8", NumberType::F8},
       {"f8f6f4", NumberType::F8},
       {"i8", NumberType::Integer},
       {"iu8", NumberType::Integer},
       {"iu4", NumberType::Integer}}};
  for (const auto &[name, type] : kTypes)
    if (token.ends_with(name)) return type;
  return NumberType::None;
}

/// The last type that the name has: that of the operands ("v_dot2_f32_f16", "v_mfma_f32_4x4x4f16").
NumberType operandType(const Tokens &tokens) {
  for (auto it = tokens.rbegin(); it != tokens.rend(); ++it)
    if (const NumberType type = numberType(*it); type != NumberType::None) return type;
  return NumberType::None;
}

/// Of one half of a v_dual_ pair or of a whole instruction, without the encoding's suffix.
uint32_t laneFlops(Tokens tokens) {
  static constexpr std::array<std::string_view, 5> kEncodings = {"e32", "e64", "sdwa", "dpp",
                                                                 "dpp8"};
  static constexpr std::array<std::string_view, 4> kOne = {"add", "sub", "subrev", "mul"};
  static constexpr std::array<std::string_view, 8> kTwo = {"fma",   "fmac",  "mad",   "mac",
                                                           "fmaak", "fmamk", "madak", "madmk"};
  static constexpr std::array<std::string_view, 8> kTranscendental = {"rcp", "rsq", "sqrt", "exp",
                                                                      "log", "sin", "cos",  "tanh"};
  while (!tokens.empty() && isOneOf(tokens.back(), kEncodings)) tokens.pop_back();
  if (tokens.size() < 3 || tokens[0] != "v") return 0;
  tokens.erase(tokens.begin());
  if (tokens[0] == "dual" || tokens[0] == "s") tokens.erase(tokens.begin());
  unsigned lanes = 1;
  if (tokens[0] == "pk") {
    lanes = 2;
    tokens.erase(tokens.begin());
  }
  if (tokens.size() < 2) return 0;
  std::string_view operation = tokens[0], type = tokens.back();
  if (operation.starts_with("dot") && isFloatType(tokens[1])) {
    // dot2 is two multiplications and two additions
    auto terms = number(operation.substr(3, 1));
    return terms ? 2 * *terms : 0;
  }
  if (!isFloatType(type)) return 0;
  if (operation == "div") return tokens[1] == "fmas" ? 2 : 0;
  if (isOneOf(operation, kOne)) return lanes;
  if (isOneOf(operation, kTwo)) return 2 * lanes;
  return isOneOf(operation, kTranscendental) ? 1 : 0;
}

InstructionInfo classifyVector(std::string_view mnemonic, const Tokens &tokens,
                               std::string_view text) {
  InstructionInfo info;
  info.unit = Unit::Valu;
  std::string_view operation = tokens.size() > 1 ? tokens[1] : "";
  if (operation == "mfma" || operation == "smfmac" || operation == "wmma" ||
      operation == "swmmac") {
    info.unit = Unit::Matrix;
    info.wave_flops = matrixFlops(mnemonic);
    info.flop_type = operandType(tokens);
    return info;
  }
  info.lane_flops = laneFlops(tokens);
  info.is_packed = operation == "pk" || operation.starts_with("dot");
  // v_dual_mul_f32 v0, v1, v2 :: v_dual_add_f32 v3, v4, v5
  if (std::size_t second = text.find(":: "); second != std::string_view::npos) {
    std::string_view other = text.substr(second + 3);
    const Tokens second_tokens = split(other.substr(0, other.find(' ')), '_');
    const uint32_t flops = laneFlops(second_tokens);
    if (info.lane_flops == 0 && flops != 0) info.flop_type = operandType(second_tokens);
    info.lane_flops += flops;
  }
  if (info.lane_flops != 0 && info.flop_type == NumberType::None)
    info.flop_type = operandType(tokens);
  return info;
}

// --- Scalar instructions ------------------------------------------------------------------------

InstructionInfo branch(Flow flow) {
  InstructionInfo info;
  info.unit = Unit::Branch;
  info.flow = flow;
  return info;
}

InstructionInfo simple(Unit unit) {
  InstructionInfo info;
  info.unit = unit;
  return info;
}

InstructionInfo classifyScalar(std::string_view mnemonic, const Tokens &tokens) {
  static constexpr std::array<std::string_view, 9> kMemory = {
      "load", "store", "buffer", "scratch", "atomic", "dcache", "memtime", "memrealtime", "atc"};
  static constexpr std::array<std::string_view, 20> kHints = {
      "nop",  "sleep",  "clause",       "sendmsg",      "sendmsghalt", "sethalt", "setprio",
      "trap", "icache", "incperflevel", "decperflevel", "ttracedata",  "inst",    "delay",
      "code", "set",    "prefetch",     "gl1",          "round",       "version"};
  if (mnemonic == "s_branch") return branch(Flow::Jump);
  if (mnemonic.starts_with("s_cbranch") && mnemonic != "s_cbranch_join" &&
      !mnemonic.ends_with("_fork"))
    return branch(Flow::Conditional);
  if (mnemonic.starts_with("s_cbranch")) return branch(Flow::Indirect);
  if (mnemonic == "s_setpc_b64" || mnemonic == "s_rfe_b64" || mnemonic == "s_rfe_restore_b64")
    return branch(Flow::Indirect);
  if (mnemonic == "s_swappc_b64" || mnemonic == "s_call_b64") return branch(Flow::Call);
  if (mnemonic.starts_with("s_subvector_loop")) return branch(Flow::Conditional);
  if (mnemonic.starts_with("s_endpgm")) return branch(Flow::End);
  if (mnemonic.starts_with("s_barrier")) return simple(Unit::Barrier);
  if (mnemonic.starts_with("s_wait") || mnemonic == "s_wakeup") return simple(Unit::Wait);
  std::string_view operation = tokens.size() > 1 ? tokens[1] : "";
  if (mnemonic == "s_set_gpr_idx_on" || mnemonic == "s_set_gpr_idx_off" ||
      mnemonic == "s_set_gpr_idx_idx" || mnemonic == "s_set_gpr_idx_mode")
    return simple(Unit::Salu);
  if (isOneOf(operation, kMemory)) return classifyScalarMemory(tokens);
  if (isOneOf(operation, kHints)) return simple(Unit::Other);
  InstructionInfo info = simple(Unit::Salu);
  Tokens of_vector = tokens; // gfx11.5 and gfx12: s_add_f32 and its like, once for the wave
  of_vector[0] = "v";
  info.wave_flops = laneFlops(of_vector);
  if (info.wave_flops != 0) info.flop_type = operandType(tokens);
  return info;
}

} // namespace

std::string_view to_string(Unit unit) {
  static constexpr std::array<std::string_view, kUnitCount> kNames = {
      "valu",   "salu",    "smem", "vmem",  "lds",    "matrix",
      "branch", "barrier", "wait", "other", "invalid"};
  return kNames[static_cast<std::size_t>(unit)];
}

std::string_view to_string(MemoryOperation operation) {
  static constexpr std::array<std::string_view, 4> kNames = {"none", "load", "store", "atomic"};
  return kNames[static_cast<std::size_t>(operation)];
}

std::string_view to_string(MemorySpace space) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "none", "global", "flat", "scratch", "buffer", "image", "constant", "lds", "gds"};
  return kNames[static_cast<std::size_t>(space)];
}

InstructionInfo classify(std::string_view text) {
  std::string_view mnemonic = text.substr(0, text.find(' '));
  Tokens tokens = split(mnemonic, '_');
  if (tokens.empty() || mnemonic.starts_with('.')) return {};
  std::string_view family = tokens[0];
  if (family == "v") return classifyVector(mnemonic, tokens, text);
  if (family == "s") return classifyScalar(mnemonic, tokens);
  if (family == "ds") {
    InstructionInfo info = classifyLds(tokens);
    if (info.space == MemorySpace::Lds && text.ends_with(" gds")) info.space = MemorySpace::Gds;
    return info;
  }
  if (family == "lds") return simple(Unit::Lds);
  if (family == "global") return classifyVectorMemory(MemorySpace::Global, tokens, text);
  if (family == "flat") return classifyVectorMemory(MemorySpace::Flat, tokens, text);
  if (family == "scratch") return classifyVectorMemory(MemorySpace::Scratch, tokens, text);
  if (family == "buffer" || family == "tbuffer")
    return classifyVectorMemory(MemorySpace::Buffer, tokens, text);
  if (family == "image") return classifyVectorMemory(MemorySpace::Image, tokens, text);
  if (family == "exp" || family == "export") return simple(Unit::Other);
  return simple(Unit::Other);
}

bool mayChangeExec(const Instruction &instruction) {
  const std::string_view name = instruction.mnemonic(), text = instruction.text;
  if (name.find("saveexec") != name.npos || name.find("wrexec") != name.npos) return true;
  if (name.starts_with("v_cmpx")) return true;
  if (!name.starts_with("s_")) return false;
  const auto operands = text.substr(std::min(text.size(), name.size() + 1));
  return operands.starts_with("exec");
}

bool ClauseLines::shares(const Instruction &instruction) {
  if (instruction.mnemonic() == "s_clause") { // "s_clause 0x3": four instructions
    const std::size_t x = std::min(instruction.text.find("0x"), instruction.text.size() - 2);
    uint32_t more = 0;
    std::from_chars(instruction.text.data() + x + 2,
                    instruction.text.data() + instruction.text.size(), more, 16);
    left_ = more + 1;
    is_first_ = true;
    return false;
  }
  const bool shares = left_ != 0 && !is_first_;
  if (left_ != 0) --left_;
  is_first_ = false;
  return shares;
}

std::optional<uint64_t> branchTarget(const Instruction &instruction, ByteView code) {
  std::string_view mnemonic = instruction.mnemonic();
  bool relative = mnemonic == "s_branch" || mnemonic == "s_call_b64" ||
                  mnemonic.starts_with("s_subvector_loop") ||
                  (mnemonic.starts_with("s_cbranch_") && mnemonic != "s_cbranch_join" &&
                   mnemonic != "s_cbranch_g_fork");
  auto word = read<uint32_t>(code, 0);
  if (!relative || !word) return std::nullopt;
  // All of them count words from the next instruction in their low 16 bits.
  auto distance = static_cast<int64_t>(static_cast<int16_t>(*word & 0xffff)) * 4;
  return instruction.address + instruction.size + static_cast<uint64_t>(distance);
}

} // namespace fade::codeobj
