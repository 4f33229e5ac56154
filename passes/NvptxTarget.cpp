// NVIDIA GPUs, by way of PTX.
#include "Compat.h"
#include "Target.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace fade {

namespace {

constexpr unsigned local_space = 5, tensor_space = 6, cluster_space = 7, param_space = 101;
constexpr char annotations_name[] = "nvvm.annotations";

// The function that an annotation is about; null if it is about something else.
const Function *annotated(const MDNode &annotation) {
  if (annotation.getNumOperands() == 0) return nullptr;
  return mdconst::dyn_extract_or_null<Function>(annotation.getOperand(0));
}

// Annotations are pairs of name and value behind the function.
bool saysKernel(const MDNode &annotation) {
  for (unsigned i = 1; i + 1 < annotation.getNumOperands(); i += 2) {
    const auto *name = dyn_cast_or_null<MDString>(annotation.getOperand(i));
    const auto *value = mdconst::dyn_extract_or_null<ConstantInt>(annotation.getOperand(i + 1));
    if (name && name->getString() == "kernel" && value && value->isOne()) return true;
  }
  return false;
}

class NvptxTarget : public Target {
public:
  NvptxTarget(const Module &module, FunctionAnalysisManager &analyses);

  // Up to LLVM 20 most kernels are told by an annotation, whatever their calling convention.
  bool isKernel(const Function &function) const override {
    return function.getCallingConv() == CallingConv::PTX_Kernel || kernels_.contains(&function);
  }
  bool isLibrary(StringRef name) const override { return startsWith(name, "__nv_"); }
  Function *createTwin(Function &kernel, FunctionType *type, const std::string &name) override;
  void dropAnnotations(const Function &kernel) override;
  // A variable that only one function uses becomes part of that function in PTX. If its twin used
  // it, too, the original would look different. The others stay what they are, and each kernel gets
  // memory for those that it uses; some of them, like dynamic ones, have no definition to copy.
  bool needsTwin(const GlobalVariable &lds) const override { return lds.hasLocalLinkage(); }

  SpaceMeaning meaningOf(unsigned address_space) const override;
  bool isPrivateObject(const Value &object) const override;
  IntrinsicAccesses describe(CallBase &call, StringRef intrinsic,
                             const DataLayout &layout) const override;
  bool assemblyTouchesMemory(StringRef text) const override;

  Value *workItemId(IRBuilder<> &builder, unsigned dimension) const override {
    constexpr Intrinsic::ID ids[] = {Intrinsic::nvvm_read_ptx_sreg_tid_x,
                                     Intrinsic::nvvm_read_ptx_sreg_tid_y,
                                     Intrinsic::nvvm_read_ptx_sreg_tid_z};
    return callIntrinsic(builder, ids[dimension], {}, {});
  }
  Value *workgroupId(IRBuilder<> &builder, unsigned dimension) const override {
    constexpr Intrinsic::ID ids[] = {Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
                                     Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                                     Intrinsic::nvvm_read_ptx_sreg_ctaid_z};
    return callIntrinsic(builder, ids[dimension], {}, {});
  }
  Value *laneId(IRBuilder<> &builder) const override {
    return callIntrinsic(builder, Intrinsic::nvvm_read_ptx_sreg_laneid, {}, {});
  }
  // There are no scalar registers.
  Value *uniform(IRBuilder<> &, Value *value) const override { return value; }
  Value *toAddress(IRBuilder<> &builder, Value *pointer) const override;
  Value *lanesAtStart(IRBuilder<> &builder) const override;
  void rejoin(IRBuilder<> &builder, Value *start) const override;
  bool endsWave(const CallBase &call) const override {
    const Function *callee = call.getCalledFunction();
    return callee && callee->getName() == "llvm.nvvm.exit";
  }

  void embedSites(Module &module, StringRef table) const override;

private:
  void copyAnnotations(const Function &kernel, Function &twin);
  bool isTakenForKernel(Function &kernel, const Function &twin) const;
  IntrinsicAccesses describeAsyncCopy(CallBase &call, StringRef name) const;

  FunctionAnalysisManager &analyses_;
  DenseSet<const Function *> kernels_; // by annotation
};

NvptxTarget::NvptxTarget(const Module &module, FunctionAnalysisManager &analyses)
    : analyses_(analyses) {
  const NamedMDNode *annotations = module.getNamedMetadata(annotations_name);
  if (!annotations) return;
  for (const MDNode *annotation : annotations->operands())
    if (const Function *function = annotated(*annotation); function && saysKernel(*annotation))
      kernels_.insert(function);
}

void NvptxTarget::copyAnnotations(const Function &kernel, Function &twin) {
  NamedMDNode *annotations = twin.getParent()->getNamedMetadata(annotations_name);
  if (!annotations) return;
  SmallVector<MDNode *, 4> copies;
  for (MDNode *annotation : annotations->operands()) {
    if (annotated(*annotation) != &kernel) continue;
    SmallVector<Metadata *, 8> operands(annotation->op_begin(), annotation->op_end());
    operands[0] = ConstantAsMetadata::get(&twin);
    copies.push_back(MDNode::get(twin.getContext(), operands));
  }
  for (MDNode *copy : copies) annotations->addOperand(copy);
  kernels_.insert(&twin);
}

// Whether LLVM's code for the target believes the annotations of a twin. It remembers, by address,
// also the functions that have none, and a new one may have the address of one that is long gone,
// like a function that was inlined. Arguments of kernels are known to be the same in all lanes.
bool NvptxTarget::isTakenForKernel(Function &kernel, const Function &twin) const {
#if LLVM_VERSION_MAJOR <= 20
  return !analyses_.getResult<TargetIRAnalysis>(kernel).isSourceOfDivergence(twin.getArg(0));
#else
  (void)analyses_;
  return true; // kernels are told by their calling convention alone
#endif
}

Function *NvptxTarget::createTwin(Function &kernel, FunctionType *type, const std::string &name) {
  constexpr size_t max_attempts = 1000; // if there are more such addresses, something else is wrong
  SmallVector<Function *, 4> mistaken;  // kept until the end, or their addresses would come again
  Function *twin = Target::createTwin(kernel, type, name);
  copyAnnotations(kernel, *twin);
  while (kernels_.contains(&kernel) && !isTakenForKernel(kernel, *twin) &&
         mistaken.size() < max_attempts) {
    dropAnnotations(*twin);
    twin->setName("");
    mistaken.push_back(twin);
    twin = Target::createTwin(kernel, type, name);
    copyAnnotations(kernel, *twin);
  }
  for (Function *function : mistaken) function->eraseFromParent();
  return twin;
}

void NvptxTarget::dropAnnotations(const Function &kernel) {
  kernels_.erase(&kernel);
  NamedMDNode *annotations = kernel.getParent()->getNamedMetadata(annotations_name);
  if (!annotations) return;
  SmallVector<MDNode *, 8> kept;
  for (MDNode *annotation : annotations->operands())
    if (annotated(*annotation) != &kernel) kept.push_back(annotation);
  annotations->clearOperands();
  for (MDNode *annotation : kept) annotations->addOperand(annotation);
}

SpaceMeaning NvptxTarget::meaningOf(unsigned address_space) const {
  switch (address_space) {
  case local_space:
  case param_space: return {address_space, true, nullptr};
  case tensor_space: return {tensor_space, false, "accesses to tensor memory (address space 6)"};
  case cluster_space:
    return {cluster_space, false, "accesses to a cluster's shared memory (address space 7)"};
  default: return {address_space, false, nullptr};
  }
}

// Stack slots lie in the generic space until code is generated. So do arguments that are handed
// over by value; one whose address is asked for would get a copy on the stack.
bool NvptxTarget::isPrivateObject(const Value &object) const {
  if (isa<AllocaInst>(object)) return true;
  if (const auto *argument = dyn_cast<Argument>(&object); argument && argument->hasByValAttr())
    return true;
  return meaningOf(object.getType()->getPointerAddressSpace()).is_private;
}

// cp.async.{ca,cg}.shared.global.SIZE[.s]: the last form has the number of bytes that are read;
// the rest is filled with zeros.
IntrinsicAccesses NvptxTarget::describeAsyncCopy(CallBase &call, StringRef name) const {
  const bool partial = name.consume_back(".s");
  uint64_t size = 0;
  if (name.rsplit('.').second.getAsInteger(10, size) || call.arg_size() < (partial ? 3u : 2u))
    return {{}, "intrinsic llvm.nvvm.cp.async.*"};
  Access write = describeAccess(*this, call, call.getArgOperand(0), FADE_SITE_COPY_WRITE,
                                FADE_SITE_WRITES, size);
  Access read =
      describeAccess(*this, call, call.getArgOperand(1), FADE_SITE_COPY_READ,
                     FADE_SITE_READS | (partial ? FADE_SITE_HAS_LENGTH : 0), partial ? 0 : size);
  if (partial) read.length = call.getArgOperand(2);
  return {{read, write}, ""};
}

// Told by name: the intrinsics' numbers and sets differ between LLVMs.
IntrinsicAccesses NvptxTarget::describe(CallBase &call, StringRef name,
                                        const DataLayout &layout) const {
  if (!name.consume_front("llvm.nvvm.")) return {};
  const bool atomic = startsWith(name, "atomic.");
  if (atomic || startsWith(name, "ldg.global.") || startsWith(name, "ldu.global.")) {
    const uint32_t flags = FADE_SITE_READS | (atomic ? FADE_SITE_WRITES | FADE_SITE_IS_ATOMIC : 0u);
    return {{describeAccess(*this, call, call.getArgOperand(0),
                            atomic ? FADE_SITE_ATOMIC : FADE_SITE_LOAD, flags,
                            storeSize(layout, call.getType()))},
            ""};
  }
  if (startsWith(name, "cp.async.ca.shared.global.") ||
      startsWith(name, "cp.async.cg.shared.global."))
    return describeAsyncCopy(call, name);
  // Whatever else takes a pointer and may touch memory: matrices, barriers in memory, bulk copies.
  // Textures and surfaces are known by handles.
  bool touches = false;
  for (const char *prefix : {"tex.", "tld4.", "suld.", "sust."})
    touches |= startsWith(name, prefix);
  for (const Use &argument : call.args())
    touches |= argument->getType()->isPointerTy() && call.mayReadOrWriteMemory();
  if (!touches || startsWith(name, "compiler.") || startsWith(name, "fence.")) return {};
  return {{}, ("intrinsic llvm.nvvm." + name.split('.').first + ".*").str()};
}

bool NvptxTarget::assemblyTouchesMemory(StringRef text) const {
  for (StringRef mnemonic : {"ld.", "ldu.", "st.", "atom.", "red.", "cp.", "ldmatrix.", "stmatrix.",
                             "multimem.", "tex.", "tld4.", "suld.", "sust.", "sured.", "wmma."})
    for (size_t at = text.find(mnemonic); at != StringRef::npos; at = text.find(mnemonic, at + 1))
      if (at == 0 || !(isAlnum(text[at - 1]) || text[at - 1] == '_' || text[at - 1] == '.'))
        return true;
  return false;
}

// Constant memory is a window of the generic space.
Value *NvptxTarget::toAddress(IRBuilder<> &builder, Value *pointer) const {
  if (pointer->getType()->getPointerAddressSpace() == FADE_SPACE_CONSTANT)
    pointer = builder.CreateAddrSpaceCast(pointer, pointerType(builder.getContext(), 0));
  return Target::toAddress(builder, pointer);
}

Value *NvptxTarget::lanesAtStart(IRBuilder<> &builder) const {
  // As assembly: the intrinsic is newer than some of our LLVMs.
  auto *type = FunctionType::get(builder.getInt32Ty(), false);
  CallInst *call = builder.CreateCall(
      type, InlineAsm::get(type, "activemask.b32 $0;", "=r", /*hasSideEffects=*/true));
  call->addFnAttr(Attribute::Convergent);
  call->setName("__fade_lanes");
  return call;
}

void NvptxTarget::rejoin(IRBuilder<> &builder, Value *start) const {
  callIntrinsic(builder, Intrinsic::nvvm_bar_warp_sync, {}, {start});
}

// PTX has no sections for data, but variables that a host can ask for by name. A table that is
// already there stays in front.
void NvptxTarget::embedSites(Module &module, StringRef table) const {
  std::string bytes;
  GlobalVariable *old = module.getGlobalVariable(FADE_SITES_VARIABLE);
  if (old && old->hasInitializer())
    if (const auto *data = dyn_cast<ConstantDataSequential>(old->getInitializer()))
      bytes = data->getRawDataValues().str();
  bytes += table;
  Constant *contents = ConstantDataArray::getString(module.getContext(), bytes, /*AddNull=*/false);
  auto *variable = new GlobalVariable(module, contents->getType(), /*isConstant=*/true,
                                      GlobalValue::ExternalLinkage, contents, "", nullptr,
                                      GlobalValue::NotThreadLocal, FADE_SPACE_GLOBAL);
  variable->setAlignment(Align(8));
  if (old) {
    variable->takeName(old);
    old->replaceAllUsesWith(variable);
    old->eraseFromParent();
  } else {
    variable->setName(FADE_SITES_VARIABLE);
  }
  appendToUsed(module, {variable});
}

} // namespace

std::unique_ptr<Target> makeNvptxTarget(const Module &module, FunctionAnalysisManager &analyses) {
  return std::make_unique<NvptxTarget>(module, analyses);
}

} // namespace fade
