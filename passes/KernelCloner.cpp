#include "KernelCloner.h"

#include "Compat.h"
#include "Target.h"

#include "fade/clone.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/CallPromotionUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace fade {

namespace {

// Marks what the pass has made, so that a second run leaves it alone.
constexpr char made_by_fade[] = "fade-instrumented";
// With more candidates than this, a chain of comparisons costs more than it shows.
constexpr unsigned max_indirect_candidates = 16;

// Describes the new argument in the metadata that ends up in the code object.
void extendArgumentMetadata(Function &kernel) {
  LLVMContext &context = kernel.getContext();
  auto append = [&](const char *name, Metadata *value) {
    MDNode *node = kernel.getMetadata(name);
    if (!node) return;
    SmallVector<Metadata *, 8> values(node->op_begin(), node->op_end());
    values.push_back(value);
    kernel.setMetadata(name, MDNode::get(context, values));
  };
  auto text = [&](const char *value) { return MDString::get(context, value); };
  append("kernel_arg_addr_space",
         ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(context), 1)));
  append("kernel_arg_access_qual", text("none"));
  append("kernel_arg_type", text("void*"));
  append("kernel_arg_base_type", text("void*"));
  append("kernel_arg_type_qual", text(""));
  // Compilers drop the names of values, and with them the arguments' names in the metadata; this
  // one must be there.
  if (!kernel.getMetadata("kernel_arg_name")) {
    SmallVector<Metadata *, 8> unnamed(kernel.arg_size() - 1, text(""));
    kernel.setMetadata("kernel_arg_name", MDNode::get(context, unnamed));
  }
  append("kernel_arg_name", text(FADE_CONTROL_ARGUMENT));
}

} // namespace

// Mathematics, printf and the like: not the user's code, and costly to look into.
bool KernelCloner::isDeviceLibrary(StringRef name) const {
  for (const char *prefix : {"__llvm_", "__asan_", "__fade_"})
    if (startsWith(name, prefix)) return true;
  return target_.isLibrary(name);
}

// Removes from a clone what was inferred about the original and no longer holds: it now writes
// records. The facts about hidden arguments and stack do hold, since the runtime needs neither, but
// for the ids that a kernel's twin reads when it announces a wave.
void KernelCloner::removeInferredAttributes(Function &clone) const {
  removeMemoryAttributes(clone);
  for (auto kind : {Attribute::Speculatable, Attribute::NoSync, Attribute::NoFree,
                    Attribute::WillReturn, Attribute::MustProgress})
    clone.removeFnAttr(kind);
  // These limit the registers that the clone may use, or say that it uses none of a kind.
  for (const char *name : {"amdgpu-waves-per-eu", "amdgpu-agpr-alloc", "amdgpu-no-agpr",
                           "amdgpu-num-vgpr", "amdgpu-num-sgpr", "amdgpu-no-flat-scratch-init"})
    clone.removeFnAttr(name);
  if (target_.isKernel(clone))
    for (const char *name :
         {"amdgpu-no-workgroup-id-x", "amdgpu-no-workgroup-id-y", "amdgpu-no-workgroup-id-z"})
      clone.removeFnAttr(name);
  if (target_.isKernel(clone) && announces_)
    for (const char *name :
         {"amdgpu-no-workitem-id-x", "amdgpu-no-workitem-id-y", "amdgpu-no-workitem-id-z"})
      clone.removeFnAttr(name);
  clone.addFnAttr(Attribute::Convergent);
  clone.addFnAttr(made_by_fade);
}

void KernelCloner::collectLds(const Value *value, SmallPtrSetImpl<const Value *> &visited,
                              SmallVectorImpl<GlobalVariable *> &found) const {
  const auto *constant = dyn_cast<Constant>(value);
  if (!constant || !visited.insert(constant).second) return;
  if (const auto *variable = dyn_cast<GlobalVariable>(constant)) {
    if (variable->getAddressSpace() == FADE_SPACE_LDS && target_.needsTwin(*variable))
      found.push_back(const_cast<GlobalVariable *>(variable));
    return; // initializers of globals are not part of the function
  }
  if (isa<GlobalValue>(constant)) return;
  for (const Use &operand : constant->operands()) collectLds(operand, visited, found);
}

// Calls by another name of a function are calls of it. A call that must be a tail call needs a
// callee with the parameters of its caller, and a clone has more: where no clone will be called, it
// stays an ordinary call.
void KernelCloner::simplifyCalls(Function &clone) const {
  for (Instruction &instruction : instructions(clone)) {
    auto *call = dyn_cast<CallInst>(&instruction);
    if (!call || call->isInlineAsm()) continue;
    auto *callee = dyn_cast<Function>(call->getCalledOperand()->stripPointerCastsAndAliases());
    if (callee && callee->getFunctionType() == call->getFunctionType())
      call->setCalledFunction(callee);
    const bool is_cloned =
        callee && !callee->isDeclaration() && !isDeviceLibrary(callee->getName());
    if (call->isMustTailCall() && !is_cloned) call->setTailCallKind(CallInst::TCK_Tail);
  }
}

SmallVector<Function *, 8> findKernels(Module &module, const Target &target,
                                       const Options &options) {
  SmallVector<Function *, 8> kernels;
  for (Function &function : module) {
    const StringRef name = function.getName();
    if (!target.isKernel(function) || function.isDeclaration() ||
        function.hasFnAttribute(made_by_fade) || function.hasFnAttribute("device-init") ||
        function.hasFnAttribute("device-fini"))
      continue;
    if (startsWith(name, FADE_CLONE_PREFIX) ||
        module.getFunction((FADE_CLONE_PREFIX + name).str()) || !options.wantsKernel(name))
      continue;
    kernels.push_back(&function);
  }
  return kernels;
}

// A twin of its own for an LDS variable that clones use, where the target wants one. Contents are
// per workgroup and undefined at its start: nothing is lost.
GlobalVariable *KernelCloner::ldsTwin(GlobalVariable &original) {
  GlobalVariable *&twin = lds_[&original];
  if (!twin) {
    Constant *initializer = original.hasInitializer() ? original.getInitializer() : nullptr;
    twin = new GlobalVariable(
        module_, original.getValueType(), original.isConstant(), original.getLinkage(), initializer,
        FADE_CLONE_PREFIX + original.getName(), nullptr, original.getThreadLocalMode(),
        original.getAddressSpace(), original.isExternallyInitialized());
    twin->copyAttributesFrom(&original);
  }
  return twin;
}

Function *KernelCloner::copy(Function &original, ArrayRef<Type *> more, bool is_kernel) {
  FunctionType *type = original.getFunctionType();
  SmallVector<Type *, 16> parameters(type->param_begin(), type->param_end());
  parameters.append(more.begin(), more.end());
  auto *new_type = FunctionType::get(type->getReturnType(), parameters, type->isVarArg());
  const std::string name = (FADE_CLONE_PREFIX + original.getName()).str();
  Function *clone = is_kernel ? target_.createTwin(original, new_type, name)
                              : Function::Create(new_type, original.getLinkage(),
                                                 original.getAddressSpace(), name, &module_);
  ValueToValueMapTy map;
  auto argument = clone->arg_begin();
  for (Argument &from : original.args()) {
    argument->setName(from.getName());
    map[&from] = &*argument++;
  }
  SmallPtrSet<const Value *, 32> visited;
  SmallVector<GlobalVariable *, 4> lds;
  for (Instruction &instruction : instructions(original))
    for (const Use &operand : instruction.operands()) collectLds(operand, visited, lds);
  for (GlobalVariable *variable : lds) map[variable] = ldsTwin(*variable);

  SmallVector<ReturnInst *, 4> returns;
  CloneFunctionInto(clone, &original, map, CloneFunctionChangeType::LocalChangesOnly, returns);
  clone->setVisibility(original.getVisibility());
  clone->setDSOLocal(original.isDSOLocal());
  clone->setUnnamedAddr(original.getUnnamedAddr());
  clone->setCallingConv(original.getCallingConv());
  if (const Comdat *comdat = original.getComdat()) {
    Comdat *own = module_.getOrInsertComdat(clone->getName());
    own->setSelectionKind(comdat->getSelectionKind());
    clone->setComdat(own);
  }
  removeInferredAttributes(*clone);
  return clone;
}

Clone KernelCloner::cloneKernel(Function &original) {
  Clone clone;
  clone.original = &original;
  clone.is_kernel = true;
  clone.function = copy(original, {pointerType(module_.getContext(), FADE_SPACE_GLOBAL)}, true);
  Argument *control = clone.function->arg_end() - 1;
  control->setName(FADE_CONTROL_ARGUMENT);
  control->addAttr(Attribute::NoUndef);
  clone.control = control;
  extendArgumentMetadata(*clone.function);
  return clone;
}

void KernelCloner::dropLineTables(const Clone &clone) {
  const DISubprogram *subprogram = clone.function->getSubprogram();
  if (!subprogram || !subprogram->getUnit() ||
      subprogram->getUnit()->getEmissionKind() == DICompileUnit::FullDebug)
    return;
  stripDebugInfo(*clone.function);
}

void KernelCloner::replace(const Clone &clone) {
  target_.dropAnnotations(*clone.original);
  clone.function->takeName(clone.original);
  clone.original->replaceAllUsesWith(
      ConstantExpr::getPointerCast(clone.function, clone.original->getType()));
  clone.original->eraseFromParent();
}

void KernelCloner::removeUncalled() {
  SmallPtrSet<Function *, 8> uncalled;
  for (const auto &[original, clone] : functions_)
    if (original->hasLocalLinkage()) uncalled.insert(original);
  // What remains is used by nobody but each other.
  bool changed = true;
  while (changed) {
    changed = false;
    for (const auto &[original, clone] : functions_) {
      if (!uncalled.contains(original)) continue;
      const bool is_used = any_of(original->users(), [&](const User *user) {
        const auto *instruction = dyn_cast<Instruction>(user);
        return !instruction || !uncalled.contains(instruction->getFunction());
      });
      if (!is_used) continue;
      uncalled.erase(original);
      changed = true;
    }
  }
  for (Function *function : uncalled) function->dropAllReferences();
  for (Function *function : uncalled) {
    functions_.erase(function);
    function->eraseFromParent();
  }
}

Clone &KernelCloner::functionClone(Function &original, SmallVectorImpl<Clone> &made) {
  auto [entry, added] = functions_.try_emplace(&original);
  if (!added) return entry->second;
  LLVMContext &context = module_.getContext();
  Clone clone;
  clone.original = &original;
  clone.function =
      copy(original, {pointerType(context, FADE_SPACE_GLOBAL), Type::getInt32Ty(context)}, false);
  clone.function->setComdat(nullptr);
  clone.function->setVisibility(GlobalValue::DefaultVisibility);
  clone.function->setLinkage(GlobalValue::InternalLinkage);
  clone.control = clone.function->arg_end() - 2;
  clone.wave = clone.function->arg_end() - 1;
  clone.control->setName(FADE_CONTROL_ARGUMENT);
  clone.wave->setName("__fade_wave");
  made.push_back(clone);
  return functions_[&original] = clone;
}

// Turns a call through a pointer into a chain of comparisons with direct calls, for each function
// of the module that may be meant. The call through the pointer stays as the last resort.
void KernelCloner::promoteIndirectCalls(Function &function) {
  SmallVector<CallInst *, 4> calls;
  for (Instruction &instruction : instructions(function))
    if (auto *call = dyn_cast<CallInst>(&instruction))
      if (!call->isInlineAsm() && !call->getCalledFunction()) calls.push_back(call);
  for (CallInst *call : calls) {
    SmallVector<Function *, 8> candidates;
    for (Function &target : module_)
      if (!target.isDeclaration() && !target_.isKernel(target) &&
          !isDeviceLibrary(target.getName()) && !target.hasFnAttribute(made_by_fade) &&
          target.getFunctionType() == call->getFunctionType() &&
          target.getCallingConv() == call->getCallingConv() && target.hasAddressTaken())
        candidates.push_back(&target);
    if (candidates.empty()) {
      omissions_.add(*call, "calls through pointers to functions of other modules");
      continue;
    }
    if (candidates.size() > max_indirect_candidates) {
      omissions_.add(*call, "calls through pointers that may mean more than " +
                                std::to_string(max_indirect_candidates) + " functions");
      continue;
    }
    Value *callee = call->getCalledOperand();
    if (callee->getType()->getPointerAddressSpace() != 0) { // slots of virtual function tables
      IRBuilder<> builder(call);
      call->setCalledOperand(
          builder.CreateAddrSpaceCast(callee, pointerType(module_.getContext(), 0)));
    }
    for (Function *target : candidates) promoteCallWithIfThenElse(*call, target);
  }
}

void KernelCloner::redirect(CallBase &call, const Clone &caller, const Clone &callee) {
  SmallVector<Value *, 8> arguments(call.args());
  arguments.push_back(caller.control);
  arguments.push_back(caller.wave);
  IRBuilder<> builder(&call);
  CallInst *next = builder.CreateCall(callee.function, arguments);
  next->setCallingConv(call.getCallingConv());
  next->setAttributes(call.getAttributes());
  next->setDebugLoc(call.getDebugLoc());
  next->setTailCallKind(cast<CallInst>(call).getTailCallKind());
  next->addFnAttr(Attribute::Convergent);
  removeMemoryAttributes(*next);
  for (auto kind : {Attribute::NoSync, Attribute::NoFree, Attribute::WillReturn})
    next->removeFnAttr(kind);
  next->takeName(&call);
  call.replaceAllUsesWith(next);
  call.eraseFromParent();
}

void KernelCloner::followCalls(const Clone &clone, SmallVectorImpl<Clone> &made) {
  simplifyCalls(*clone.function);
  promoteIndirectCalls(*clone.function);
  SmallVector<CallInst *, 16> calls;
  for (Instruction &instruction : instructions(*clone.function))
    if (auto *call = dyn_cast<CallInst>(&instruction))
      if (Function *callee = call->getCalledFunction())
        if (!callee->isIntrinsic() && !isDeviceLibrary(callee->getName())) calls.push_back(call);
  for (CallInst *call : calls) {
    Function &callee = *call->getCalledFunction();
    if (callee.isDeclaration())
      omissions_.add(*call, "calls of functions that are not in this module (like " +
                                callee.getName().str() + ")");
    else if (callee.isVarArg())
      omissions_.add(*call, "calls of functions with a variable number of arguments");
    else
      redirect(*call, clone, functionClone(callee, made));
  }
}

} // namespace fade
