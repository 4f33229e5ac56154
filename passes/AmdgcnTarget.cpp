// AMD GPUs.
#include "BufferAccess.h"
#include "Compat.h"
#include "Target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace fade {

namespace {

constexpr unsigned amdgcn_private_space = 5, constant32_space = 6, fat_pointer_space = 7;

class AmdgcnTarget : public Target {
public:
  bool isKernel(const Function &function) const override {
    return function.getCallingConv() == CallingConv::AMDGPU_KERNEL ||
           function.getCallingConv() == CallingConv::SPIR_KERNEL;
  }
  bool isLibrary(StringRef name) const override {
    for (const char *prefix : {"__ocml_", "__ockl_", "__oclc_"})
      if (startsWith(name, prefix)) return true;
    return false;
  }
  void dropAnnotations(const Function &) override {}
  bool needsTwin(const GlobalVariable &lds) const override;

  SpaceMeaning meaningOf(unsigned address_space) const override;
  bool isPrivateObject(const Value &object) const override {
    return isa<AllocaInst>(object) ||
           object.getType()->getPointerAddressSpace() == amdgcn_private_space;
  }
  IntrinsicAccesses describe(CallBase &call, StringRef intrinsic,
                             const DataLayout &layout) const override;
  bool assemblyTouchesMemory(StringRef text) const override;

  Value *workItemId(IRBuilder<> &builder, unsigned dimension) const override {
    constexpr Intrinsic::ID ids[] = {Intrinsic::amdgcn_workitem_id_x,
                                     Intrinsic::amdgcn_workitem_id_y,
                                     Intrinsic::amdgcn_workitem_id_z};
    return callIntrinsic(builder, ids[dimension], {}, {});
  }
  Value *workgroupId(IRBuilder<> &builder, unsigned dimension) const override {
    constexpr Intrinsic::ID ids[] = {Intrinsic::amdgcn_workgroup_id_x,
                                     Intrinsic::amdgcn_workgroup_id_y,
                                     Intrinsic::amdgcn_workgroup_id_z};
    return callIntrinsic(builder, ids[dimension], {}, {});
  }
  Value *laneId(IRBuilder<> &builder) const override;
  Value *uniform(IRBuilder<> &builder, Value *value) const override {
    return fade::uniform(builder, value);
  }

  bool endsWave(const CallBase &call) const override {
    const Function *callee = call.getCalledFunction();
    return callee && callee->getName() == "llvm.amdgcn.endpgm";
  }

  void embedSites(Module &module, StringRef table) const override;

private:
  IntrinsicAccesses describeLdsLoad(CallBase &call) const;
};

// LDS variables that some pass has already given a place in the workgroup's memory.
bool isLoweredLds(const GlobalVariable &variable) {
  return variable.hasMetadata("absolute_symbol") || startsWith(variable.getName(), "llvm.amdgcn.");
}

// Were originals and clones to share a variable, it would be reached from twice as many kernels,
// and the way LLVM places it, and with it the code of the originals, could change. Before LLVM 17
// it is the other way round: all variables that functions use are placed in all kernels, so one
// more of them would change the originals.
bool AmdgcnTarget::needsTwin(const GlobalVariable &lds) const {
  return LLVM_VERSION_MAJOR >= 17 && !isLoweredLds(lds);
}

SpaceMeaning AmdgcnTarget::meaningOf(unsigned address_space) const {
  switch (address_space) {
  case amdgcn_private_space: return {amdgcn_private_space, true, nullptr};
  case constant32_space: return {FADE_SPACE_CONSTANT, false, nullptr};
  case fat_pointer_space:
    return {fat_pointer_space, false, "accesses through buffer fat pointers (address space 7)"};
  default: return {address_space, false, nullptr};
  }
}

IntrinsicAccesses AmdgcnTarget::describeLdsLoad(CallBase &call) const {
  auto constant = [&](unsigned i) {
    return cast<ConstantInt>(call.getArgOperand(i))->getSExtValue();
  };
  const auto size = static_cast<uint64_t>(constant(2));
  // The immediate offset applies to both sides.
  const auto offset = static_cast<uint64_t>(constant(3));
  Access read = describeAccess(*this, call, call.getArgOperand(0), FADE_SITE_COPY_READ,
                               FADE_SITE_READS, size);
  Access write = describeAccess(*this, call, call.getArgOperand(1), FADE_SITE_COPY_WRITE,
                                FADE_SITE_WRITES, size);
  write.form = AddressForm::lds_lanes;
  read.displacement = write.displacement = offset;
  return {{read, write}, ""};
}

// Told by name: the intrinsics' numbers and sets differ between LLVMs.
IntrinsicAccesses AmdgcnTarget::describe(CallBase &call, StringRef name,
                                         const DataLayout &layout) const {
  if (!name.consume_front("llvm.amdgcn.")) return {};
  if (std::optional<BufferCall> buffer = readBufferCall(name, call)) {
    if (!buffer->omission.empty()) return {{}, buffer->omission};
    return {describeBufferCall(*buffer, call, layout), ""};
  }
  if (startsWith(name, "global.load.lds")) return describeLdsLoad(call);
  const bool atomic = startsWith(name, "global.atomic.") || startsWith(name, "flat.atomic.") ||
                      startsWith(name, "ds.fadd") || startsWith(name, "ds.fmin") ||
                      startsWith(name, "ds.fmax") || startsWith(name, "atomic.inc") ||
                      startsWith(name, "atomic.dec");
  if (atomic && call.getArgOperand(0)->getType()->isPointerTy())
    return {{describeAccess(*this, call, call.getArgOperand(0), FADE_SITE_ATOMIC,
                            FADE_SITE_READS | FADE_SITE_WRITES | FADE_SITE_IS_ATOMIC,
                            storeSize(layout, call.getArgOperand(1)->getType()))},
            ""};
  if (startsWith(name, "global.load.tr") || startsWith(name, "ds.load.tr") ||
      startsWith(name, "ds.read.tr"))
    return {{describeAccess(*this, call, call.getArgOperand(0), FADE_SITE_LOAD, FADE_SITE_READS,
                            storeSize(layout, call.getType()))},
            ""};
  if (startsWith(name, "ds.append") || startsWith(name, "ds.consume") ||
      startsWith(name, "ds.ordered") || startsWith(name, "image.") ||
      startsWith(name, "s.prefetch") || startsWith(name, "ds.direct"))
    return {{}, ("intrinsic llvm.amdgcn." + name.split('.').first + ".*").str()};
  return {};
}

bool AmdgcnTarget::assemblyTouchesMemory(StringRef text) const {
  for (const char *mnemonic : {"global_", "flat_", "buffer_load", "buffer_store", "buffer_atomic",
                               "ds_read", "ds_write", "ds_load", "ds_store", "ds_add", "s_load"})
    if (text.contains(mnemonic)) return true;
  return false;
}

Value *AmdgcnTarget::laneId(IRBuilder<> &builder) const {
  Value *all = builder.getInt32(~0u);
  Value *low = callIntrinsic(builder, Intrinsic::amdgcn_mbcnt_lo, {}, {all, builder.getInt32(0)});
  return callIntrinsic(builder, Intrinsic::amdgcn_mbcnt_hi, {}, {all, low});
}

void AmdgcnTarget::embedSites(Module &module, StringRef table) const {
  // Module-level assembly is the one way to a section that is neither loaded nor left out by the
  // linker. Text is written as it is, the rest in octal: three digits never swallow the next one.
  std::string text = ".pushsection " FADE_SITES_SECTION ",\"\",@progbits\n.p2align 3\n";
  constexpr std::size_t per_line = 64;
  for (std::size_t i = 0; i < table.size(); i += per_line) {
    text += ".ascii \"";
    for (const char c : table.substr(i, per_line)) {
      const auto byte = static_cast<unsigned char>(c);
      if (isPrint(c) && c != '"' && c != '\\') {
        text += c;
        continue;
      }
      text += '\\';
      for (int shift : {6, 3, 0}) text += static_cast<char>('0' + (byte >> shift & 7));
    }
    text += "\"\n";
  }
  text += ".popsection\n";
  module.appendModuleInlineAsm(text);
}

} // namespace

std::unique_ptr<Target> makeAmdgcnTarget() { return std::make_unique<AmdgcnTarget>(); }

} // namespace fade
