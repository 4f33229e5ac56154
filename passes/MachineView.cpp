#include "MachineView.h"

#include "Compat.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/MemorySSA.h"
#if LLVM_VERSION_MAJOR >= 17
#include "llvm/Analysis/UniformityAnalysis.h"
#endif
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/GetElementPtrTypeIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace fade {

namespace {

// A part of a wider value: what was taken out of the vector that one load brought.
const Value *wholeOf(const Value *part) {
  for (;;) {
    if (const auto *extract = dyn_cast<ExtractElementInst>(part))
      part = extract->getVectorOperand();
    else if (const auto *shuffle = dyn_cast<ShuffleVectorInst>(part))
      part = shuffle->getOperand(0);
    else if (const auto *cast = dyn_cast<CastInst>(part))
      part = cast->getOperand(0);
    else
      return part;
  }
}

// The values that a vector was put together from.
void collectParts(const Value *whole, SmallPtrSetImpl<const Value *> &parts) {
  SmallVector<const Value *, 8> work = {whole};
  while (!work.empty()) {
    const Value *value = work.pop_back_val();
    if (!parts.insert(value).second) continue;
    if (isa<InsertElementInst, ShuffleVectorInst, CastInst, ExtractElementInst>(value))
      for (const Use &operand : cast<User>(value)->operands()) work.push_back(operand);
    else if (const auto *constant = dyn_cast<Constant>(value);
             constant && isa<FixedVectorType>(constant->getType()))
      for (unsigned i = 0; i < cast<FixedVectorType>(constant->getType())->getNumElements(); ++i)
        if (const Constant *element = constant->getAggregateElement(i)) work.push_back(element);
  }
}

} // namespace

FunctionPassManager machinePasses(PassBuilder &builder, unsigned speed_level) {
  FunctionPassManager passes;
  const auto add = [&](StringRef text) {
    // A pass that this LLVM does not have by name is left out: before LLVM 17 its code generator
    // does not combine atomics, either.
    Error unknown = builder.parsePassPipeline(passes, text);
    const bool is_known = !unknown;
    consumeError(std::move(unknown));
    return is_known;
  };
  if (speed_level == 0) return passes;
  // Atomics that the GPU does not have become loops. That takes a target machine, which the first
  // of the two comes with; LLVM has the second by name from 18 on.
  if (add("amdgpu-atomic-optimizer")) add("atomic-expand");
  if (speed_level > 1) {
    add("separate-const-offset-from-gep");
    add("slsr");
    add("early-cse");
    add("load-store-vectorizer");
  }
  return passes;
}

AccessHistory::AccessHistory(const std::vector<Access> &accesses) {
  for (const Access &access : accesses) {
    Entry entry{access.instruction, access.instruction, nullptr,
                access.instruction->getDebugLoc().get(), access.site};
    if (const auto *store = dyn_cast<StoreInst>(access.instruction))
      entry.stored = const_cast<Value *>(store->getValueOperand());
    entries_.push_back(entry);
  }
}

// New ones are where the atomic was: the same operation by one lane, or the load and the swap of a
// loop.
uint32_t AccessHistory::atomicFlags(const Access &now) const {
  for (const Entry &entry : entries_)
    if (entry.instruction == now.instruction && entry.isThere()) return 0;
  for (const Entry &entry : entries_) {
    if (entry.site.kind != FADE_SITE_ATOMIC || entry.isThere() ||
        entry.place != now.instruction->getDebugLoc().get())
      continue;
    if (isa<AtomicRMWInst>(now.instruction)) return FADE_SITE_IS_COMBINED;
    if (isa<AtomicCmpXchgInst, LoadInst>(now.instruction)) return FADE_SITE_IS_LOOP;
  }
  return 0;
}

std::vector<AccessHistory::Gone> AccessHistory::gone(const std::vector<Access> &now) const {
  std::vector<Gone> out;
  for (const Entry &entry : entries_) {
    if (entry.isThere() || entry.site.kind == FADE_SITE_ATOMIC) continue;
    Gone gone{entry.site, entry.place, nullptr};
    const Value *whole = entry.became ? wholeOf(entry.became) : nullptr;
    for (const Access &access : now) {
      if (entry.site.kind == FADE_SITE_STORE) {
        const auto *store = dyn_cast<StoreInst>(access.instruction);
        if (!store || !entry.stored || store->getValueOperand() == entry.stored) continue;
        SmallPtrSet<const Value *, 16> parts;
        collectParts(store->getValueOperand(), parts);
        if (!parts.contains(entry.stored)) continue;
      } else if (access.instruction != whole) {
        continue;
      }
      gone.by = access.instruction;
      break;
    }
    // What one access replaces is often at the same place: one unrolled line.
    out.push_back(gone);
  }
  return out;
}

namespace {

// Dwords of global memory that the machine could load or store together with others.
struct Neighbour {
  std::size_t access = 0; // its number
  int64_t offset = 0;     // from the base
  uint64_t size = 0;
};

constexpr uint64_t kWidest = 16; // bytes of a lane

bool isMergeable(const Access &access) {
  const fade_site &site = access.site;
  if (access.form != AddressForm::pointer || access.displacement != 0 ||
      site.space != FADE_SPACE_GLOBAL || site.size % 4 != 0 || site.size >= kWidest)
    return false;
  if ((site.flags & ~(FADE_SITE_READS | FADE_SITE_WRITES)) != 0) return false;
  if (const auto *load = dyn_cast<LoadInst>(access.instruction))
    return load->getAlign() >= Align(4);
  if (const auto *store = dyn_cast<StoreInst>(access.instruction))
    return store->getAlign() >= Align(4);
  return false;
}

// What an address has besides a constant: a pointer, and numbers times a distance.
using Base = std::pair<const Value *, std::vector<std::pair<const Value *, uint64_t>>>;

Base baseOf(const Value *pointer, int64_t &offset, const DataLayout &layout) {
  APInt constant(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
  Base base{pointer->stripAndAccumulateConstantOffsets(layout, constant, true), {}};
  offset = constant.getSExtValue();
  const auto *gep = dyn_cast<GEPOperator>(base.first);
  if (!gep || !gep->getSourceElementType()->isSized()) return base;
  int64_t more = 0;
  for (auto at = gep_type_begin(gep), end = gep_type_end(gep); at != end; ++at) {
    const Value *index = at.getOperand();
    const auto *number = dyn_cast<ConstantInt>(index);
    if (StructType *type = at.getStructTypeOrNull()) {
      if (!number) return base;
      more += static_cast<int64_t>(
          layout.getStructLayout(type)->getElementOffset(number->getZExtValue()));
      continue;
    }
    const uint64_t distance = layout.getTypeAllocSize(at.getIndexedType()).getKnownMinValue();
    if (number)
      more += number->getSExtValue() * static_cast<int64_t>(distance);
    else
      base.second.emplace_back(index, distance);
  }
  base.first = gep->getPointerOperand();
  offset += more;
  return base;
}

// Whether accesses before the instruction must stay apart from those behind it.
bool isBarrier(const Instruction &instruction, bool is_store) {
  return instruction.mayWriteToMemory() || (is_store && instruction.mayReadFromMemory());
}

// Pairs of neighbours, then pairs of pairs, as the machine does it.
void merge(std::vector<Neighbour> list, std::vector<Access> &accesses,
           std::vector<AccessHistory::Gone> &gone, std::vector<bool> &is_gone) {
  llvm::sort(list, [](const Neighbour &a, const Neighbour &b) { return a.offset < b.offset; });
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    std::vector<Neighbour> next;
    for (std::size_t i = 0; i < list.size(); ++i) {
      next.push_back(list[i]);
      if (i + 1 == list.size()) break;
      const Neighbour &other = list[i + 1];
      const bool is_next = list[i].offset + static_cast<int64_t>(list[i].size) == other.offset;
      if (!is_next || list[i].size + other.size > kWidest) continue;
      next.back().size += other.size;
      Access &whole = accesses[list[i].access];
      whole.site.size = static_cast<uint32_t>(next.back().size);
      const Access &part = accesses[other.access];
      // What the other one had taken in goes with it.
      for (AccessHistory::Gone &one : gone)
        if (one.by == part.instruction) one.by = whole.instruction;
      gone.push_back({part.site, part.instruction->getDebugLoc().get(), whole.instruction});
      is_gone[other.access] = true;
      has_changed = true;
      ++i;
    }
    list = std::move(next);
  }
}

} // namespace

void mergeSameBase(std::vector<Access> &accesses, std::vector<AccessHistory::Gone> &gone) {
  DenseMap<const Instruction *, std::size_t> number;
  SetVector<const BasicBlock *> blocks; // in their order
  for (std::size_t i = 0; i < accesses.size(); ++i)
    if (isMergeable(accesses[i])) {
      number[accesses[i].instruction] = i;
      blocks.insert(accesses[i].instruction->getParent());
    }
  std::vector<bool> is_gone(accesses.size());
  for (const BasicBlock *block : blocks) {
    for (const bool is_store : {false, true}) {
      std::vector<std::pair<Base, std::vector<Neighbour>>> open;
      const auto close = [&] {
        for (auto &[base, list] : open) merge(std::move(list), accesses, gone, is_gone);
        open.clear();
      };
      for (const Instruction &instruction : *block) {
        const auto at = number.find(&instruction);
        const bool is_own = at != number.end() && isa<StoreInst>(instruction) == is_store;
        if (!is_own) {
          if (isBarrier(instruction, is_store)) close();
          continue;
        }
        const Access &access = accesses[at->second];
        int64_t offset = 0;
        const Base base =
            baseOf(access.pointer, offset, block->getParent()->getParent()->getDataLayout());
        auto group = llvm::find_if(open, [&](const auto &known) { return known.first == base; });
        if (group == open.end()) group = open.insert(open.end(), {base, {}});
        group->second.push_back({at->second, offset, access.site.size});
      }
      close();
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < accesses.size(); ++i)
    if (!is_gone[i]) accesses[kept++] = accesses[i];
  accesses.resize(kept);
}

namespace {

// As AMDGPULowerModuleLDS places variables: the larger, the better aligned.
Align placedAlign(const GlobalVariable &variable, const DataLayout &layout) {
  const uint64_t size = layout.getTypeAllocSize(variable.getValueType()).getKnownMinValue();
  const Align own = layout.getValueOrABITypeAlignment(variable.getAlign(), variable.getValueType());
  return std::max(own, Align(size > 8 ? 16 : size > 4 ? 8 : size > 2 ? 4 : size > 1 ? 2 : 1));
}

// Of a constant place in a variable of LDS; 1 where it is not known.
Align placedAlign(const Value &pointer, const DataLayout &layout) {
  APInt offset(layout.getIndexTypeSizeInBits(pointer.getType()), 0);
  const auto *variable =
      dyn_cast<GlobalVariable>(pointer.stripAndAccumulateConstantOffsets(layout, offset, true));
  if (!variable || variable->getAddressSpace() != FADE_SPACE_LDS) return Align(1);
  // Of variables without a size, dynamic LDS, the place is not known.
  if (layout.getTypeAllocSize(variable->getValueType()).isZero()) return Align(1);
  return commonAlignment(placedAlign(*variable, layout), offset.getLimitedValue());
}

} // namespace

void alignLdsAccesses(Function &function) {
  const DataLayout &layout = function.getParent()->getDataLayout();
  for (BasicBlock &block : function)
    for (Instruction &instruction : block) {
      const Value *pointer = getLoadStorePointerOperand(&instruction);
      if (!pointer || pointer->getType()->getPointerAddressSpace() != FADE_SPACE_LDS) continue;
      const Align align = placedAlign(*pointer, layout);
      if (auto *load = dyn_cast<LoadInst>(&instruction))
        load->setAlignment(std::max(align, load->getAlign()));
      else if (auto *store = dyn_cast<StoreInst>(&instruction))
        store->setAlignment(std::max(align, store->getAlign()));
    }
}

namespace {

Align alignOf(const Access &access) {
  if (const auto *copy = dyn_cast<MemTransferInst>(access.instruction);
      copy && access.site.kind == FADE_SITE_COPY_READ)
    return copy->getSourceAlign().valueOrOne();
  if (const auto *memory = dyn_cast<MemIntrinsic>(access.instruction))
    return memory->getDestAlign().valueOrOne();
  return isa<LoadInst, StoreInst>(access.instruction) ? getLoadStoreAlignment(access.instruction)
                                                      : Align(1);
}

} // namespace

void splitLdsAccesses(std::vector<Access> &accesses) {
  for (Access &access : accesses) {
    if (access.site.space != FADE_SPACE_LDS || access.form != AddressForm::pointer) continue;
    if (access.length) continue; // not known before the kernel runs
    const uint64_t align = alignOf(access).value();
    // What is not even aligned to a dword is made in one piece, too, in several turns.
    if (align < 4 || align >= kWidest || align >= access.site.size) continue;
    access.site.flags |= FADE_SITE_OF_PIECES(align);
  }
}

#if LLVM_VERSION_MAJOR >= 17
namespace {

// Decides like the code generator which loads the scalar unit does: the same address in all lanes,
// whole dwords, and nothing that the kernel does before can have changed them. Where lanes part,
// the code generator puts one way behind the other, so that what is written on any of them counts.
class ScalarLoads {
public:
  ScalarLoads(Function &function, FunctionAnalysisManager &analyses)
      : uniformity_(analyses.getResult<UniformityInfoAnalysis>(function)),
        memory_(analyses.getResult<MemorySSAAnalysis>(function).getMSSA()),
        aliases_(analyses.getResult<AAManager>(function)), entry_(function.getEntryBlock()) {
    for (BasicBlock &block : function) {
      lanes_part_ = lanes_part_ || uniformity_.hasDivergentTerminator(block);
      for (Instruction &instruction : block)
        if (instruction.mayWriteToMemory()) writes_.push_back(&instruction);
    }
  }
  bool contains(LoadInst &load) const {
    const unsigned space = load.getPointerAddressSpace();
    if (space != FADE_SPACE_GLOBAL && space != FADE_SPACE_CONSTANT) return false;
    const uint64_t size = storeSize(load.getModule()->getDataLayout(), load.getType());
    if (!load.isSimple() || load.getAlign() < 4 || size % 4 != 0) return false;
    if (isDivergent(uniformity_, load.getPointerOperand())) return false;
    if (space == FADE_SPACE_CONSTANT || load.hasMetadata(LLVMContext::MD_invariant_load))
      return true;
    if (!memory_.isLiveOnEntryDef(memory_.getWalker()->getClobberingMemoryAccess(&load)))
      return false;
    if (!lanes_part_ || load.getParent() == &entry_) return true;
    const MemoryLocation place = MemoryLocation::get(&load);
    return none_of(writes_, [&](Instruction *write) {
      return isModSet(aliases_.getModRefInfo(write, place));
    });
  }

private:
  UniformityInfo &uniformity_;
  MemorySSA &memory_;
  AAResults &aliases_;
  const BasicBlock &entry_;
  SmallVector<Instruction *, 16> writes_;
  bool lanes_part_ = false;
};

} // namespace
#endif

void markScalarLoads(Function &function, FunctionAnalysisManager &analyses,
                     std::vector<Access> &accesses) {
#if LLVM_VERSION_MAJOR >= 17
  if (accesses.empty()) return;
  const ScalarLoads scalar(function, analyses);
  for (Access &access : accesses)
    if (auto *load = dyn_cast<LoadInst>(access.instruction); load && scalar.contains(*load))
      access.site.flags |= FADE_SITE_IS_SCALAR;
#else
  (void)function, (void)analyses, (void)accesses;
#endif
}

} // namespace fade
