// The time model and the classes, with kernels put together by hand.
#include "analysis/changes.h"
#include "analysis/classes.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace fade::profile;

namespace {

/// A kernel of some instructions, each executed by every wave, that has enough waves for the GPU.
KernelProfile kernelOf(const std::vector<std::string> &code, const std::string &target = "gfx90a",
                       uint64_t times = 1) {
  KernelProfile kernel;
  kernel.name = "k";
  kernel.target = target;
  kernel.is_counted = true;
  const GpuModel gpu = GpuModel::of(target);
  kernel.wave_size = gpu.smallest_wave;
  kernel.dispatches = 1;
  kernel.workgroup_items = 4 * kernel.wave_size;
  kernel.waves = uint64_t{gpu.units} * gpu.simds * gpu.waves_per_simd;
  kernel.workgroups = kernel.waves / 4;
  uint64_t address = 0x1000;
  for (const std::string &text : code) {
    ProfiledInstruction one;
    one.address = address;
    one.text = text;
    one.info = fade::codeobj::classify(text);
    one.executions = kernel.waves * times;
    one.lanes = one.executions * kernel.wave_size;
    kernel.instructions.push_back(one);
    address += 4;
  }
  return kernel;
}

KernelClass classOf(const KernelProfile &kernel) {
  const GpuModel gpu = GpuModel::of(kernel.target);
  return classify(kernel, gpu, modelTime(kernel, gpu)).kind;
}

TEST(WaveTimeline, AWaitIsForTheLoadThatComesLastOfThoseThatMustBeThere) {
  const auto kernel = kernelOf({"global_load_dword v1, v[0:1], off",
                                "global_load_dword v2, v[0:1], off offset:4", "s_waitcnt vmcnt(1)",
                                "v_add_f32_e32 v1, v1, v1", "s_waitcnt vmcnt(0)", "s_endpgm"});
  const GpuModel gpu = GpuModel::of("gfx90a");
  const auto times = timelineOf(kernel, gpu);
  ASSERT_TRUE(times[2].waits_for);
  EXPECT_EQ(*times[2].waits_for, 0u);
  // Two instructions were issued since, the first of them when it began.
  EXPECT_DOUBLE_EQ(times[2].waits, gpu.memory_latency - gpu.issue_cycles);
  // The other one came four cycles later, and the addition and the wait took eight.
  EXPECT_FALSE(times[4].waits_for);
  EXPECT_DOUBLE_EQ(times[4].waits, 0);
}

TEST(WaveTimeline, WhatL1HasIsThereSooner) {
  auto kernel = kernelOf({"global_load_dword v1, v[0:1], off", "s_waitcnt vmcnt(0)"});
  kernel.instructions[0].l1_hits = 0.5;
  kernel.instructions[0].l2_hits = 0.5;
  const GpuModel gpu = GpuModel::of("gfx90a");
  EXPECT_DOUBLE_EQ(timelineOf(kernel, gpu)[1].waits, (gpu.l1_latency + gpu.l2_latency) / 2);
}

TEST(WaveTimeline, ALoadAtTheEndOfATurnIsWaitedForInTheNext) {
  const auto kernel =
      kernelOf({"s_nop 0", "s_waitcnt vmcnt(0)", "v_add_f32_e32 v1, v1, v1",
                "global_load_dword v1, v[0:1], off", "s_cbranch_scc1 65531", "s_endpgm"});
  const auto times = timelineOf(kernel, GpuModel::of("gfx90a"));
  ASSERT_TRUE(times[1].waits_for);
  EXPECT_EQ(*times[1].waits_for, 3u);
  EXPECT_GT(times[1].waits, 0);
}

TEST(WaveTimeline, StoresAreNotWaitedForWithLoadsFromGfx10On) {
  const std::vector<std::string> code = {"global_store_dword v[0:1], v2, off",
                                         "s_waitcnt vmcnt(0)"};
  EXPECT_GT(timelineOf(kernelOf(code), GpuModel::of("gfx90a"))[1].waits, 0);
  EXPECT_EQ(timelineOf(kernelOf(code, "gfx1030"), GpuModel::of("gfx1030"))[1].waits, 0);
}

TEST(WaveTimeline, TheWaitsOfGfx12AreUnderstood) {
  const auto kernel = kernelOf({"global_load_b32 v1, v[0:1], off", "s_wait_loadcnt 0x0",
                                "ds_load_b32 v1, v2", "s_wait_dscnt 0x0"},
                               "gfx1200");
  const auto times = timelineOf(kernel, GpuModel::of("gfx1200"));
  EXPECT_EQ(times[1].waits_for, std::optional<std::size_t>(0));
  EXPECT_EQ(times[3].waits_for, std::optional<std::size_t>(2));
  // One wait for two counters: the first load may still be under way, LDS not. Scalar loads have a
  // counter of their own.
  const auto both =
      kernelOf({"global_load_b32 v1, v[0:1], off", "global_load_b32 v2, v[0:1], off",
                "s_load_b32 s0, s[2:3], 0x0", "ds_load_b32 v3, v4", "s_wait_loadcnt_dscnt 0x200",
                "s_wait_loadcnt_dscnt 0x100", "s_wait_kmcnt 0x0"},
               "gfx1200");
  const auto waits = timelineOf(both, GpuModel::of("gfx1200"));
  EXPECT_EQ(waits[4].waits_for, std::optional<std::size_t>(3));
  EXPECT_EQ(waits[5].waits_for, std::optional<std::size_t>(0));
  EXPECT_EQ(waits[6].waits_for, std::nullopt); // it came long before the load from memory
}

TEST(WaveTimeline, LoopsInLoopsEnd) {
  std::vector<std::string> code(40, "s_cbranch_scc1 65535"); // to themselves
  for (int i = 0; i < 40; ++i)
    code.push_back("s_cbranch_scc1 " + std::to_string(65536 - 40 - i)); // to the first
  EXPECT_EQ(timelineOf(kernelOf(code), GpuModel::of("gfx90a")).size(), 80u);
}

TEST(TimeModel, UnitsTakeWhatTheyAreGivenAtTheirRate) {
  // 8 waves on each SIMD, 100 instructions of 4 cycles: 3200 cycles at 1.7 GHz.
  const auto kernel = kernelOf({"v_fma_f32 v0, v0, v0, v0"}, "gfx90a", 100);
  const auto time = modelTime(kernel, GpuModel::of("gfx90a"));
  EXPECT_NEAR(time.of(Limit::valu), 3200 / 1.7, 1e-6);
  EXPECT_NEAR(time.of(Limit::latency), 400 / 1.7, 1e-6);
  // A matrix instruction of 4096 operations, of which a SIMD does 64 per cycle.
  const auto matrix = kernelOf({"v_mfma_f32_32x32x2f32 v[2:17], v1, v1, 0"});
  EXPECT_NEAR(modelTime(matrix, GpuModel::of("gfx90a")).of(Limit::matrix), 8 * 64 / 1.7, 1e-6);
  // RDNA: 16 waves of 32 on each SIMD, a cycle each.
  const auto rdna = kernelOf({"v_fma_f32 v0, v0, v0, v0"}, "gfx1030", 100);
  EXPECT_NEAR(modelTime(rdna, GpuModel::of("gfx1030")).of(Limit::valu), 1600 / 2.575, 1e-6);
  // f64 at a sixteenth, roots at a quarter.
  const auto f64 = kernelOf({"v_fma_f64 v[0:1], v[0:1], v[0:1], v[0:1]"}, "gfx1030", 100);
  EXPECT_NEAR(modelTime(f64, GpuModel::of("gfx1030")).of(Limit::valu), 16 * 1600 / 2.575, 1e-6);
  const auto roots = kernelOf({"v_sqrt_f32_e32 v0, v0"}, "gfx90a", 100);
  EXPECT_NEAR(modelTime(roots, GpuModel::of("gfx90a")).of(Limit::valu), 4 * 3200 / 1.7, 1e-6);
}

TEST(TimeModel, ProductsOf32BitIntegersHaveAQuarterOfTheRate) {
  const GpuModel gpu = GpuModel::of("gfx90a");
  for (const auto &[text, factor] :
       {std::pair("v_mul_lo_u32 v0, v0, v1", 4), std::pair("v_mul_hi_u32 v0, v0, v1", 4),
        std::pair("v_mul_hi_u32_u24_e32 v0, v0, v1", 1),
        std::pair("v_mul_u32_u24_e32 v0, v0, v1", 1), std::pair("v_mul_lo_u16_e32 v0, v0, v1", 1)})
    EXPECT_NEAR(modelTime(kernelOf({text}, "gfx90a", 100), gpu).of(Limit::valu),
                factor * 3200 / 1.7, 1e-6)
        << text;
}

TEST(TimeModel, MemoryTakesBytesAtItsBandwidth) {
  auto kernel = kernelOf({"s_endpgm"});
  kernel.bytes.dram = 1638'000'000;
  EXPECT_NEAR(modelTime(kernel, GpuModel::of("gfx90a")).of(Limit::memory), 1e6, 1e-3);
  kernel.dispatches = 2; // on average
  EXPECT_NEAR(modelTime(kernel, GpuModel::of("gfx90a")).of(Limit::memory), 5e5, 1e-3);
}

TEST(TimeModel, FewerRegistersMakeRoomForMoreWaves) {
  auto kernel = kernelOf({"global_load_dword v1, v[0:1], off", "s_waitcnt vmcnt(0)"});
  kernel.registers = KernelRegisters{256, 0, 32, 0, 0};
  const auto two = modelTime(kernel, GpuModel::of("gfx90a"));
  EXPECT_EQ(two.occupancy.possible, 2u);
  EXPECT_EQ(two.occupancy.limit, "vgprs");
  kernel.registers->vgprs = 64;
  const auto eight = modelTime(kernel, GpuModel::of("gfx90a"));
  EXPECT_EQ(eight.occupancy.possible, 8u);
  EXPECT_NEAR(two.of(Limit::latency), 4 * eight.of(Limit::latency), 1e-6);
}

TEST(TimeModel, AWorkgroupWithAllOfLdsIsAloneOnItsComputeUnit) {
  auto kernel = kernelOf({"global_load_dword v1, v[0:1], off", "s_waitcnt vmcnt(0)"}, "gfx90a", 12);
  const GpuModel gpu = GpuModel::of("gfx90a");
  kernel.workgroup_items = kernel.wave_size;
  kernel.lds_bytes = 60'000;
  kernel.workgroups = kernel.waves = 2 * gpu.units;
  for (auto &one : kernel.instructions) one.executions = 12 * kernel.waves;
  const auto time = modelTime(kernel, gpu);
  EXPECT_DOUBLE_EQ(time.occupancy.possible, 0.25); // one wave, four SIMDs
  EXPECT_DOUBLE_EQ(time.occupancy.resident, 0.25);
  EXPECT_DOUBLE_EQ(time.occupancy.rounds, 2);
  EXPECT_EQ(time.occupancy.limit, "lds");
  const auto verdict = classify(kernel, gpu, time);
  EXPECT_EQ(verdict.kind, KernelClass::under_occupied);
  EXPECT_NE(verdict.advice.find("less LDS"), std::string::npos) << verdict.advice;
}

TEST(TimeModel, BranchesAreTakenBesideTheScalarUnit) {
  const GpuModel gpu = GpuModel::of("gfx90a");
  const auto ns = [&](const std::vector<std::string> &code) {
    return modelTime(kernelOf(code, "gfx90a", 100), gpu).of(Limit::scalar);
  };
  EXPECT_NEAR(ns({"s_add_u32 s0, s0, 1", "s_cbranch_scc1 4"}), 3200 / 1.7, 1e-6);
  EXPECT_NEAR(ns({"s_add_u32 s0, s0, 1", "s_add_u32 s0, s0, 1"}), 2 * 3200 / 1.7, 1e-6);
  EXPECT_NEAR(ns({"s_cbranch_scc1 4", "s_cbranch_scc0 4"}), 2 * 3200 / 1.7, 1e-6);
}

/// One workgroup of one wave, which makes 100 accesses.
KernelProfile loneWave(const std::vector<std::string> &code) {
  KernelProfile kernel = kernelOf(code);
  kernel.waves = kernel.workgroups = 1;
  kernel.workgroup_items = kernel.wave_size;
  kernel.items = kernel.wave_size;
  for (ProfiledInstruction &one : kernel.instructions) {
    one.executions = 1;
    one.lanes = kernel.wave_size;
  }
  fade::report::Access access;
  access.op = "load";
  access.executions = 100;
  kernel.accesses = {access};
  return kernel;
}

TEST(Changes, MoreWorkgroupsShareLoopsAndNotWhatEachWaveDoesOnce) {
  const GpuModel gpu = GpuModel::of("gfx90a");
  KernelProfile kernel =
      loneWave({"s_load_dwordx2 s[0:1], s[4:5], 0x0", "v_add_f32_e32 v0, v0, v1", "s_endpgm"});
  kernel.instructions[1].executions = 1000;
  kernel.instructions[1].lanes = 64000;
  spreadWorkgroups(kernel, gpu);
  EXPECT_EQ(kernel.waves, 25u); // four accesses each
  EXPECT_EQ(kernel.instructions[0].executions, 25u);
  EXPECT_EQ(kernel.instructions[1].executions, 1000u);
  EXPECT_EQ(kernel.instructions[2].executions, 25u);
}

TEST(Changes, AnUnrolledLoopIsOneLoop) {
  const GpuModel gpu = GpuModel::of("gfx90a");
  KernelProfile kernel = loneWave(std::vector<std::string>(50, "v_add_f32_e32 v0, v0, v1"));
  for (ProfiledInstruction &one : kernel.instructions) one.file = "a.hip", one.line = 7;
  spreadWorkgroups(kernel, gpu);
  uint64_t all = 0;
  for (const ProfiledInstruction &one : kernel.instructions) all += one.executions;
  EXPECT_EQ(all, 50u);
}

TEST(Changes, WorkgroupsThatShareLdsAreCutBeforeTheirLoopsAreShared) {
  const GpuModel gpu = GpuModel::of("gfx90a");
  for (const uint64_t turns : {0, 1}) {
    KernelProfile kernel = kernelOf({"v_add_f32_e32 v0, v0, v1"});
    kernel.workgroups = 52;
    kernel.waves = 52 * 4;
    kernel.lds_turns = turns;
    fade::report::Access access;
    access.executions = 8 * kernel.waves;
    kernel.accesses = {access};
    spreadWorkgroups(kernel, gpu);
    EXPECT_EQ(kernel.workgroups, 104u);
    EXPECT_EQ(kernel.waves, turns != 0 ? 208u : 416u);
  }
}

TEST(Changes, FullLanesDoNotMakeTheLongestWaveFaster) {
  const GpuModel gpu = GpuModel::of("gfx90a");
  const auto latencyOf = [&](bool has_barrier, uint64_t waves, uint64_t times = 1) {
    KernelProfile kernel = kernelOf({"v_add_f32_e32 v0, v0, v1", "v_add_f32_e32 v0, v0, v1",
                                     has_barrier ? "s_barrier" : "s_nop 0", "s_endpgm"});
    kernel.instructions.insert(kernel.instructions.begin() + 1, 100 / times,
                               kernel.instructions[1]);
    kernel.waves = waves;
    kernel.workgroups = waves / 4;
    kernel.items = waves * 64;
    for (ProfiledInstruction &one : kernel.instructions) {
      one.executions = waves;
      one.lanes = waves * 64;
    }
    for (uint64_t i = 1; i <= 100 / times; ++i) {
      kernel.instructions[i].executions = times * waves;
      kernel.instructions[i].lanes = times * waves * 8; // of one lane in eight
    }
    const double before = modelTime(kernel, gpu).of(Limit::latency);
    fillLanes(kernel, gpu);
    return modelTime(kernel, gpu).of(Limit::latency) / before;
  };
  EXPECT_LT(latencyOf(false, 416 * 4), 0.2);  // others run meanwhile
  EXPECT_LT(latencyOf(false, 416, 100), 0.2); // a loop can have fewer turns
  EXPECT_NEAR(latencyOf(false, 416), 1, 1e-9);
  EXPECT_NEAR(latencyOf(true, 416 * 4), 1, 1e-9);
}

TEST(Changes, ScalarInstructionsHaveTheLanesOfTheVectorInstructionsBesideThem) {
  // Counts of blocks and an observer do not agree on which lanes are active while a mask changes.
  const GpuModel gpu = GpuModel::of("gfx90a");
  const auto filled = [&](uint64_t lanes_of_scalars) {
    KernelProfile kernel = kernelOf({"v_mul_f32_e32 v0, v0, v0", "s_or_b64 exec, exec, s[4:5]",
                                     "s_cbranch_execz 10", "v_mul_f32_e32 v0, v0, v0", "s_endpgm"});
    for (std::size_t i = 0; i < 4; ++i)
      kernel.instructions[i].lanes =
          i == 1 || i == 2 ? lanes_of_scalars : kernel.instructions[i].executions * 16;
    fillLanes(kernel, gpu);
    return kernel.instructions[1].executions + kernel.instructions[2].executions;
  };
  EXPECT_EQ(filled(0), filled(64));
}

TEST(Changes, WhatIsCollectedInLdsIsNotWaitedForWithGlobalMemory) {
  const GpuModel gpu = GpuModel::of("gfx90a");
  KernelProfile kernel =
      kernelOf({"global_atomic_add_f32 v[0:1], v2, off", "s_waitcnt vmcnt(0)", "s_endpgm"});
  kernel.instructions[0].file = "a.hip";
  kernel.instructions[0].line = 7;
  fade::report::Access access;
  access.op = "atomic";
  access.file = "a.hip";
  access.line = 7;
  access.hottest = 1'000'000;
  kernel.accesses = {access};
  EXPECT_GT(timelineOf(kernel, gpu)[1].waits, 100);
  collectInLds(kernel, 0);
  EXPECT_EQ(timelineOf(kernel, gpu)[1].waits, 0);
  EXPECT_EQ(kernel.accesses[0].hottest, kernel.workgroups);
}

TEST(GpuModel, ProcessorsWithoutACardHaveTheRatesOfTheirKin) {
  const GpuModel known = GpuModel::of("gfx942:sramecc+:xnack-");
  EXPECT_FALSE(known.is_stand_in);
  EXPECT_EQ(known.card, "AMD Instinct MI300X");
  EXPECT_NEAR(known.vectorPeak(fade::codeobj::NumberType::F32), 163.4e12, 0.1e12);
  const GpuModel kin = GpuModel::of("gfx940");
  EXPECT_TRUE(kin.is_stand_in);
  EXPECT_EQ(kin.card, "AMD Instinct MI300X");
  for (const std::string &target : {std::string("gfx9999"), std::string()}) {
    const GpuModel unknown = GpuModel::of(target);
    EXPECT_TRUE(unknown.is_stand_in);
    EXPECT_GT(unknown.clock_hz, 0);
  }
}

TEST(GpuModel, AllGpusOfTheTableHaveRatesToDivideBy) {
  for (const fade::GpuInfo &gpu : fade::allGpus()) {
    const auto kernel = kernelOf({"v_fma_f64 v[0:1], v[0:1], v[0:1], v[0:1]",
                                  "v_mfma_f32_32x32x2f32 v[2:17], v1, v1, 0",
                                  "global_load_dword v1, v[0:1], off", "s_waitcnt vmcnt(0)"},
                                 gpu.name);
    const auto time = modelTime(kernel, GpuModel::of(gpu.name));
    for (const double ns : time.ns) EXPECT_TRUE(std::isfinite(ns)) << gpu.name;
    EXPECT_GT(time.busy(), 0) << gpu.name;
  }
}

TEST(Classes, EveryThresholdDecides) {
  auto busy = kernelOf({"v_fma_f32 v0, v0, v0, v0"}, "gfx90a", 1000);
  EXPECT_EQ(classOf(busy), KernelClass::compute_throughput);
  busy.instructions[0].lanes = busy.instructions[0].executions * 38; // of 64
  EXPECT_EQ(classOf(busy), KernelClass::divergence);
  busy.instructions[0].lanes = busy.instructions[0].executions * 39;
  EXPECT_EQ(classOf(busy), KernelClass::compute_throughput);
  busy.workgroups = 51; // of 104 compute units
  EXPECT_EQ(classOf(busy), KernelClass::under_occupied);
  busy.workgroups = 52;
  busy.waves = 52 * 32;
  EXPECT_EQ(classOf(busy), KernelClass::compute_throughput);
  EXPECT_EQ(classOf(kernelOf({"v_fma_f32 v0, v0, v0, v0"})), KernelClass::launch_overhead);
  auto waits = kernelOf({"global_load_dword v1, v[0:1], off", "s_waitcnt vmcnt(0)"}, "gfx90a", 10);
  EXPECT_EQ(classOf(waits), KernelClass::latency);
  waits.registers = KernelRegisters{256, 0, 32, 0, 0};
  EXPECT_EQ(classOf(waits), KernelClass::under_occupied);
}

TEST(Classes, TheNextClassIsTheOneThatTakesNearlyAsLong) {
  auto kernel = kernelOf({"v_fma_f32 v0, v0, v0, v0"}, "gfx90a", 1000);
  const GpuModel gpu = GpuModel::of("gfx90a");
  const double busy = modelTime(kernel, gpu).busy();
  kernel.bytes.dram = static_cast<uint64_t>(0.9 * busy * gpu.memory_bytes_per_s / 1e9);
  auto verdict = classify(kernel, gpu, modelTime(kernel, gpu));
  EXPECT_EQ(verdict.kind, KernelClass::compute_throughput);
  EXPECT_EQ(verdict.next, KernelClass::memory_bandwidth);
  EXPECT_NEAR(verdict.nearness, 0.9, 1e-6);
  kernel.bytes.dram = kernel.bytes.dram / 9 * 10 + 1000;
  verdict = classify(kernel, gpu, modelTime(kernel, gpu));
  EXPECT_EQ(verdict.kind, KernelClass::memory_bandwidth);
  EXPECT_EQ(verdict.next, KernelClass::compute_throughput);
}

TEST(Classes, BranchesOfWavesWithFewLanesAreDivergence) {
  auto kernel = kernelOf({"v_add_u32_e32 v0, v0, v1", "s_and_b64 exec, exec, vcc",
                          "s_or_b64 s[0:1], s[0:1], vcc", "s_andn2_b64 exec, exec, s[0:1]"},
                         "gfx90a", 1000);
  EXPECT_EQ(modelTime(kernel, GpuModel::of("gfx90a")).longest(), Limit::scalar);
  EXPECT_EQ(classOf(kernel), KernelClass::compute_throughput);
  kernel.instructions[0].lanes /= 3;
  EXPECT_EQ(classOf(kernel), KernelClass::divergence);
}

TEST(Classes, WavesThatHardlyWaitAreInTheClassOfTheirUnit) {
  // Two waves of a SIMD that can hold 16: each takes an instruction in five cycles.
  auto kernel = kernelOf({"v_add_f32_e32 v0, v0, v1"}, "gfx1030", 10'000);
  kernel.waves /= 8;
  kernel.workgroups /= 8;
  for (auto &one : kernel.instructions) one.executions /= 8, one.lanes /= 8;
  EXPECT_EQ(modelTime(kernel, GpuModel::of("gfx1030")).longest(), Limit::latency);
  EXPECT_EQ(classOf(kernel), KernelClass::under_occupied);
  kernel.instructions[0].lanes /= 3; // fewer instructions would do for the same lanes
  EXPECT_EQ(classOf(kernel), KernelClass::divergence);
  // Waves enough, but their number is such that the last round is nearly empty.
  auto rounds = kernelOf({"v_add_f32_e32 v0, v0, v1", "s_nop 0", "s_nop 0", "s_nop 0", "s_nop 0"},
                         "gfx1030", 10'000);
  rounds.waves += rounds.waves / 16;
  EXPECT_EQ(modelTime(rounds, GpuModel::of("gfx1030")).longest(), Limit::latency);
  EXPECT_EQ(classOf(rounds), KernelClass::compute_throughput);
}

std::string adviceOf(const KernelProfile &kernel) {
  const GpuModel gpu = GpuModel::of(kernel.target);
  return classify(kernel, gpu, modelTime(kernel, gpu)).advice;
}

TEST(Classes, AdviceFitsTheAccesses) {
  // Single bytes side by side take little of a line, but are not scattered.
  auto bytes = kernelOf({"s_endpgm"});
  bytes.bytes = {.accessed = 1'000'000, .l1 = 100'000'000};
  bytes.lines_used = bytes.lines_needed = 1000;
  EXPECT_NE(adviceOf(bytes).find("use wider loads: "), std::string::npos) << adviceOf(bytes);
  bytes.lines_used = 5000;
  EXPECT_NE(adviceOf(bytes).find("neighboring lanes"), std::string::npos) << adviceOf(bytes);
  // One word of each line, by all lanes of a wave.
  auto chase = kernelOf({"s_endpgm"});
  chase.bytes.dram = 128'000'000;
  EXPECT_NE(adviceOf(chase).find("move fewer bytes"), std::string::npos) << adviceOf(chase);
  chase.unused_bytes = 124'000'000;
  EXPECT_NE(adviceOf(chase).find("side by side"), std::string::npos) << adviceOf(chase);
  auto scan = kernelOf({"ds_read_b32 v0, v1", "s_waitcnt lgkmcnt(0)"}, "gfx1030", 100);
  EXPECT_NE(adviceOf(scan).find("LDS"), std::string::npos) << adviceOf(scan);
  // Lanes that meet in a bank, and lanes that meet at an address.
  auto meets = kernelOf({"ds_add_u32 v0, v1"});
  meets.lds_turns = 100'000'000;
  meets.lds_conflicts = 90'000'000;
  EXPECT_NE(adviceOf(meets).find("pad or swizzle"), std::string::npos) << adviceOf(meets);
  meets.lds_same_address = 80'000'000;
  EXPECT_NE(adviceOf(meets).find("several copies"), std::string::npos) << adviceOf(meets);
  auto list = kernelOf({"global_load_dword v1, v[0:1], off", "s_waitcnt vmcnt(0)"}, "gfx90a", 100);
  EXPECT_NE(adviceOf(list).find("more loads in flight"), std::string::npos) << adviceOf(list);
}

TEST(Classes, WhatWasNotCountedHasNone) {
  KernelProfile kernel;
  kernel.target = "gfx90a";
  EXPECT_EQ(classOf(kernel), KernelClass::unknown);
}

TEST(Classes, AHotAddressIsLatency) {
  auto kernel = kernelOf({"global_atomic_swap v[0:1], v2, off"});
  kernel.hottest = 1'000'000;
  EXPECT_EQ(classOf(kernel), KernelClass::latency);
}

} // namespace
