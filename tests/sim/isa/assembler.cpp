#include "assembler.h"

#include "isa/llvm_versions.h"

#include <llvm-c/Target.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/MC/MCAsmBackend.h>
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

namespace fade::sim {
namespace {

// Encodes what the parser hands over, and forgets everything else.
class Collector : public llvm::MCStreamer {
public:
  Collector(llvm::MCContext &context, llvm::MCCodeEmitter &emitter)
      : MCStreamer(context), emitter_(emitter) {}

  void emitInstruction(const llvm::MCInst &inst, const llvm::MCSubtargetInfo &subtarget) override {
    llvm::SmallVector<char, 24> code;
    llvm::SmallVector<llvm::MCFixup, 2> fixups;
    emitter_.encodeInstruction(inst, code, fixups, subtarget);
    bytes.insert(bytes.end(), code.begin(), code.end());
  }
  bool emitSymbolAttribute(llvm::MCSymbol *, llvm::MCSymbolAttr) override { return true; }
  void emitCommonSymbol(llvm::MCSymbol *, uint64_t, llvm::Align) override {}
  void emitZerofill(llvm::MCSection *, llvm::MCSymbol *, uint64_t, llvm::Align,
                    llvm::SMLoc) override {}

  std::vector<uint8_t> bytes;

private:
  llvm::MCCodeEmitter &emitter_;
};

} // namespace

Assembler::Assembler(const std::string &cpu, bool wave32) : cpu_(cpu), wave32_(wave32) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
  });
}

Assembler::~Assembler() = default;

std::vector<uint8_t> Assembler::assemble(const std::string &line) {
  const llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string message;
  const llvm::Target *target = find_target(triple, message);
  if (!target) throw std::runtime_error(message);
  llvm::MCTargetOptions options;
  const auto name = factory_name(*target, triple);
  std::unique_ptr<llvm::MCRegisterInfo> registers(target->createMCRegInfo(name));
  std::unique_ptr<llvm::MCAsmInfo> asm_info(target->createMCAsmInfo(*registers, name, options));
  std::unique_ptr<llvm::MCInstrInfo> instructions(target->createMCInstrInfo());
  std::string features;
  if (cpu_.starts_with("gfx1"))
    features = wave32_ ? "+wavefrontsize32,-wavefrontsize64" : "-wavefrontsize32,+wavefrontsize64";
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      target->createMCSubtargetInfo(name, cpu_, features));

  llvm::SourceMgr source;
  source.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(line + "\n"), llvm::SMLoc());
  std::string diagnostics;
  source.setDiagHandler(
      [](const llvm::SMDiagnostic &d, void *to) {
        *static_cast<std::string *>(to) += d.getMessage().str() + " ";
      },
      &diagnostics);
  llvm::MCContext context(triple, asm_info.get(), registers.get(), subtarget.get(), &source,
                          &options);
  std::unique_ptr<llvm::MCObjectFileInfo> objects(target->createMCObjectFileInfo(context, false));
  context.setObjectFileInfo(objects.get());
  std::unique_ptr<llvm::MCCodeEmitter> emitter(target->createMCCodeEmitter(*instructions, context));
  Collector collector(context, *emitter);
  target->createNullTargetStreamer(collector);
  std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(source, context, collector, *asm_info));
  std::unique_ptr<llvm::MCTargetAsmParser> target_parser(
      target->createMCAsmParser(*subtarget, *parser, *instructions, options));
  parser->setTargetParser(*target_parser);
  if (parser->Run(false) || collector.bytes.empty())
    throw std::runtime_error("cannot assemble '" + line + "' for " + cpu_ + ": " + diagnostics);
  return collector.bytes;
}

} // namespace fade::sim
