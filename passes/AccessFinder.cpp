#include "AccessFinder.h"

#include "BufferAccess.h"
#include "Compat.h"
#include "SiteTable.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace fade {

namespace {

constexpr unsigned private_space = 5, constant32_space = 6, fat_pointer_space = 7;

// Collects the accesses of one function.
class Finder {
public:
  Finder(Function &function, const Options &options, Omissions &omissions)
      : function_(function), layout_(function.getParent()->getDataLayout()), options_(options),
        omissions_(omissions) {}

  std::vector<Access> run() {
    for (Instruction &instruction : instructions(function_))
      if (isInScope(instruction, options_)) visit(instruction);
    return std::move(found_);
  }

private:
  void visit(Instruction &instruction);
  void visitCall(CallBase &call);
  void visitIntrinsic(CallBase &call, Function &intrinsic);
  void visitMasked(IntrinsicInst &call);
  void visitMemory(MemIntrinsic &call);
  void visitLdsLoad(CallBase &call, Value *source, uint64_t displacement, Value *destination,
                    uint64_t destination_displacement);
  void visitInlineAssembly(CallBase &call);

  Access describe(Instruction &instruction, Value *pointer, uint32_t kind, uint32_t flags,
                  uint64_t size) const;
  void add(const Access &access);
  void omit(const Instruction &where, const std::string &reason) { omissions_.add(where, reason); }

  uint64_t sizeOf(Type *type) const { return storeSize(layout_, type); }

  Function &function_;
  const DataLayout &layout_;
  const Options &options_;
  Omissions &omissions_;
  std::vector<Access> found_;
};

uint32_t spaceOf(const Value &pointer) {
  const unsigned space = pointer.getType()->getScalarType()->getPointerAddressSpace();
  return space == constant32_space ? FADE_SPACE_CONSTANT : space;
}

// Stack slots are a matter between the kernel and its compiler.
bool isStack(const Value &pointer) {
  if (pointer.getType()->isVectorTy()) return spaceOf(pointer) == private_space;
  if (spaceOf(pointer) == private_space) return true;
  if (spaceOf(pointer) != FADE_SPACE_FLAT) return false;
  SmallVector<const Value *, 4> objects;
  getUnderlyingObjects(&pointer, objects);
  for (const Value *object : objects)
    if (!isa<AllocaInst>(object) && spaceOf(*object) != private_space) return false;
  return true;
}

Access Finder::describe(Instruction &instruction, Value *pointer, uint32_t kind, uint32_t flags,
                        uint64_t size) const {
  Access access;
  access.instruction = &instruction;
  access.pointer = pointer;
  access.site.kind = kind;
  access.site.flags = flags;
  access.site.space = spaceOf(*pointer);
  access.site.size = static_cast<uint32_t>(size);
  return access;
}

void Finder::add(const Access &access) {
  if (access.form != AddressForm::buffer) {
    if (access.site.space == fat_pointer_space) {
      omit(*access.instruction, "accesses through buffer fat pointers (address space 7)");
      return;
    }
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
  default: return visitIntrinsic(call, *callee);
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

void Finder::visitLdsLoad(CallBase &call, Value *source, uint64_t displacement, Value *destination,
                          uint64_t destination_displacement) {
  const uint64_t size = cast<ConstantInt>(call.getArgOperand(2))->getZExtValue();
  Access read = describe(call, source, FADE_SITE_COPY_READ, FADE_SITE_READS, size);
  read.displacement = displacement;
  add(read);
  Access write = describe(call, destination, FADE_SITE_COPY_WRITE, FADE_SITE_WRITES, size);
  write.form = AddressForm::lds_lanes;
  write.displacement = destination_displacement;
  add(write);
}

// Target intrinsics are told by name: their numbers and sets differ between LLVMs.
void Finder::visitIntrinsic(CallBase &call, Function &intrinsic) {
  StringRef name = intrinsic.getName();
  if (!name.consume_front("llvm.amdgcn.")) return;
  if (std::optional<BufferCall> buffer = readBufferCall(name, call)) {
    if (!buffer->omission.empty()) return omit(call, buffer->omission);
    for (Access &access : describeBufferCall(*buffer, call, layout_)) add(access);
    return;
  }
  if (startsWith(name, "global.load.lds")) {
    auto constant = [&](unsigned i) {
      return cast<ConstantInt>(call.getArgOperand(i))->getSExtValue();
    };
    // The immediate offset applies to both sides.
    const auto offset = static_cast<uint64_t>(constant(3));
    return visitLdsLoad(call, call.getArgOperand(0), offset, call.getArgOperand(1), offset);
  }
  const bool atomic = startsWith(name, "global.atomic.") || startsWith(name, "flat.atomic.") ||
                      startsWith(name, "ds.fadd") || startsWith(name, "ds.fmin") ||
                      startsWith(name, "ds.fmax") || startsWith(name, "atomic.inc") ||
                      startsWith(name, "atomic.dec");
  if (atomic && call.getArgOperand(0)->getType()->isPointerTy()) {
    add(describe(call, call.getArgOperand(0), FADE_SITE_ATOMIC,
                 FADE_SITE_READS | FADE_SITE_WRITES | FADE_SITE_IS_ATOMIC,
                 sizeOf(call.getArgOperand(1)->getType())));
  } else if (startsWith(name, "global.load.tr") || startsWith(name, "ds.load.tr") ||
             startsWith(name, "ds.read.tr")) {
    add(describe(call, call.getArgOperand(0), FADE_SITE_LOAD, FADE_SITE_READS,
                 sizeOf(call.getType())));
  } else if (startsWith(name, "ds.append") || startsWith(name, "ds.consume") ||
             startsWith(name, "ds.ordered") || startsWith(name, "image.") ||
             startsWith(name, "s.prefetch") || startsWith(name, "ds.direct")) {
    omit(
        call,
        ("intrinsic llvm.amdgcn." + name.take_until([](char c) { return c == '.'; }) + ".*").str());
  }
}

void Finder::visitInlineAssembly(CallBase &call) {
  const StringRef text = cast<InlineAsm>(call.getCalledOperand())->getAsmString();
  for (const char *mnemonic : {"global_", "flat_", "buffer_load", "buffer_store", "buffer_atomic",
                               "ds_read", "ds_write", "ds_load", "ds_store", "ds_add", "s_load"})
    if (text.contains(mnemonic)) return omit(call, "memory instructions in inline assembly");
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

std::vector<Access> findAccesses(Function &function, const Options &options, Omissions &omissions) {
  return Finder(function, options, omissions).run();
}

} // namespace fade
