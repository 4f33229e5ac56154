// Entry of libfadegpu-jit.so: compiles one region for the processor that this runs on. Everything
// of LLVM that it makes is gone when it returns; what is left is a mapping with code. So it may be
// called from several threads at once, and code can be given back without LLVM.
#include "exec/jit_code.h"
#include "jit/code_memory.h"
#include "jit/region_builder.h"

#include <llvm/ExecutionEngine/ExecutionEngine.h>
#include <llvm/ExecutionEngine/MCJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Utils.h>

#include <mutex>

namespace fade::sim::jit {
namespace {

constexpr const char function_name[] = "region";

// The processor's name and features as LLVM wants them; found out once.
struct Host {
  std::string cpu = llvm::sys::getHostCPUName().str();
  std::vector<std::string> features;
  unsigned width = 8; // lanes in a chunk

  Host() {
    const auto known = llvm::sys::getHostCPUFeatures();
    for (const auto &feature : known)
      features.push_back((feature.second ? "+" : "-") + feature.first().str());
    if (known.lookup("avx512vl") && known.lookup("avx512dq")) width = 16;
  }
};
const Host &host() {
  static const Host &found = *new Host; // threads may compile when statics are destroyed
  return found;
}

void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    LLVMLinkInMCJIT();
  });
}

void optimize(llvm::Module &module, llvm::Function &function) {
  llvm::legacy::FunctionPassManager passes(&module);
  passes.add(llvm::createPromoteMemoryToRegisterPass());
  passes.add(llvm::createEarlyCSEPass());
  passes.add(llvm::createInstructionCombiningPass());
  passes.add(llvm::createLICMPass());
  passes.add(llvm::createEarlyCSEPass());
  passes.add(llvm::createCFGSimplificationPass());
  passes.doInitialization();
  passes.run(function);
  passes.doFinalization();
}

void compile(const JitRequest &request, JitResult &result) {
  initialize();
  llvm::LLVMContext context;
  auto owned = std::make_unique<llvm::Module>("fade", context);
  llvm::Module &module = *owned;
  auto memory_owned = std::make_unique<CodeMemory>();
  CodeMemory *memory = memory_owned.get();
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::string error;
  llvm::EngineBuilder builder(std::move(owned));
  builder.setErrorStr(&error)
      .setEngineKind(llvm::EngineKind::JIT)
      .setMCJITMemoryManager(std::move(memory_owned))
      .setTargetOptions(options)
      .setOptLevel(llvm::CodeGenOptLevel::Default)
      .setMCPU(host().cpu)
      .setMAttrs(host().features);
  std::unique_ptr<llvm::TargetMachine> machine(builder.selectTarget());
  if (!machine) return;
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setDataLayout(machine->createDataLayout());
  RegionBuilder region(module, request, host().width);
  llvm::Function *function = region.build(function_name);
  if (host().width >= 16) {
    function->addFnAttr("prefer-vector-width", "512");
    function->addFnAttr("min-legal-vector-width", "512");
  }
  if (llvm::verifyFunction(*function, &llvm::errs())) return;
  optimize(module, *function);
  std::unique_ptr<llvm::ExecutionEngine> engine(builder.create(machine.release()));
  if (!engine) return;
  engine->finalizeObject();
  const uint64_t address = engine->getFunctionAddress(function_name);
  if (!address || engine->hasError()) return;
  result.size = memory->size();
  result.memory = memory->release();
  if (!result.memory) return;
  result.run = reinterpret_cast<JitFunction>(address);
  result.translated = region.translated(), result.called = region.called();
}

} // namespace
} // namespace fade::sim::jit

extern "C" __attribute__((visibility("default"))) void
fade_gpu_jit_compile(const fade::sim::JitRequest &request, fade::sim::JitResult &result) {
  if (request.version != fade::sim::jit_version) return;
  try {
    fade::sim::jit::compile(request, result);
  } catch (const std::exception &) { // no memory for it: the interpreter goes on
  }
}
