// The table of GPUs against what LLVM knows of the same processors.
#include "fade/gpu.h"
#include "isa/arch.h"
#include "isa/llvm_versions.h"

#include <gtest/gtest.h>
#include <llvm-c/Target.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>

namespace fade::sim {
namespace {

class GpuTableTest : public testing::Test {
protected:
  const llvm::Triple triple{"amdgcn-amd-amdhsa"};

  GpuTableTest() {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    std::string error;
    target_ = find_target(triple, error);
  }
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(const char *cpu) {
    return std::unique_ptr<llvm::MCSubtargetInfo>(
        target_->createMCSubtargetInfo(factory_name(*target_, triple), cpu, ""));
  }

  // LLVM takes a feature that it does not know for one that everybody has.
  static bool has(const llvm::MCSubtargetInfo &subtarget, const std::string &feature) {
    const auto known = subtarget.getAllProcessorFeatures();
    if (std::ranges::none_of(known, [&](const auto &f) { return f.Key == feature; }))
      ADD_FAILURE() << feature << " is no feature of this LLVM";
    return subtarget.checkFeatures("+" + feature);
  }

  const llvm::Target *target_ = nullptr;
  // LLVM 20 gave it a longer name.
  const std::string lds_feature_ =
      LLVM_VERSION_MAJOR < 20 ? "localmemorysize" : "addressablelocalmemorysize";
};

TEST_F(GpuTableTest, EveryProcessorOfLlvmIsInIt) {
  ASSERT_TRUE(target_);
  size_t count = 0;
  for (const auto &cpu : subtarget("gfx90a")->getAllProcessorDescriptions()) {
    if (!std::string_view(cpu.Key).starts_with("gfx")) continue; // names of chips: "tahiti"
    EXPECT_NE(findGpu(cpu.Key), nullptr) << cpu.Key;
    count++;
  }
  EXPECT_GT(count, 40u);
}

TEST_F(GpuTableTest, LlvmSaysTheSameAboutComputeUnits) {
  ASSERT_TRUE(target_);
  const auto any = subtarget("gfx90a");
  for (const auto &cpu : any->getAllProcessorDescriptions()) {
    const GpuInfo *gpu = findGpu(cpu.Key);
    if (!gpu) continue;
    SCOPED_TRACE(cpu.Key);
    const auto llvm = subtarget(cpu.Key);
    const GpuUnit &unit = gpu->unit;
    EXPECT_EQ(has(*llvm, lds_feature_ + "32768"), unit.lds_bytes == 32 << 10);
    EXPECT_EQ(has(*llvm, lds_feature_ + "65536"), unit.lds_bytes == 64 << 10);
    if (std::string_view(cpu.Key) == "gfx950")
      EXPECT_EQ(has(*llvm, lds_feature_ + "163840"), unit.lds_bytes == 160 << 10);
    EXPECT_EQ(has(*llvm, "ldsbankcount16"), unit.lds_banks == 16);
    EXPECT_EQ(has(*llvm, "mai-insts"), unit.has_agprs);
    EXPECT_EQ(has(*llvm, "gfx90a-insts"), unit.unified_registers);
    EXPECT_EQ(has(*llvm, "allocate1_5xvgprs"), unit.vgprs == 1536);
    EXPECT_EQ(has(*llvm, "xnack-support"), gpu->has_xnack);
    EXPECT_EQ(has(*llvm, "sramecc-support"), gpu->has_sramecc);
    EXPECT_EQ(has(*llvm, "gfx10-insts"), unit.smallest_wave == 32);
  }
}

TEST_F(GpuTableTest, TheSoftwareGpuIsWhatTheTableSaysItIs) {
  std::set<std::string> emulated, named;
  for (const Arch &arch : archs()) emulated.insert(arch.name);
  for (const GpuInfo &gpu : allGpus())
    if (gpu.is_emulated) named.insert(gpu.name);
  EXPECT_EQ(emulated, named);
  for (const Arch &a : archs()) {
    EXPECT_EQ(&arch(a.id), &a);
    EXPECT_EQ(a.gpu, findGpu(a.name));
    EXPECT_EQ(a.gfx9, a.gpu->major == 9);
    EXPECT_EQ(a.gfx10_up, a.gpu->major >= 10);
    EXPECT_EQ(a.sram_ecc, a.gpu->has_sramecc);
  }
}

} // namespace
} // namespace fade::sim
