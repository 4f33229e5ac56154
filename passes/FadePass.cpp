#include "FadePass.h"

#include "AccessFinder.h"
#include "BlockMarks.h"
#include "Compat.h"
#include "CounterPlan.h"
#include "DeviceRuntime.h"
#include "Instrumenter.h"
#include "KernelCloner.h"
#include "MachineView.h"
#include "SiteTable.h"
#include "Target.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

#define DEBUG_TYPE "fade"

using namespace llvm;

STATISTIC(kernels_cloned, "kernels that got a twin");
STATISTIC(functions_cloned, "functions cloned along the call graph");
STATISTIC(accesses_recorded, "accesses instrumented");
STATISTIC(blocks_recorded, "basic blocks instrumented");

namespace fade {

namespace {

// One module, from finding the kernels to embedding the site table.
class ModuleInstrumentation {
public:
  ModuleInstrumentation(Module &module, Target &target, const Options &options,
                        FunctionPassManager *machine, FunctionAnalysisManager &analyses)
      : module_(module), target_(target), options_(options), machine_(machine), analyses_(analyses),
        cloner_(module, target, omissions_, !options_.hasNoStream()), table_(module) {}

  // Returns whether the module was changed.
  Expected<bool> run();

private:
  void instrumentKernel(Function &kernel, Instrumenter &instrumenter);
  void instrumentClone(Clone &clone, uint32_t kernel, Instrumenter &instrumenter);
  // The blocks of a clone, and those of the original that they are copies of.
  using Originals = DenseMap<const BasicBlock *, BasicBlock *>;
  Originals originalsOf(const Clone &clone) const;
  void countClone(Clone &clone, uint32_t kernel, Instrumenter &instrumenter);
  uint32_t kernelFlags() const;
  bool isLeftAnywhere() const;
  bool endsWithin(Function &function) const;
  bool seesMachine() const {
    return machine_ && (options_.modes & FADE_MODE_ACCESSES) != 0 && !options_.as_written &&
           isAMDGCN(module_);
  }
  std::vector<Access> machineAccesses(Function &clone, std::vector<AccessHistory::Gone> &gone);
  void addGone(const std::vector<AccessHistory::Gone> &gone, const std::vector<Access> &accesses,
               const std::vector<uint32_t> &sites, uint32_t kernel, const Function &original);
  void warnIfNothingFits(bool found_kernels) const;

  Module &module_;
  Target &target_;
  const Options &options_;
  FunctionPassManager *machine_; // null: what becomes of accesses is not known
  FunctionAnalysisManager &analyses_;
  Omissions omissions_;
  bool is_left_anywhere_ = false; // see isLeftAnywhere()
  KernelCloner cloner_;
  SiteTableBuilder table_;
};

uint32_t ModuleInstrumentation::kernelFlags() const {
  const unsigned size = waveSize(module_);
  return (options_.replace ? FADE_KERNEL_REPLACES : 0) |
         (options_.hasNoStream() ? FADE_KERNEL_NO_STREAM : 0) |
         (options_.sums() ? FADE_KERNEL_SUMS : 0) | (size == 32 ? FADE_KERNEL_WAVE32 : 0) |
         (size == 64 ? FADE_KERNEL_WAVE64 : 0);
}

// Whether waves may end in functions that kernels call. Lanes that end one by one, as on NVIDIA
// GPUs, may do so nowhere.
bool ModuleInstrumentation::isLeftAnywhere() const {
  for (const Function &function : module_) {
    if (target_.isKernel(function) && !isNVPTX(module_)) continue;
    for (const Instruction &instruction : instructions(function))
      if (const auto *call = dyn_cast<CallInst>(&instruction); call && target_.endsWave(*call))
        return true;
  }
  return false;
}

// Whether a wave may end in a block that, by its last instruction, goes on.
bool ModuleInstrumentation::endsWithin(Function &function) const {
  for (BasicBlock &block : function) {
    const Instruction &end = endOf(block, target_);
    if (&end != block.getTerminator() && !isa<UnreachableInst>(end.getNextNode())) return true;
  }
  return false;
}

// Of a clone that is still as it was made. Nothing where no line table can tell blocks apart: PTX
// has no discriminators, and replaced originals no code.
ModuleInstrumentation::Originals ModuleInstrumentation::originalsOf(const Clone &clone) const {
  Originals originals;
  if (options_.replace || !isAMDGCN(module_) || clone.function->size() != clone.original->size())
    return originals;
  auto original = clone.original->begin();
  for (const BasicBlock &block : *clone.function) originals[&block] = &*original++;
  return originals;
}

// Counts without a stream: some blocks, from which the others follow.
void ModuleInstrumentation::countClone(Clone &clone, uint32_t kernel, Instrumenter &instrumenter) {
  const Originals originals = originalsOf(clone);
  SmallVector<BasicBlock *, 16> blocks;
  for (BasicBlock &block : *clone.function)
    if (isInScope(*block.getTerminator(), options_)) blocks.push_back(&block);
  CounterPlan plan = planCounters(*clone.function, blocks,
                                  is_left_anywhere_ || endsWithin(*clone.function), analyses_);
  if (clone.is_kernel && (options_.modes & FADE_MODE_TIMES))
    plan.timed.assign(blocks.begin(), blocks.end());
  instrumenter.assignCounters(clone, plan, is_left_anywhere_);
  const auto counts = static_cast<uint32_t>(plan.counters.size());
  const uint32_t first = table_.addCounters(counts + static_cast<uint32_t>(plan.timed.size()));
  DenseMap<const BasicBlock *, uint32_t> clocks;
  for (size_t i = 0; i < plan.timed.size(); ++i)
    clocks[plan.timed[i]] = 1 + first + counts + static_cast<uint32_t>(i);
  for (BasicBlock *block : blocks) {
    const unsigned counter = plan.counter_of.find(block)->second;
    const uint32_t site = table_.addBlock(
        *block, kernel,
        {instrumenter.counterFlags(counter), 1 + first + counter, clocks.lookup(block)});
    if (BasicBlock *original = originals.lookup(block)) markBlock(*original, site);
  }
  const auto registers = instrumenter.countWithoutStream(clone, plan, first);
  if (clone.is_kernel)
    table_.addFlags(kernel, FADE_KERNEL_COUNTS_IN(registers.first, registers.end));
  blocks_recorded += blocks.size();
}

// The accesses as the machine will make them, and those of the source that are part of them now.
std::vector<Access> ModuleInstrumentation::machineAccesses(Function &clone,
                                                           std::vector<AccessHistory::Gone> &gone) {
  Omissions said_later;
  const AccessHistory history(findAccesses(clone, target_, options_, said_later));
  const bool is_optimized = !clone.hasOptNone() && !machine_->isEmpty();
  alignLdsAccesses(clone);
  if (is_optimized) machine_->run(clone, analyses_);
  std::vector<Access> accesses = findAccesses(clone, target_, options_, omissions_);
  gone = history.gone(accesses);
  for (Access &access : accesses) access.site.flags |= history.atomicFlags(access);
  if (is_optimized) markScalarLoads(clone, analyses_, accesses);
  if (is_optimized) mergeSameBase(accesses, gone);
  splitLdsAccesses(accesses);
  return accesses;
}

void ModuleInstrumentation::addGone(const std::vector<AccessHistory::Gone> &gone,
                                    const std::vector<Access> &accesses,
                                    const std::vector<uint32_t> &sites, uint32_t kernel,
                                    const Function &original) {
  for (const AccessHistory::Gone &one : gone) {
    fade_site site = one.site;
    site.flags |= FADE_SITE_IS_GONE;
    site.kernel = kernel;
    site.block = FADE_NO_INDEX;
    for (std::size_t i = 0; i < accesses.size() && site.done_by == 0; ++i)
      if (accesses[i].instruction == one.by) site.done_by = sites[i] + 1;
    table_.addSite(site, one.place, original);
  }
}

void ModuleInstrumentation::instrumentClone(Clone &clone, uint32_t kernel,
                                            Instrumenter &instrumenter) {
  if (options_.hasNoStream()) return countClone(clone, kernel, instrumenter);
  const Originals originals = originalsOf(clone);
  // Find everything before anything is added.
  std::vector<Access> accesses;
  std::vector<AccessHistory::Gone> gone;
  if (seesMachine())
    accesses = machineAccesses(*clone.function, gone);
  else if (options_.modes & FADE_MODE_ACCESSES)
    accesses = findAccesses(*clone.function, target_, options_, omissions_);
  std::vector<UserRecord> users = findUserRecords(*clone.function, options_);
  SmallVector<BasicBlock *, 16> blocks;
  if (options_.modes & (FADE_MODE_BLOCKS | FADE_MODE_COUNTS))
    for (BasicBlock &block : *clone.function)
      if (isInScope(*block.getTerminator(), options_)) blocks.push_back(&block);

  // Block sites come first, so that accesses can name theirs.
  DenseMap<const BasicBlock *, uint32_t> block_sites;
  for (BasicBlock *block : blocks) {
    block_sites[block] = table_.addBlock(*block, kernel);
    if (BasicBlock *original = originals.lookup(block)) markBlock(*original, block_sites[block]);
  }
  // What stands in a block names the block's site.
  const auto addSite = [&](fade_site &site, const Instruction &at) {
    const auto block = block_sites.find(at.getParent());
    site.kernel = kernel;
    site.block = block == block_sites.end() ? FADE_NO_INDEX : block->second;
    return table_.addSite(site, at.getDebugLoc().get(), *clone.original);
  };
  std::vector<uint32_t> access_sites, user_sites;
  for (UserRecord &user : users) user_sites.push_back(addSite(user.site, *user.marker));
  for (Access &access : accesses) access_sites.push_back(addSite(access.site, *access.instruction));
  addGone(gone, accesses, access_sites, kernel, *clone.original);

  if (options_.sums()) {
    instrumenter.findTable(clone, (options_.modes & FADE_MODE_BLOCKS) != 0);
  } else if (clone.is_kernel) {
    instrumenter.announceWave(clone, kernel);
    if (options_.modes & FADE_MODE_KERNEL) instrumenter.recordWaveEnd(clone, kernel);
  }
  if (options_.modes & FADE_MODE_COUNTS) {
    instrumenter.findCounters(clone);
    for (BasicBlock *block : blocks) instrumenter.countBlock(clone, *block, block_sites[block]);
  }
  if (options_.modes & FADE_MODE_BLOCKS)
    for (BasicBlock *block : blocks) instrumenter.recordBlock(clone, *block, block_sites[block]);
  instrumenter.setInline(accesses.size() <= options_.mostInlined());
  const bool keeps =
      options_.sums() && clone.is_kernel && !is_left_anywhere_ && !clone.function->hasOptNone();
  if (keeps) instrumenter.keepClasses(clone, accesses);
  for (std::size_t i = 0; i < accesses.size(); ++i)
    instrumenter.recordAccess(clone, accesses[i], access_sites[i]);
  if (keeps) instrumenter.addKeptClasses(clone);
  for (std::size_t i = 0; i < users.size(); ++i)
    instrumenter.recordUser(clone, users[i], user_sites[i]);
  accesses_recorded += accesses.size();
  blocks_recorded += blocks.size();
}

void ModuleInstrumentation::instrumentKernel(Function &kernel, Instrumenter &instrumenter) {
  Clone clone = cloner_.cloneKernel(kernel);
  const StringRef name = options_.replace ? kernel.getName() : clone.function->getName();
  const uint32_t index = table_.addKernel(kernel, name, options_.modes, kernelFlags());
  instrumentClone(clone, index, instrumenter);
  SmallVector<Clone, 8> work;
  cloner_.followCalls(clone, work);
  KernelCloner::dropLineTables(clone);
  while (!work.empty()) {
    Clone function = work.pop_back_val();
    instrumentClone(function, FADE_NO_INDEX, instrumenter);
    cloner_.followCalls(function, work);
    KernelCloner::dropLineTables(function);
    ++functions_cloned;
  }
  if (options_.replace) cloner_.replace(clone);
  ++kernels_cloned;
}

// Names that fit nothing are no mistake, since a program has many files; but they may be one.
void ModuleInstrumentation::warnIfNothingFits(bool found_kernels) const {
  Options any = options_;
  any.kernels = nullptr;
  const char *what = nullptr;
  if (!found_kernels && options_.kernels && !findKernels(module_, target_, any).empty())
    what = "kernel of this module has such a name";
  else if (found_kernels && !options_.scopes.empty() && table_.siteCount() == 0)
    what = "code of this module is in scope";
  if (what) errs() << "fade: no " << what << ": " << options_.text << "\n";
}

Expected<bool> ModuleInstrumentation::run() {
  const auto kernels = findKernels(module_, target_, options_);
  if (kernels.empty()) {
    warnIfNothingFits(false);
    return false;
  }
  auto runtime = DeviceRuntime::link(module_);
  if (!runtime) return runtime.takeError();
  is_left_anywhere_ = isLeftAnywhere();
  Instrumenter instrumenter(*runtime, target_, module_, options_.sums());
  for (Function *kernel : kernels) instrumentKernel(*kernel, instrumenter);
  if (options_.replace) cloner_.removeUncalled();
  const uint32_t modes = options_.modes | (seesMachine() ? FADE_MODE_MACHINE : 0);
  target_.embedSites(module_, table_.finish(modes, options_.text));
  instrumenter.setModuleId(table_.moduleId());
  runtime->removeUnused();
  warnIfNothingFits(true);
  for (const std::string &line : omissions_.lines()) errs() << line << "\n";
  std::string broken;
  raw_string_ostream why(broken);
  if (verifyModule(module_, &why))
    return createStringError(inconvertibleErrorCode(),
                             "fade: instrumentation made a broken module: " + why.str());
  return true;
}

// SPIR-V of AMD's kind is compiled for a GPU when the program runs: HIP does that, without the
// pass.
void sayWhatSpirvLacks(const Module &module) {
  StringRef first;
  unsigned kernels = 0;
  for (const Function &function : module)
    if (function.getCallingConv() == CallingConv::SPIR_KERNEL && !function.isDeclaration())
      if (kernels++ == 0) first = function.getName();
  if (kernels != 0)
    errs() << "fade: not instrumented: " << kernels << (kernels == 1 ? " kernel" : " kernels")
           << " for amdgcnspirv (like " << first
           << "): compile for the GPU itself (--offload-arch=gfx90a)\n";
}

} // namespace

PreservedAnalyses FadePass::run(Module &module, ModuleAnalysisManager &analyses) {
  FunctionAnalysisManager &of_functions =
      analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
  const std::unique_ptr<Target> target = Target::of(module, of_functions);
  const bool is_spirv = startsWith(targetTriple(module), "spirv64-amd");
  if (!target && !is_spirv) return PreservedAnalyses::all();
  auto options = has_text_ ? Options::parse(text_) : Options::fromEnvironment();
  if (!options) {
    module.getContext().emitError(toString(options.takeError()));
    return PreservedAnalyses::all();
  }
  if (options->off) return PreservedAnalyses::all();
  if (is_spirv) {
    sayWhatSpirvLacks(module);
    return PreservedAnalyses::all();
  }
  auto changed = ModuleInstrumentation(module, *target, *options,
                                       knows_machine_ ? &machine_ : nullptr, of_functions)
                     .run();
  if (!changed) {
    module.getContext().emitError(toString(changed.takeError()));
    return PreservedAnalyses::none();
  }
  return *changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace fade
