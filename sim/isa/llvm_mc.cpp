#include "isa/llvm_mc.h"

#include "isa/llvm_versions.h"

#include <llvm-c/Target.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSchedule.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>

namespace fade::sim {

struct LlvmDisassembler::Impl {
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> asm_info;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};

LlvmDisassembler::LlvmDisassembler(const char *cpu, bool wave32, const char *features)
    : impl_(std::make_unique<Impl>()) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  const llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string error;
  const llvm::Target *target = find_target(triple, error);
  if (!target) throw std::runtime_error("this LLVM has no AMDGPU target: " + error);
  Impl &i = *impl_;
  const auto triple_name = factory_name(*target, triple);
  i.registers.reset(target->createMCRegInfo(triple_name));
  i.asm_info.reset(target->createMCAsmInfo(*i.registers, triple_name, llvm::MCTargetOptions()));
  i.instructions.reset(target->createMCInstrInfo());
  const std::string all =
      std::string(wave32 ? "+wavefrontsize32," : "+wavefrontsize64,") + features;
  i.subtarget.reset(target->createMCSubtargetInfo(triple_name, cpu, all));
  i.context = std::make_unique<llvm::MCContext>(triple, i.asm_info.get(), i.registers.get(),
                                                i.subtarget.get());
  i.disassembler.reset(target->createMCDisassembler(*i.subtarget, *i.context));
  i.printer.reset(
      target->createMCInstPrinter(triple, 0, *i.asm_info, *i.instructions, *i.registers));
}

LlvmDisassembler::~LlvmDisassembler() = default;

LlvmDisassembler::Answer LlvmDisassembler::disassemble(std::span<const uint8_t> bytes, uint64_t pc,
                                                       bool with_text) {
  llvm::MCInst inst;
  uint64_t size = 0;
  Answer answer;
  auto status = impl_->disassembler->getInstruction(
      inst, size, llvm::ArrayRef(bytes.data(), bytes.size()), pc, llvm::nulls());
  if (status == llvm::MCDisassembler::Fail || size == 0) return answer;
  answer.size = static_cast<unsigned>(size);
  answer.mnemonic = mnemonic_of(*impl_->printer, inst);
  if (with_text) {
    llvm::raw_string_ostream out(answer.text);
    impl_->printer->printInst(&inst, pc, "", *impl_->subtarget, out);
    out.flush();
    auto first = answer.text.find_first_not_of(" \t");
    answer.text = first == std::string::npos ? "" : answer.text.substr(first);
  }
  return answer;
}

LlvmDisassembler::Registers LlvmDisassembler::registers(std::span<const uint8_t> bytes,
                                                        uint64_t pc) {
  llvm::MCInst inst;
  uint64_t size = 0;
  Registers found;
  auto status = impl_->disassembler->getInstruction(
      inst, size, llvm::ArrayRef(bytes.data(), bytes.size()), pc, llvm::nulls());
  if (status == llvm::MCDisassembler::Fail || size == 0) return found;
  const llvm::MCInstrDesc &description = impl_->instructions->get(inst.getOpcode());
  found.size = static_cast<unsigned>(size);
  found.opcode = inst.getOpcode();
  found.mnemonic = mnemonic_of(*impl_->printer, inst);
  const llvm::MCSchedModel &model = impl_->subtarget->getSchedModel();
  if (model.hasInstrSchedModel()) {
    const llvm::MCSchedClassDesc *cost = model.getSchedClassDesc(description.getSchedClass());
    if (cost->isValid() && !cost->isVariant())
      found.cycles = static_cast<unsigned>(
          std::max(0, llvm::MCSchedModel::computeInstrLatency(*impl_->subtarget, *cost)));
  }
  const auto name = [&](unsigned reg) { return std::string(impl_->registers->getName(reg)); };
  for (unsigned i = 0; i < inst.getNumOperands(); i++) {
    const llvm::MCOperand &operand = inst.getOperand(i);
    if (!operand.isReg() || !operand.getReg()) continue;
    auto &list = i < description.getNumDefs() ? found.writes : found.reads;
    list.push_back(name(operand.getReg()));
  }
  found.named_reads = found.reads.size();
  for (const auto reg : description.implicit_uses()) found.reads.push_back(name(reg));
  for (const auto reg : description.implicit_defs()) found.writes.push_back(name(reg));
  return found;
}

} // namespace fade::sim
