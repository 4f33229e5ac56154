#include "DeviceRuntime.h"

#include "Compat.h"
#include "Target.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

// The bitcode files, put into this library by the assembler.
__asm__(".pushsection .rodata\n"
        ".p2align 4\n"
        "fade_runtime_amdgcn:\n"
        ".incbin \"" FADE_RUNTIME_AMDGCN "\"\n"
        "fade_runtime_amdgcn_end:\n"
        ".p2align 4\n"
        "fade_runtime_nvptx64:\n"
        ".incbin \"" FADE_RUNTIME_NVPTX64 "\"\n"
        "fade_runtime_nvptx64_end:\n"
        ".popsection\n");
// Hidden, or they would be looked up in a table of global symbols, in which local ones have no
// place.
#define FADE_HIDDEN extern __attribute__((visibility("hidden")))
extern "C" {
FADE_HIDDEN const char fade_runtime_amdgcn[], fade_runtime_amdgcn_end[];
FADE_HIDDEN const char fade_runtime_nvptx64[], fade_runtime_nvptx64_end[];
}

namespace fade {

namespace {

constexpr char runtime_prefix[] = "__fade_rt_";
constexpr char hook_prefix[] = "__fade_hook_";

StringRef between(const char *begin, const char *end) {
  return {begin, static_cast<size_t>(end - begin)};
}

// Some bits of a hardware register, as s_getreg takes it.
constexpr uint32_t registerBits(uint32_t id, uint32_t first, uint32_t count) {
  return id | first << 6 | (count - 1) << 11;
}
constexpr uint32_t hw_id_gfx9 = 4, hw_id1 = 23, xcc_id = 20;
constexpr uint32_t bits_of_die = 3; // there are up to eight
// In HW_ID the numbers of the CU, the shader array and the shader engine, in HW_ID1 those of the
// SIMD and the work-group processor.
constexpr uint32_t place_gfx9 = registerBits(hw_id_gfx9, 8, 8),
                   place_gfx10 = registerBits(hw_id1, 8, 6);

bool hasXcc(StringRef processor) {
  return startsWith(processor, "gfx94") || startsWith(processor, "gfx95") ||
         startsWith(processor, "gfx9-4");
}

// Where the L2 may keep host memory unless a store says that it is for the whole system. These are
// also the ones whose release at a smaller scope than the system's writes back L2.
bool l2KeepsHostMemory(StringRef processor) {
  return hasXcc(processor) || processorMajor(processor) >= 12;
}

// Until what the wave has stored has arrived, without a write-back of caches. For a processor that
// is not known yet: with one, which is right for all of them.
void waitForStores(IRBuilder<> &builder, StringRef processor) {
  LLVMContext &context = builder.getContext();
  const unsigned major = processorMajor(processor);
  if (!l2KeepsHostMemory(processor)) {
    builder.CreateFence(AtomicOrdering::Release,
                        major == 0 ? SyncScope::System : context.getOrInsertSyncScopeID("agent"));
    return;
  }
  const char *wait = major >= 12 ? "s_wait_storecnt 0x0" : "s_waitcnt vmcnt(0)";
  builder.CreateCall(InlineAsm::get(FunctionType::get(builder.getVoidTy(), false), wait,
                                    "~{memory}", /*hasSideEffects=*/true));
}

Value *readBits(IRBuilder<> &builder, uint32_t bits) {
  return callIntrinsic(builder, Intrinsic::amdgcn_s_getreg, {}, {builder.getInt32(bits)});
}
Value *readRegister(IRBuilder<> &builder, uint32_t id) {
  return readBits(builder, registerBits(id, 0, 32));
}

Value *readTime(IRBuilder<> &builder, unsigned major) {
#if LLVM_VERSION_MAJOR >= 19
  (void)major;
  return callIntrinsic(builder, Intrinsic::readsteadycounter, {}, {});
#else
  constexpr uint32_t get_realtime = 0x83;
  if (major >= 11)
    return callIntrinsic(builder, Intrinsic::amdgcn_s_sendmsg_rtn, {builder.getInt64Ty()},
                         {builder.getInt32(get_realtime)});
  return callIntrinsic(builder, Intrinsic::amdgcn_s_memrealtime, {}, {});
#endif
}

// The value of a hook, for a processor and wave size that may be unknown ("", 0).
Value *hookValue(IRBuilder<> &builder, StringRef hook, StringRef processor, unsigned wave_size) {
  const unsigned major = processorMajor(processor);
  if (hook == "wave_size") {
    if (wave_size != 0) return builder.getInt32(wave_size);
    return callIntrinsic(builder, Intrinsic::amdgcn_wavefrontsize, {}, {});
  }
  if (hook == "time") return readTime(builder, major);
  if (hook == "hardware_id" && major != 0)
    return readRegister(builder, major >= 10 ? hw_id1 : hw_id_gfx9);
  if (hook == "place" && major != 0) {
    Value *place = readBits(builder, major >= 10 ? place_gfx10 : place_gfx9);
    if (!hasXcc(processor)) return place;
    // No two dies, each of which has an L2 of its own, share a copy of counters.
    return builder.CreateOr(builder.CreateShl(place, bits_of_die),
                            readBits(builder, registerBits(xcc_id, 0, bits_of_die)));
  }
  if (hook == "xcc_id" && hasXcc(processor))
    return builder.CreateAnd(readRegister(builder, xcc_id), 0xf);
  if (hook == "permutes_whole_waves") return builder.getInt32(major == 9);
  if (hook == "l2_keeps_host_memory") return builder.getInt32(l2KeepsHostMemory(processor));
  return builder.getInt32(0);
}

void fillHooks(Module &module, StringRef processor, unsigned wave_size) {
  SmallVector<Function *, 4> hooks;
  for (Function &function : module)
    if (startsWith(function.getName(), hook_prefix)) hooks.push_back(&function);
  for (Function *hook : hooks) {
    const StringRef name = hook->getName().drop_front(sizeof hook_prefix - 1);
    for (User *user : make_early_inc_range(hook->users())) {
      auto *call = cast<CallInst>(user);
      IRBuilder<> builder(call);
      if (name == "wait_for_stores")
        waitForStores(builder, processor);
      else
        call->replaceAllUsesWith(hookValue(builder, name, processor, wave_size));
      call->eraseFromParent();
    }
    hook->eraseFromParent();
  }
}

} // namespace

// The runtime is compiled for a stand-in; a function without target attributes follows its module.
void DeviceRuntime::adapt(Function &function) {
  for (const char *name : {"target-cpu", "target-features", "tune-cpu", "uniform-work-group-size",
                           "amdgpu-flat-work-group-size", "amdgpu-waves-per-eu"})
    function.removeFnAttr(name);
  for (const Attribute &attribute : target_) function.addFnAttr(attribute);
  // It reads nothing that a caller would have to hand over behind the scenes.
  for (const char *name :
       {"amdgpu-no-completion-action", "amdgpu-no-default-queue", "amdgpu-no-dispatch-id",
        "amdgpu-no-dispatch-ptr", "amdgpu-no-heap-ptr", "amdgpu-no-hostcall-ptr",
        "amdgpu-no-implicitarg-ptr", "amdgpu-no-lds-kernel-id", "amdgpu-no-multigrid-sync-arg",
        "amdgpu-no-queue-ptr", "amdgpu-no-workgroup-id-x", "amdgpu-no-workgroup-id-y",
        "amdgpu-no-workgroup-id-z", "amdgpu-no-workitem-id-x", "amdgpu-no-workitem-id-y",
        "amdgpu-no-workitem-id-z"})
    function.addFnAttr(name);
  function.addFnAttr(Attribute::NoRecurse);
  function.addFnAttr(Attribute::NoUnwind);
  function.setLinkage(GlobalValue::InternalLinkage);
  function.setVisibility(GlobalValue::DefaultVisibility);
}

Expected<DeviceRuntime> DeviceRuntime::link(Module &module) {
  const StringRef bitcode = startsWith(targetTriple(module), "nvptx64")
                                ? between(fade_runtime_nvptx64, fade_runtime_nvptx64_end)
                                : between(fade_runtime_amdgcn, fade_runtime_amdgcn_end);
  auto parsed = parseBitcodeFile(MemoryBufferRef(bitcode, "fade_rt"), module.getContext());
  if (!parsed) return parsed.takeError();
  Module &source = **parsed;
  DeviceRuntime runtime(module);
  // Before anything of the stand-in is here.
  for (const Function &function : module) {
    for (const char *name : {"target-cpu", "target-features"})
      if (function.hasFnAttribute(name)) runtime.target_.push_back(function.getFnAttribute(name));
    if (!runtime.target_.empty()) break; // since LLVM 24 most have no processor of their own
  }
  source.setTargetTriple(module.getTargetTriple());
  source.setDataLayout(module.getDataLayout());
  // Module flags of the stand-in, like its code-object version, are not ours to bring along.
  SmallVector<NamedMDNode *, 8> named;
  for (NamedMDNode &node : source.named_metadata()) named.push_back(&node);
  for (NamedMDNode *node : named) source.eraseNamedMetadata(node);
  fillHooks(source, targetProcessor(module), waveSize(module));
  if (Linker::linkModules(module, std::move(*parsed)))
    return createStringError(inconvertibleErrorCode(), "fade: cannot link the device runtime");

  for (Function &function : module)
    if (startsWith(function.getName(), runtime_prefix)) runtime.adapt(function);
  auto get = [&](const char *name) {
    return module.getFunction((runtime_prefix + StringRef(name)).str());
  };
  runtime.wave_begin = get("wave_begin");
  runtime.wave_end = get("wave_end");
  runtime.block = get("block");
  runtime.counters = get("counters");
  runtime.count = get("count");
  runtime.copy = get("copy");
  runtime.filter = get("filter");
  runtime.copy_if_wanted = get("copy_if_wanted");
  runtime.access = get("access");
  runtime.access_flat = get("access_flat");
  runtime.range = get("range");
  runtime.range_flat = get("range_flat");
  runtime.user = get("user");
  runtime.summary = get("summary");
  runtime.summary_lds = get("summary_lds");
  runtime.summary_flat = get("summary_flat");
  runtime.summary_range = get("summary_range");
  runtime.summary_range_flat = get("summary_range_flat");
  runtime.summary_user = get("summary_user");
  runtime.summary_block = get("summary_block");
  runtime.summary_begin = get("summary_begin");
  runtime.summary_announce = get("summary_announce");
  runtime.summary_here = get("summary_here");
  runtime.summary_lds_here = get("summary_lds_here");
  runtime.summary_keep = get("summary_keep");
  runtime.summary_keep_two = get("summary_keep_two");
  runtime.summary_lds_keep = get("summary_lds_keep");
  runtime.summary_lead = get("summary_lead");
  runtime.summary_lds_lead = get("summary_lds_lead");
  runtime.summary_follow = get("summary_follow");
  runtime.summary_lds_follow = get("summary_lds_follow");
  runtime.summary_end = get("summary_end");
  runtime.summary_add = get("summary_add");
  runtime.summary_given_up = get("summary_given_up");
  return runtime;
}

void DeviceRuntime::removeUnused() {
  // Some are called by others of them.
  for (bool is_done = false; !is_done;) {
    is_done = true;
    for (Function &function : make_early_inc_range(*module_))
      if (startsWith(function.getName(), runtime_prefix) && function.use_empty()) {
        function.eraseFromParent();
        is_done = false;
      }
  }
}

} // namespace fade
