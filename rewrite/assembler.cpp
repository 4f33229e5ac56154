#include "rewrite/assembler.h"

#include "isa/llvm_versions.h"

#include <llvm-c/Target.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCFixup.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/TargetParser/Triple.h>

#include <mutex>
#include <stdexcept>

namespace fade::rewrite {
namespace {

/// Keeps the encodings of what the parser reads.
class Collector final : public llvm::MCStreamer {
public:
  Collector(llvm::MCContext &context, const llvm::MCCodeEmitter &emitter)
      : MCStreamer(context), emitter_(emitter) {}

  bool emitSymbolAttribute(llvm::MCSymbol *, llvm::MCSymbolAttr) override { return true; }
  void emitCommonSymbol(llvm::MCSymbol *, uint64_t, llvm::Align) override {}
  void emitZerofill(llvm::MCSection *, llvm::MCSymbol *, uint64_t, llvm::Align,
                    llvm::SMLoc) override {}
  void emitInstruction(const llvm::MCInst &inst, const llvm::MCSubtargetInfo &subtarget) override {
    llvm::SmallVector<char, 16> encoded;
    llvm::SmallVector<llvm::MCFixup, 4> fixups;
    emitter_.encodeInstruction(inst, encoded, fixups, subtarget);
    if (!fixups.empty()) is_complete = false;
    bytes.insert(bytes.end(), encoded.begin(), encoded.end());
  }

  std::vector<uint8_t> bytes;
  bool is_complete = true;

private:
  const llvm::MCCodeEmitter &emitter_;
};

} // namespace

struct Assembler::Llvm {
  llvm::Triple triple{"amdgcn-amd-amdhsa"};
  const llvm::Target *target = nullptr;
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> asm_info;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
};

Assembler::Assembler(const std::string &processor, bool is_wave32)
    : llvm_(std::make_unique<Llvm>()) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
  });
  Llvm &l = *llvm_;
  std::string error;
  l.target = sim::find_target(l.triple, error);
  if (!l.target) throw std::runtime_error("this LLVM has no AMDGPU target: " + error);
  const auto name = sim::factory_name(*l.target, l.triple);
  l.registers.reset(l.target->createMCRegInfo(name));
  l.asm_info.reset(l.target->createMCAsmInfo(*l.registers, name, l.options));
  l.instructions.reset(l.target->createMCInstrInfo());
  l.subtarget.reset(l.target->createMCSubtargetInfo(
      name, processor, is_wave32 ? "+wavefrontsize32" : "+wavefrontsize64"));
}

Assembler::~Assembler() = default;

std::vector<uint8_t> Assembler::assemble(const std::string &line) {
  Llvm &l = *llvm_;
  llvm::SourceMgr source;
  std::string problem;
  source.setDiagHandler(
      [](const llvm::SMDiagnostic &diagnostic, void *to) {
        *static_cast<std::string *>(to) = diagnostic.getMessage().str();
      },
      &problem);
  source.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(line + "\n"), llvm::SMLoc());
  llvm::MCContext context(l.triple, l.asm_info.get(), l.registers.get(), l.subtarget.get(), &source,
                          &l.options);
  const std::unique_ptr<llvm::MCObjectFileInfo> sections(
      l.target->createMCObjectFileInfo(context, /*PIC=*/true));
  context.setObjectFileInfo(sections.get());
  const std::unique_ptr<llvm::MCCodeEmitter> emitter(
      l.target->createMCCodeEmitter(*l.instructions, context));
  Collector out(context, *emitter);
  l.target->createNullTargetStreamer(out);
  const std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(source, context, out, *l.asm_info));
  const std::unique_ptr<llvm::MCTargetAsmParser> of_target(
      l.target->createMCAsmParser(*l.subtarget, *parser, *l.instructions, l.options));
  parser->setTargetParser(*of_target);
  if (parser->Run(/*NoInitialTextSection=*/false) || !out.is_complete || out.bytes.empty())
    throw std::runtime_error("cannot assemble '" + line + "': " + problem);
  return std::move(out.bytes);
}

std::vector<uint8_t> Assembler::operator()(const std::vector<std::string> &lines) {
  std::vector<uint8_t> bytes;
  for (const std::string &line : lines) {
    auto at = known_.find(line);
    if (at == known_.end()) at = known_.emplace(line, assemble(line)).first;
    bytes.insert(bytes.end(), at->second.begin(), at->second.end());
  }
  return bytes;
}

} // namespace fade::rewrite
