#include "isa/decoder.h"

#include "isa/encoding_fields.h"
#include "isa/llvm_mc.h"
#include "isa/opcode.h"

#include <string_view>

namespace fade::sim {

struct Decoder::Llvm {
  LlvmDisassembler disassembler;
};

Decoder::Decoder(const Arch &arch, unsigned wave_lanes)
    : llvm_(new Llvm{{arch.name, wave_lanes == 32}}), arch_(arch), lanes_(wave_lanes) {}

Decoder::~Decoder() = default;

std::string Decoder::text(std::span<const uint8_t> bytes, uint64_t pc) {
  return llvm_->disassembler.disassemble(bytes, pc, true).text;
}

namespace {

bool writes_exec(const Operand &o) {
  return o.kind == Operand::Kind::sgpr && (o.index == sreg::exec_lo || o.index == sreg::exec_hi);
}

bool changes_control(const Opcode &op, std::string_view name) {
  if (op.cls == ExecClass::branch || name.starts_with("v_cmpx") || name.starts_with("s_set_gpr_idx") ||
      name.starts_with("s_setreg") || name.starts_with("ds_gws"))
    return true;
  if (name.find("saveexec") != name.npos || name.find("wrexec") != name.npos) return true;
  for (std::string_view n : {"s_barrier", "s_endpgm", "s_sleep", "s_trap", "s_sendmsg", "s_sethalt", "s_round_mode",
                             "s_denorm_mode", "s_endpgm_saved", "s_sendmsghalt", "s_wakeup"})
    if (name == n) return true;
  return false;
}

// Whether a vector instruction's operands can be used as they are.
bool is_plain(const Arch &arch, const Instruction &in) {
  if (in.select != LaneSelect::none || in.clamp || in.omod || in.op_sel) return false;
  for (const Operand &o : in.src)
    if (o.neg || o.abs) return false;
  return !(is_16(in.opcode->dst) && (arch.gfx10_up || in.opcode->preserves_high));
}

} // namespace

Decoder::Result Decoder::decode(std::span<const uint8_t> bytes, uint64_t pc) {
  Result r;
  auto answer = llvm_->disassembler.disassemble(bytes, pc, false);
  r.instruction.pc = pc;
  if (answer.size == 0) return r;
  r.valid = true;
  r.mnemonic = answer.mnemonic;
  Instruction &in = r.instruction;
  in.size = static_cast<uint8_t>(answer.size);

  FieldReader fields(arch_, lanes_, bytes.first(answer.size));
  if (fields.is_dual()) {
    Instruction &second = paired_.emplace_back();
    r.known = fields.read_dual(in, second);
    second.pc = pc, second.size = in.size;
    return r;
  }
  const Opcode *op = find_opcode(r.mnemonic);
  if (!op) return r;
  in.opcode = op;
  in.run = op->run;
  in.cls = op->cls;
  if (!fields.read(in)) return r;
  in.target = pc + in.size + static_cast<int64_t>(in.imm) * 4;
  in.ends_segment = changes_control(*op, op->name) || writes_exec(in.dst) || writes_exec(in.sdst);
  in.plain = is_plain(arch_, in);
  r.known = in.run != nullptr;
  return r;
}

} // namespace fade::sim
