#include "isa/decoder.h"

#include "isa/added_opcodes.h"
#include "isa/encoding_fields.h"
#include "isa/llvm_mc.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

namespace fade::sim {
namespace {

// gfx11 can name the halves of registers, which LLVM's decoder refuses unless it is told to expect
// nothing else. The same instruction on whole registers has the same name and size; FieldReader
// sees the halves themselves.
struct WithoutHalves {
  uint8_t bytes[20];
  size_t size;

  explicit WithoutHalves(std::span<const uint8_t> from)
      : size(std::min(from.size(), sizeof bytes)) {
    std::memcpy(bytes, from.data(), size);
    if (size < 4) return;
    uint32_t word;
    std::memcpy(&word, bytes, 4);
    const uint32_t high_of_src1 = 1u << 16, high_of_dst = 1u << 24, high_of_src0 = 1u << 7;
    if (word >> 26 == 0x35) { // VOP3: op_sel
      word &= ~0x7800u;
    } else if (!(word >> 31)) {
      const uint32_t src0 = word & 0x1ff, kind = word >> 25;
      if (kind != 0x3f) word &= ~high_of_src1; // VOP1 has no second source,
      if (kind != 0x3e) word &= ~high_of_dst;  // VOPC no destination
      if (src0 >= 256) word &= ~high_of_src0;
      const bool dpp = src0 == 0xfa || src0 == 0xe9 || src0 == 0xea;
      if (dpp && size >= 8) bytes[4] &= 0x7f;
    }
    std::memcpy(bytes, &word, 4);
  }
  std::span<const uint8_t> span() const { return {bytes, size}; }
};

// LLVM 23 writes the constant 0 where VOP3 and VOP3P have a field for a source that the instruction
// does not take, from gfx10 on; LLVM 19 wants the field itself to be 0. No hardware looks at it.
std::vector<uint8_t> without_unused_source(std::span<const uint8_t> from) {
  uint32_t words[2];
  if (from.size() < sizeof words) return {};
  std::memcpy(words, from.data(), sizeof words);
  constexpr uint32_t third = 0x1ff << 18, zero_as_third = 0x80 << 18;
  const bool is_vop3 = words[0] >> 26 == 0x35 || words[0] >> 26 == 0x33;
  if (!is_vop3 || (words[1] & third) != zero_as_third) return {};
  words[1] &= ~third;
  constexpr std::size_t longest = 20; // of an instruction
  std::vector<uint8_t> bytes(from.begin(), from.begin() + std::min(from.size(), longest));
  std::memcpy(bytes.data(), words, sizeof words);
  return bytes;
}

// SOPP 19 of gfx11.5, which LLVM knows for some processors and in some versions only.
LlvmDisassembler::Answer single_use_hint(std::span<const uint8_t> bytes) {
  uint32_t word;
  if (bytes.size() < sizeof word) return {};
  std::memcpy(&word, bytes.data(), sizeof word);
  if (word >> 16 != 0xbf93) return {};
  char text[32];
  std::snprintf(text, sizeof text, "s_singleuse_vdst 0x%x", word & 0xffff);
  return {sizeof word, "s_singleuse_vdst", text};
}

// Two instructions of gfx12 that LLVM 19 does not know: SOP1 83, DS 205.
LlvmDisassembler::Answer unknown_of_gfx12(std::span<const uint8_t> bytes) {
  uint32_t words[2] = {};
  if (bytes.size() < 4) return {};
  std::memcpy(words, bytes.data(), std::min(bytes.size(), sizeof words));
  if ((words[0] & 0xff80ff00) == 0xbe805300) return {4, "s_alloc_vgpr", "s_alloc_vgpr"};
  if ((words[0] & 0xffff0000) != 0xdb340000 || bytes.size() < 8) return {};
  char text[64];
  std::snprintf(text, sizeof text, "ds_bpermute_fi_b32 v%u, v%u, v%u", words[1] >> 24,
                words[1] & 0xff, words[1] >> 8 & 0xff);
  std::string whole = text;
  if (words[0] & 0xffff) whole += " offset:" + std::to_string(words[0] & 0xffff);
  return {8, "ds_bpermute_fi_b32", whole};
}

// VOP1 102, from gfx11 on, nor that.
LlvmDisassembler::Answer swap_of_halves(std::span<const uint8_t> bytes) {
  uint32_t word;
  if (bytes.size() < sizeof word) return {};
  std::memcpy(&word, bytes.data(), sizeof word);
  if ((word & 0xfe01ff00) != 0x7e00cd00) return {}; // both operands are vector registers
  const auto half = [](uint32_t n) {
    return "v" + std::to_string(n & 0x7f) + (n & 0x80 ? ".h" : ".l");
  };
  return {sizeof word, "v_swap_b16",
          "v_swap_b16 " + half(word >> 17 & 0xff) + ", " + half(word & 0xff)};
}

RegisterUse use_of_vectors(const Instruction &in) {
  RegisterUse use;
  const bool swaps = std::strstr(in.opcode->name, "_swap_");
  for (const Operand &o : in.src)
    if (o.is_vgpr()) use.reads.push_back({true, o.index, 1});
  if (swaps) use.reads.push_back({true, in.dst.index, 1});
  use.writes.push_back({true, in.dst.index, 1});
  if (swaps) use.writes.push_back({true, in.src[0].index, 1});
  return use;
}

// Operands of an instruction of the table, with the registers that each takes.
template <class F> void for_operands(const AddedInstruction &added, const Instruction &in, F f) {
  if (added.opcode->dst) f(in.dst, added.opcode->dst, true);
  for (unsigned s = 0; s < 3; s++) {
    unsigned count = added.opcode->src[s];
    // Matrices of numbers of 8, 6 or 4 bits.
    if (const unsigned format = s ? in.blgp : in.cbsz; added.is_f8f6f4() && s < 2)
      count = format < 2 ? 8 : format < 4 ? 6 : 4;
    if (count) f(in.src[s], count, false);
  }
  if (in.paired) // scales
    for (unsigned s = 0; s < 2; s++) f(in.paired->src[s], 1, false);
}

std::string operand_text(const Operand &o, unsigned count) {
  const unsigned first = o.index % agpr_base;
  const char *file = o.kind == Operand::Kind::sgpr ? "s" : o.index >= agpr_base ? "a" : "v";
  std::string name;
  if (o.kind == Operand::Kind::constant || o.kind == Operand::Kind::special)
    name = o.inline_float ? "constant" : std::to_string(static_cast<int64_t>(o.value));
  else if (count == 1)
    name = file + std::to_string(first);
  else
    name = file + ("[" + std::to_string(first)) + ":" + std::to_string(first + count - 1) + "]";
  return name;
}
std::string added_text(const AddedInstruction &added, const Instruction &in) {
  std::string text;
  for_operands(added, in, [&](const Operand &o, unsigned count, bool) {
    text += (text.empty() ? " " : ", ") + operand_text(o, count);
  });
  return added.name + text;
}

// Passes of matrix instructions, four cycles each, as AMD's manual of the CDNA 4 instruction set
// has them: those of 8 bits take twice as long among f8f6f4.
unsigned passes_of(const AddedInstruction &added, const Instruction &in) {
  if (in.cls != ExecClass::mfma) return 1;
  const unsigned passes = std::strstr(added.name, "_32x32x") ? 8 : 4;
  return added.is_f8f6f4() && (in.cbsz < 2 || in.blgp < 2) ? 2 * passes : passes;
}

bool keeps_part(const AddedInstruction &added, const Instruction &in) {
  return std::strstr(added.name, "_sr_") || in.op_sel;
}

// As LLVM would have them: names of registers, joined with underscores.
LlvmDisassembler::Registers hazard_registers(const AddedInstruction &added, const Instruction &in) {
  LlvmDisassembler::Registers found;
  const bool swaps = std::strstr(added.name, "_swap_");
  for_operands(added, in, [&](const Operand &o, unsigned count, bool is_dst) {
    if (o.kind != Operand::Kind::vgpr && o.kind != Operand::Kind::sgpr) return;
    std::string name;
    for (unsigned i = 0; i < count; i++) {
      const unsigned number = o.index + i;
      if (i) name += '_';
      if (!o.is_vgpr())
        name += "SGPR" + std::to_string(number);
      else if (number >= agpr_base)
        name += "AGPR" + std::to_string(number - agpr_base);
      else
        name += "VGPR" + std::to_string(number);
    }
    if (is_dst || swaps) found.writes.push_back(name);
    if (!is_dst || swaps || in.opcode->reads_dst) found.reads.push_back(name);
  });
  found.named_reads = found.reads.size();
  if (in.paired) // scales are behind C, if that is a register
    found.named_reads = std::min<size_t>(found.named_reads, in.src[2].is_vgpr() ? 3 : 2);
  if (std::string_view(added.name).starts_with("v_")) found.reads.emplace_back("EXEC");
  found.size = added.size;
  // Another number than any of LLVM's.
  found.opcode =
      1u << 24 | static_cast<unsigned>(added.opcode->encoding) << 16 | added.opcode->number;
  found.cycles = passes_of(added, in);
  found.mnemonic = added.name;
  found.writes_part = keeps_part(added, in);
  return found;
}

RegisterUse added_registers(const AddedInstruction &added, const Instruction &in) {
  RegisterUse use;
  const bool swaps = std::strstr(added.name, "_swap_");
  const bool is_sparse = std::strstr(added.name, "smfmac");
  for_operands(added, in, [&](const Operand &o, unsigned count, bool is_dst) {
    if (o.kind != Operand::Kind::vgpr && o.kind != Operand::Kind::sgpr) return;
    const ObservedRange range{o.is_vgpr(), o.index, static_cast<uint16_t>(count)};
    if (is_dst || swaps) use.writes.push_back(range);
    if (!is_dst || swaps || is_sparse || keeps_part(added, in) || in.opcode->reads_dst)
      use.reads.push_back(range);
  });
  return use;
}

bool has_16_bit_operand(const Opcode &op) {
  for (unsigned s = 0; s < op.sources; s++)
    if (is_16(op.src[s])) return true;
  return is_16(op.dst);
}

} // namespace

struct Decoder::Llvm {
  LlvmDisassembler disassembler;
  std::optional<LlvmDisassembler> with_halves; // made when first needed

  // As LLVM knows it, with whole registers, or as the table of what it does not know has it.
  LlvmDisassembler::Answer whole(const Arch &arch, std::span<const uint8_t> bytes, uint64_t pc,
                                 bool with_text);
  LlvmDisassembler::Answer halves(const Arch &arch, unsigned lanes, std::span<const uint8_t> bytes,
                                  uint64_t pc, bool with_text);
};

LlvmDisassembler::Answer Decoder::Llvm::whole(const Arch &arch, std::span<const uint8_t> bytes,
                                              uint64_t pc, bool with_text) {
  if (const AddedInstruction added = find_added(arch, bytes); added.opcode)
    return {added.size, added.name, added.name};
  auto answer = disassembler.disassemble(bytes, pc, with_text);
  if (is_removed(arch, answer.mnemonic)) return {};
  if (answer.size == 0 && arch.gfx115)
    answer = arch.gfx12 ? unknown_of_gfx12(bytes) : single_use_hint(bytes);
  if (answer.size == 0 && arch.gfx11) answer = swap_of_halves(bytes);
  if (answer.size == 0 && arch.gfx10_up)
    if (const auto other = without_unused_source(bytes); !other.empty())
      answer = disassembler.disassemble(other, pc, with_text);
  return answer;
}

// LLVM 19 knows some instructions with halves as such, most only with whole registers; LLVM 22 all.
LlvmDisassembler::Answer Decoder::Llvm::halves(const Arch &arch, unsigned lanes,
                                               std::span<const uint8_t> bytes, uint64_t pc,
                                               bool with_text) {
  if (!arch.gfx11) return {};
  if (!with_halves) with_halves.emplace(llvm_processor(arch), lanes == 32, "+real-true16");
  auto answer = with_halves->disassemble(bytes, pc, with_text);
  if (answer.size == 0) {
    answer = disassembler.disassemble(WithoutHalves(bytes).span(), pc, with_text);
    if (answer.size && with_text) answer.text = answer.mnemonic + " ; on halves of registers";
  }
  return answer;
}

Decoder::Decoder(const Arch &arch, unsigned wave_lanes, const OpcodeTable &opcodes)
    : llvm_(
          new Llvm{{llvm_processor(arch), wave_lanes == 32, arch.gfx11 ? "-real-true16" : ""}, {}}),
      arch_(arch), lanes_(wave_lanes), opcodes_(opcodes) {}

Decoder::~Decoder() = default;

std::string Decoder::text(std::span<const uint8_t> bytes, uint64_t pc) {
  if (const AddedInstruction added = find_added(arch_, bytes); added.opcode) {
    const Result r = decode(bytes, pc);
    return r.known ? added_text(added, r.instruction) : r.mnemonic;
  }
  auto answer = llvm_->whole(arch_, bytes, pc, true);
  return answer.size ? answer.text : llvm_->halves(arch_, lanes_, bytes, pc, true).text;
}

RegisterUse Decoder::registers(std::span<const uint8_t> bytes, uint64_t pc) {
  if (const AddedInstruction added = find_added(arch_, bytes); added.opcode) {
    const Result r = decode(bytes, pc);
    return r.known ? added_registers(added, r.instruction) : RegisterUse{};
  }
  const auto names = llvm_->disassembler.registers(bytes, pc);
  if (names.size == 0 &&
      (swap_of_halves(bytes).size || (arch_.gfx12 && unknown_of_gfx12(bytes).size == 8)))
    if (const Result r = decode(bytes, pc); r.known) return use_of_vectors(r.instruction);
  return {ranges_of(names.reads), ranges_of(names.writes)};
}

HazardUse Decoder::hazard_use(const HazardTable &table, std::span<const uint8_t> bytes,
                              uint64_t pc) {
  if (const AddedInstruction added = find_added(arch_, bytes); added.opcode) {
    const Result r = decode(bytes, pc);
    return table.use(
        r.known ? hazard_registers(added, r.instruction) : LlvmDisassembler::Registers{}, bytes);
  }
  return table.use(llvm_->disassembler.registers(bytes, pc), bytes);
}

namespace {

bool writes_exec(const Operand &o) {
  return o.kind == Operand::Kind::sgpr && (o.index == sreg::exec_lo || o.index == sreg::exec_hi);
}

bool ends_segment(const Instruction &in) {
  const Opcode &op = *in.opcode;
  return op.flow != Flow::next || op.has(Effect::barrier) || op.has(Effect::writes_exec) ||
         op.has(Effect::writes_mode) || op.has(Effect::outside) || writes_exec(in.dst) ||
         writes_exec(in.sdst);
}

LdsUse lds_use(const Instruction &in) {
  if (in.opcode->lds_use != LdsUse::none) return in.opcode->lds_use;
  if (in.lds) return LdsUse::writes;
  if (in.encoding != Encoding::flat) return LdsUse::none;
  return in.cls == ExecClass::vmem_load ? LdsUse::reads : LdsUse::writes; // it may be LDS
}

// Whether a vector instruction's operands can be used as they are.
bool is_plain(const Arch &arch, const Instruction &in) {
  if (in.select != LaneSelect::none || in.clamp || in.omod || in.op_sel) return false;
  for (const Operand &o : in.src)
    if (o.neg || o.abs) return false;
  return !(is_16(in.opcode->dst) && (arch.gfx10_up || in.opcode->preserves_high));
}

} // namespace

// Vector instructions read a constant like a register. Those that read nothing else are run so.
void Decoder::repeat_constants(Instruction &in) {
  bool only_rows = in.plain;
  for (unsigned s = 0; s < in.opcode->sources; s++) {
    Operand &o = in.src[s];
    const Type type = in.opcode->src[s];
    only_rows &= o.is_vgpr() || (o.kind == Operand::Kind::constant && type != Type::mask);
    if (o.kind != Operand::Kind::constant || type == Type::mask) continue;
    const uint64_t bits = constant_bits(o, type);
    auto [at, is_new] = rows_.try_emplace(bits);
    if (is_new) {
      std::fill_n(at->second.begin(), 64, static_cast<uint32_t>(bits));
      std::fill_n(at->second.begin() + 64, 64, static_cast<uint32_t>(bits >> 32));
    }
    o.rows = at->second.data();
    o.rows_type = type;
  }
  if (only_rows && in.opcode->run_rows) in.run = in.opcode->run_rows;
}

Decoder::Result Decoder::decode(std::span<const uint8_t> bytes, uint64_t pc) {
  Result r;
  auto answer = llvm_->whole(arch_, bytes, pc, false);
  const bool halves = answer.size == 0;
  if (halves) answer = llvm_->halves(arch_, lanes_, bytes, pc, false);
  r.instruction.pc = pc;
  if (answer.size == 0) return r;
  if (halves) {
    const Opcode *named = opcodes_.find(answer.mnemonic);
    if (!named || !has_16_bit_operand(*named)) return r;
  }
  r.valid = true;
  r.mnemonic = answer.mnemonic;
  Instruction &in = r.instruction;
  in.size = static_cast<uint8_t>(answer.size);

  auto own = bytes.first(answer.size);
  constexpr size_t of_scales = 8; // the first half of a matrix instruction with scales
  const bool has_scales = answer.size == 2 * of_scales && find_added(arch_, bytes).opcode;
  if (has_scales) own = own.subspan(of_scales);
  FieldReader fields(arch_, lanes_, own);
  if (fields.is_dual()) {
    Instruction &second = paired_.emplace_back();
    r.known = fields.read_dual(in, second, opcodes_);
    second.pc = pc, second.size = in.size;
    if (r.known) repeat_constants(in), repeat_constants(second);
    return r;
  }
  const Opcode *op = opcodes_.find(r.mnemonic);
  if (!op) return r;
  in.opcode = op;
  in.run = op->run;
  in.cls = op->cls;
  if (!fields.read(in)) return r;
  if (has_scales) {
    Instruction &scales = paired_.emplace_back();
    FieldReader(arch_, lanes_, bytes.first(of_scales)).read_scales(scales);
    scales.pc = pc, scales.size = in.size;
    in.paired = &scales;
  }
  in.target = pc + in.size + static_cast<int64_t>(in.imm) * 4;
  in.ends_segment = ends_segment(in);
  in.lds_use = lds_use(in);
  in.plain = is_plain(arch_, in);
  repeat_constants(in);
  r.known = in.run != nullptr;
  return r;
}

} // namespace fade::sim
