#include "AccessFinder.h"

#include "Compat.h"
#include "SiteTable.h"
#include "Target.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace fade {

namespace {

// Collects the accesses of one function.
class Finder {
public:
  Finder(Function &function, const Target &target, const Options &options, Omissions &omissions)
      : function_(function), layout_(function.getParent()->getDataLayout()), target_(target),
        options_(options), omissions_(omissions) {}

  std::vector<Access> run() {
    for (Instruction &instruction : instructions(function_))
      if (isInScope(instruction, options_)) visit(instruction);
    return std::move(found_);
  }

private:
  void visit(Instruction &instruction);
  void visitCall(CallBase &call);
  void visitMasked(IntrinsicInst &call);
  void visitMemory(MemIntrinsic &call);
  void visitTargetIntrinsic(CallBase &call, const Function &intrinsic);
  void visitInlineAssembly(CallBase &call);

  Access describe(Instruction &instruction, Value *pointer, uint32_t kind, uint32_t flags,
                  uint64_t size) const {
    return describeAccess(target_, instruction, pointer, kind, flags, size);
  }
  bool isStack(const Value &pointer) const;
  void add(const Access &access);
  void omit(const Instruction &where, const std::string &reason) { omissions_.add(where, reason); }

  uint64_t sizeOf(Type *type) const { return storeSize(layout_, type); }

  Function &function_;
  const DataLayout &layout_;
  const Target &target_;
  const Options &options_;
  Omissions &omissions_;
  std::vector<Access> found_;
};

unsigned addressSpace(const Value &pointer) {
  return pointer.getType()->getScalarType()->getPointerAddressSpace();
}

// Stack slots are a matter between the kernel and its compiler.
bool Finder::isStack(const Value &pointer) const {
  const SpaceMeaning meaning = target_.meaningOf(addressSpace(pointer));
  if (meaning.is_private || pointer.getType()->isVectorTy()) return meaning.is_private;
  if (meaning.space != FADE_SPACE_FLAT) return false;
  SmallVector<const Value *, 4> objects;
  getUnderlyingObjects(&pointer, objects);
  for (const Value *object : objects)
    if (!target_.isPrivateObject(*object)) return false;
  return true;
}

void Finder::add(const Access &access) {
  if (access.form != AddressForm::buffer) {
    if (const char *why = target_.meaningOf(addressSpace(*access.pointer)).omission)
      return omit(*access.instruction, why);
    if (isStack(*access.pointer)) return;
  }
  if (options_.wantsSpace(access.site.space)) found_.push_back(access);
}

void Finder::visit(Instruction &instruction) {
  if (auto *load = dyn_cast<LoadInst>(&instruction)) {
    uint32_t flags = FADE_SITE_READS | (load->isVolatile() ? FADE_SITE_IS_VOLATILE : 0) |
                     (load->isAtomic() ? FADE_SITE_IS_ATOMIC : 0);
    add(describe(instruction, load->getPointerOperand(), FADE_SITE_LOAD, flags,
                 sizeOf(load->getType())));
  } else if (auto *store = dyn_cast<StoreInst>(&instruction)) {
    uint32_t flags = FADE_SITE_WRITES | (store->isVolatile() ? FADE_SITE_IS_VOLATILE : 0) |
                     (store->isAtomic() ? FADE_SITE_IS_ATOMIC : 0);
    add(describe(instruction, store->getPointerOperand(), FADE_SITE_STORE, flags,
                 sizeOf(store->getValueOperand()->getType())));
  } else if (auto *rmw = dyn_cast<AtomicRMWInst>(&instruction)) {
    add(describe(instruction, rmw->getPointerOperand(), FADE_SITE_ATOMIC,
                 FADE_SITE_READS | FADE_SITE_WRITES | FADE_SITE_IS_ATOMIC,
                 sizeOf(rmw->getValOperand()->getType())));
  } else if (auto *swap = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
    add(describe(instruction, swap->getPointerOperand(), FADE_SITE_ATOMIC,
                 FADE_SITE_READS | FADE_SITE_WRITES | FADE_SITE_IS_ATOMIC,
                 sizeOf(swap->getCompareOperand()->getType())));
  } else if (auto *call = dyn_cast<CallBase>(&instruction)) {
    visitCall(*call);
  }
}

void Finder::visitCall(CallBase &call) {
  if (call.isInlineAsm()) return visitInlineAssembly(call);
  Function *callee = call.getCalledFunction();
  if (!callee || !callee->isIntrinsic()) return;
  if (auto *memory = dyn_cast<MemIntrinsic>(&call)) return visitMemory(*memory);
  switch (callee->getIntrinsicID()) {
  case Intrinsic::masked_load:
  case Intrinsic::masked_store:
  case Intrinsic::masked_gather:
  case Intrinsic::masked_scatter: return visitMasked(cast<IntrinsicInst>(call));
  case Intrinsic::masked_expandload:
  case Intrinsic::masked_compressstore:
    return omit(call, "expanding and compressing vector accesses");
  default: return visitTargetIntrinsic(call, *callee);
  }
}

void Finder::visitMemory(MemIntrinsic &call) {
  const auto *constant = dyn_cast<ConstantInt>(call.getLength());
  if (constant && constant->isZero()) return;
  // A length that fits the site's size is a constant of the site, any other comes with the record.
  const bool fixed = constant && constant->getValue().getActiveBits() <= 32;
  auto part = [&](Value *pointer, uint32_t kind, uint32_t direction) {
    uint32_t flags = direction | (call.isVolatile() ? FADE_SITE_IS_VOLATILE : 0) |
                     (fixed ? 0 : FADE_SITE_HAS_LENGTH);
    Access access = describe(call, pointer, kind, flags, fixed ? constant->getZExtValue() : 0);
    if (!fixed) access.length = call.getLength();
    add(access);
  };
  if (auto *transfer = dyn_cast<MemTransferInst>(&call)) {
    part(transfer->getRawSource(), FADE_SITE_COPY_READ, FADE_SITE_READS);
    part(transfer->getRawDest(), FADE_SITE_COPY_WRITE, FADE_SITE_WRITES);
  } else {
    part(call.getRawDest(), FADE_SITE_FILL, FADE_SITE_WRITES);
  }
}

// A masked access of n elements is n accesses, each with a condition of its own: lanes differ in
// which elements they touch.
void Finder::visitMasked(IntrinsicInst &call) {
  const Intrinsic::ID id = call.getIntrinsicID();
  const bool stores = id == Intrinsic::masked_store || id == Intrinsic::masked_scatter;
  const bool scattered = id == Intrinsic::masked_gather || id == Intrinsic::masked_scatter;
  Type *type = stores ? call.getArgOperand(0)->getType() : call.getType();
  auto *vector = dyn_cast<FixedVectorType>(type);
  if (!vector) return omit(call, "masked accesses of scalable vectors");
  // Operands: ptr, [align,] mask, passthru and value, ptr, [align,] mask. Newer LLVMs have the
  // alignment as an attribute, so positions count from both ends.
  Value *pointer = call.getArgOperand(stores ? 1 : 0);
  Value *mask = call.getArgOperand(call.arg_size() - (stores ? 1 : 2));
  const uint64_t size = sizeOf(vector->getElementType());
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    if (auto *constant = dyn_cast<Constant>(mask)) {
      const Constant *bit = constant->getAggregateElement(i);
      if (bit && bit->isNullValue()) continue;
    }
    Access access =
        describe(call, pointer, stores ? FADE_SITE_STORE : FADE_SITE_LOAD,
                 (stores ? FADE_SITE_WRITES : FADE_SITE_READS) | FADE_SITE_IS_PREDICATED, size);
    access.form = AddressForm::element;
    access.mask = mask;
    access.index = i;
    if (!scattered) access.displacement = i * size;
    add(access);
  }
}

void Finder::visitTargetIntrinsic(CallBase &call, const Function &intrinsic) {
  const IntrinsicAccesses described = target_.describe(call, intrinsic.getName(), layout_);
  if (!described.omission.empty()) omit(call, described.omission);
  for (const Access &access : described.accesses) add(access);
}

void Finder::visitInlineAssembly(CallBase &call) {
  if (target_.assemblyTouchesMemory(cast<InlineAsm>(call.getCalledOperand())->getAsmString()))
    omit(call, "memory instructions in inline assembly");
}

} // namespace

void Omissions::add(const Instruction &where, const std::string &reason) {
  Seen &seen = reasons_[reason];
  if (seen.count++ != 0) return;
  if (const DILocation *location = where.getDebugLoc().get())
    seen.first = sourcePath(*location->getScope()) + ":" + std::to_string(location->getLine());
  else
    seen.first = "in " + where.getFunction()->getName().str();
}

std::vector<std::string> Omissions::lines() const {
  std::vector<std::string> out;
  out.reserve(reasons_.size());
  for (const auto &[reason, seen] : reasons_)
    out.push_back("fade: not instrumented: " + reason + " (" + std::to_string(seen.count) +
                  ", first " + seen.first + ")");
  return out;
}

bool isInScope(const Instruction &instruction, const Options &options) {
  if (options.scopes.empty()) return true;
  for (const DILocation *l = instruction.getDebugLoc().get(); l; l = l->getInlinedAt())
    if (options.wantsPlace(sourcePath(*l->getScope()), l->getLine())) return true;
  return false;
}

Access describeAccess(const Target &target, Instruction &instruction, Value *pointer, uint32_t kind,
                      uint32_t flags, uint64_t size) {
  Access access;
  access.instruction = &instruction;
  access.pointer = pointer;
  access.site.kind = kind;
  access.site.flags = flags;
  access.site.space = target.meaningOf(addressSpace(*pointer)).space;
  access.site.size = static_cast<uint32_t>(size);
  return access;
}

std::vector<Access> findAccesses(Function &function, const Target &target, const Options &options,
                                 Omissions &omissions) {
  return Finder(function, target, options, omissions).run();
}

} // namespace fade
