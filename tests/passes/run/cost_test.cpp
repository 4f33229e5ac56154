// What instrumentation costs, counted by the software GPU. The limits are promises: docs/cost.md.
#include "cases.h"

#include <fade/clone.h>

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace {

using namespace fade::test;

constexpr uint32_t items = 256;

struct Target {
  const char *arch, *size;
  uint32_t lanes;
};
std::ostream &operator<<(std::ostream &out, const Target &t) {
  return out << t.arch << "_" << t.size;
}

// For gfx1100 the compiler puts delays (s_delay_alu) between instructions, and they count.
double most(const Target &t, double instructions, double on_gfx1100) {
  return t.arch == std::string("gfx1100") ? on_gfx1100 : instructions;
}

std::string object(const char *what, const Target &t) {
  return std::string(KERNELS_DIR "/cost_") + what + "_" + t.arch + "_" + t.size + ".hsaco";
}

// A kernel with records, and the same kernel compiled to a twin that announces its waves and
// records nothing else. The difference is what the records cost.
struct Cost {
  Recorded with;
  uint64_t instructions; // more than without records, all waves together
  KernelNeeds original, twin;
};

Cost measure(const char *what, const Target &t, const Launch &launch,
             const std::function<Arguments(Data &)> &arguments, const Stream &stream = {}) {
  uint64_t counts[2];
  Cost cost{};
  for (int with = 0; with < 2; ++with) {
    Session session(t.arch, object(with ? what : (std::string("no_") + what).c_str(), t), 1);
    Data data(session.device());
    Recorded recorded = session.runTwin(launch, arguments(data), stream);
    counts[with] = recorded.stats.total().waves;
    if (!with) continue;
    cost.with = std::move(recorded);
    cost.original = session.needs(launch.kernel);
    cost.twin = session.needs(FADE_CLONE_PREFIX + launch.kernel);
  }
  cost.instructions = counts[1] - counts[0];
  return cost;
}

Arguments buffers(Data &data, unsigned count, std::size_t size = items + 64) {
  Arguments out;
  for (unsigned i = 0; i < count; ++i) out.add(data.add(std::vector<int>(size)));
  return out;
}

// Distinct places in no order.
std::vector<int> shuffled() {
  std::vector<int> where(items);
  std::iota(where.begin(), where.end(), 0);
  std::shuffle(where.begin(), where.end(), std::mt19937(3));
  return where;
}

class CostLimits : public testing::TestWithParam<Target> {
protected:
  // Executed wave-instructions per record of an access.
  double perAccess(const Cost &cost) const {
    EXPECT_FALSE(cost.with.accesses.empty());
    return double(cost.instructions) / double(cost.with.accesses.size());
  }
  void expectCoalesced(const std::string &kernel, const std::function<Arguments(Data &)> &arguments,
                       std::size_t per_wave, double limit, const Stream &stream = {}) {
    const Cost cost =
        measure("accesses", GetParam(), {kernel, {items, 1, 1}, {64, 1, 1}}, arguments, stream);
    ASSERT_EQ(cost.with.accesses.size(), per_wave * items / GetParam().lanes);
    for (const auto &access : cost.with.accesses) {
      EXPECT_EQ(std::popcount(access.mask), int(GetParam().lanes));
      EXPECT_LE(access.size, 40u);
    }
    EXPECT_LE(perAccess(cost), limit) << kernel;
    RecordProperty(kernel, std::to_string(perAccess(cost)));
    std::cout << kernel << ": " << perAccess(cost) << " instructions, "
              << cost.with.accesses.front().size << " bytes per access\n";
  }
};

TEST_P(CostLimits, CoalescedAccessTakesAtMost70InstructionsAnd40Bytes) {
  expectCoalesced(
      "one_store", [](Data &d) { return buffers(d, 1); }, 1, 70);
  expectCoalesced(
      "four_loads", [](Data &d) { return buffers(d, 5); }, 4, 70);
  expectCoalesced(
      "in_a_loop", [](Data &d) { return buffers(d, 2, 2048).add<int>(5); }, 5, 70);
}

TEST_P(CostLimits, FlatCoalescedAccessTakesAtMost70InstructionsAnd40Bytes) {
  expectCoalesced(
      "one_flat_store", [](Data &d) { return buffers(d, 1); }, 1, 70);
}

TEST_P(CostLimits, CoalescedAccessToARingInDeviceMemoryTakesAtMost150Instructions) {
  Stream segmented;
  segmented.flags = FADE_CONTROL_SEGMENTED;
  expectCoalesced(
      "one_store", [](Data &d) { return buffers(d, 1); }, 1, 150, segmented);
  expectCoalesced(
      "four_loads", [](Data &d) { return buffers(d, 5); }, 4, 150, segmented);
}

TEST_P(CostLimits, AccessToLdsTakesAtMost70InstructionsAnd40Bytes) {
  expectCoalesced(
      "two_lds_accesses", [](Data &d) { return buffers(d, 1); }, 2, 70);
}

// A class that is there already: what it takes to put it there is the same for few and for many.
TEST_P(CostLimits, AccessThatIsAddedUpTakesAtMost45Instructions) {
  const struct {
    const char *kernel;
    unsigned buffers, accesses;
    double limit;
  } kernels[] = {{"one_store", 1, 1, 45}, {"four_loads", 5, 4, 45}, {"two_lds_accesses", 1, 2, 45}};
  for (const auto &k : kernels) {
    uint64_t instructions[2];
    for (const uint32_t times : {1u, 9u}) {
      Stream stream;
      stream.tables = 1;
      const Cost cost = measure(
          "summary", GetParam(), {k.kernel, {times * items, 1, 1}, {64, 1, 1}},
          [&](Data &d) { return buffers(d, k.buffers, 10 * items); }, stream);
      EXPECT_TRUE(cost.with.accesses.empty()) << k.kernel; // none is recorded
      instructions[times != 1] = cost.instructions;
      EXPECT_EQ(cost.twin.scratch, 0u);
    }
    const double more = 8.0 * items / GetParam().lanes * k.accesses;
    const double each = double(instructions[1] - instructions[0]) / more;
    std::cout << k.kernel << ": " << each << " instructions per access that is added up\n";
    EXPECT_LE(each, k.limit) << k.kernel;
  }
}

// In a loop a wave keeps what it has found.
TEST_P(CostLimits, AccessInALoopThatIsAddedUpTakesAtMost25Instructions) {
  uint64_t instructions[2];
  for (const int times : {4, 36}) {
    const Cost cost = measure("summary", GetParam(), {"in_a_loop", {items, 1, 1}, {64, 1, 1}},
                              [&](Data &d) { return buffers(d, 2, 64 * items).add<int>(times); });
    EXPECT_TRUE(cost.with.accesses.empty());
    EXPECT_EQ(cost.twin.scratch, 0u);
    instructions[times != 4] = cost.instructions;
  }
  const double each = double(instructions[1] - instructions[0]) / (32.0 * items / GetParam().lanes);
  std::cout << "in_a_loop: " << each << " instructions per access that is added up\n";
  EXPECT_LE(each, 25);
}

// Lanes that go anywhere: what they cost is worked out by the wave, whatever the number of distinct
// lines or banks.
TEST_P(CostLimits, IrregularAccessInALoopThatIsAddedUpTakesAtMost600Instructions) {
  for (const std::string kernel : {"gather_in_a_loop", "bins_in_a_loop"}) {
    uint64_t instructions[2];
    for (const int times : {4, 36}) {
      Stream stream;
      stream.irregular = FADE_IRREGULAR(6, 5);
      const Cost cost = measure(
          "summary", GetParam(), {kernel, {items, 1, 1}, {64, 1, 1}},
          [&](Data &d) {
            std::vector<int> where(64 * items);
            std::mt19937 random(5);
            for (int &w : where) w = static_cast<int>(random() % 4096);
            Arguments out = Arguments().add(d.add(where));
            if (kernel == "gather_in_a_loop") out.add(d.add(std::vector<int>(4096)));
            return out.add(d.add(std::vector<int>(items))).add<int>(times);
          },
          stream);
      EXPECT_EQ(cost.twin.scratch, 0u);
      instructions[times != 4] = cost.instructions;
    }
    // With the access that reads the indices, which takes up to 25.
    const double each =
        double(instructions[1] - instructions[0]) / (32.0 * items / GetParam().lanes);
    std::cout << kernel << ": " << each << " instructions per iteration\n";
    EXPECT_LE(each, most(GetParam(), 500, 600)) << kernel;
  }
}

// The same twin if everything is recorded.
TEST_P(CostLimits, AccessOfATwinThatCouldAddUpTakesAtMost150InstructionsToRecord) {
  Stream records;
  records.records_only = true;
  const Cost cost = measure(
      "summary", GetParam(), {"four_loads", {items, 1, 1}, {64, 1, 1}},
      [](Data &d) { return buffers(d, 5); }, records);
  std::cout << "four_loads: " << perAccess(cost) << " instructions, all recorded\n";
  EXPECT_EQ(cost.with.accesses.size(), 4 * items / GetParam().lanes);
  EXPECT_LE(perAccess(cost), most(GetParam(), 145, 150));
}

// Lanes that are not side by side. A twin that could add up takes a line and a single lane as
// quickly; of others nothing is promised.
TEST_P(CostLimits, TilesScatteredAndSingleLanesTakeFewInstructionsToRecord) {
  const unsigned waves = items / GetParam().lanes;
  const struct {
    const char *mode, *kernel;
    unsigned encoding, accesses;
    double limit;
  } kernels[] = {
      {"accesses", "tile", FADE_ENCODING_TILED, waves, 115},
      {"accesses", "scattered", FADE_ENCODING_DELTA32, waves, 140},
      {"accesses", "half_scattered", FADE_ENCODING_DELTA32, waves, 140},
      {"accesses", "one_lane", FADE_ENCODING_UNIFORM, items / 64, 70},
      {"summary", "one_lane", FADE_ENCODING_UNIFORM, items / 64, most(GetParam(), 145, 150)}};
  for (const auto &k : kernels) {
    Stream records;
    records.records_only = k.mode == std::string("summary");
    const Cost cost = measure(
        k.mode, GetParam(), {k.kernel, {items, 1, 1}, {64, 1, 1}},
        [](Data &d) { return buffers(d, 1, 1024); }, records);
    EXPECT_EQ(cost.with.accesses.size(), k.accesses) << k.kernel;
    for (const auto &access : cost.with.accesses)
      EXPECT_EQ(access.encoding, k.encoding) << k.kernel;
    EXPECT_LE(perAccess(cost), k.limit) << k.kernel;
    std::cout << k.kernel << ", " << k.mode << ": " << perAccess(cost) << " instructions\n";
  }
}

TEST_P(CostLimits, IrregularAccessTakes32BytesAndFourPerActiveLane) {
  for (const char *kernel : {"gather", "some_lanes_gather"}) {
    const Cost cost =
        measure("accesses", GetParam(), {kernel, {items, 1, 1}, {64, 1, 1}}, [&](Data &d) {
          const auto where = d.add(shuffled());
          const auto out = d.add(std::vector<int>(items));
          const Arguments two = Arguments().add(where).add(out);
          return kernel == std::string("gather") ? two : Arguments(two).add<int>(37);
        });
    unsigned irregular = 0;
    for (const auto &access : cost.with.accesses) {
      EXPECT_LE(access.size, 32u + 4 * unsigned(std::popcount(access.mask)));
      irregular += access.encoding == FADE_ENCODING_DELTA32;
    }
    EXPECT_GE(irregular, items / GetParam().lanes) << kernel;
  }
}

// Of what a kernel pays once, for finding its counters, nothing is counted here: it is the
// difference between few and many entries.
TEST_P(CostLimits, BlockCountTakesAtMost5InstructionsPerEntry) {
  uint64_t instructions[2], entries[2] = {};
  for (const bool many : {false, true}) {
    const Cost cost =
        measure("counts", GetParam(), {"blocks", {items, 1, 1}, {64, 1, 1}}, [&](Data &d) {
          std::vector<int> in(items);
          std::iota(in.begin(), in.end(), 1);
          const auto from = d.add(in);
          return Arguments().add(from).add(d.add(std::vector<int>(items))).add<int>(many ? 19 : 1);
        });
    instructions[many] = cost.instructions;
    for (const fade_counter &c : cost.with.counters) entries[many] += c.entries;
  }
  ASSERT_GT(entries[1], entries[0] + 100);
  const double per_entry =
      double(instructions[1] - instructions[0]) / double(entries[1] - entries[0]);
  EXPECT_LE(per_entry, 5);
  std::cout << "blocks: " << per_entry << " instructions per block entry\n";
}

// What fadeprobe cc compiles by default can record blocks, and seldom has to: then they cost a
// branch.
TEST_P(CostLimits, BlockOfATwinThatAddsUpTakesAtMost4Instructions) {
  const auto run = [&](const char *what, int times) {
    Session session(GetParam().arch, object(what, GetParam()), 1);
    Data data(session.device());
    return session.runTwin({"blocks_alone", {items, 1, 1}, {64, 1, 1}},
                           buffers(data, 1).add<int>(times), {});
  };
  uint64_t more[2], entries[2] = {};
  for (const bool many : {false, true}) {
    const int times = many ? 36 : 4;
    const Recorded with = run("summary_blocks", times), without = run("summary", times);
    EXPECT_TRUE(with.blocks.empty());
    more[many] = with.stats.total().waves - without.stats.total().waves;
    for (const fade_counter &c : run("counts", times).counters) entries[many] += c.entries;
  }
  ASSERT_GT(entries[1], entries[0] + 100);
  const double each = double(more[1] - more[0]) / double(entries[1] - entries[0]);
  std::cout << "blocks_alone: " << each << " instructions per block entry that is not recorded\n";
  EXPECT_LE(each, 4);
}

TEST_P(CostLimits, NoScratchIsAddedWhereTheOriginalHasNone) {
  for (const char *what : {"accesses", "counts", "summary", "summary_blocks"}) {
    Session session(GetParam().arch, object(what, GetParam()), 1);
    for (const fade_site_kernel &kernel : session.sites().kernels()) {
      const std::string name(session.sites().string(kernel.name));
      ASSERT_EQ(session.needs(name).scratch, 0u) << name;
      EXPECT_EQ(session.needs(FADE_CLONE_PREFIX + name).scratch, 0u) << name;
      EXPECT_FALSE(session.needs(FADE_CLONE_PREFIX + name).dynamic_stack) << name;
    }
  }
}

std::string nameOf(const testing::TestParamInfo<Target> &info) {
  return std::string(info.param.arch) + "_" + info.param.size;
}
INSTANTIATE_TEST_SUITE_P(Targets, CostLimits,
                         testing::Values(Target{"gfx90a", "default", 64},
                                         Target{"gfx1030", "default", 32}),
                         nameOf);
#if FADE_LONG_TESTS
INSTANTIATE_TEST_SUITE_P(MoreTargets, CostLimits,
                         testing::Values(Target{"gfx942", "default", 64},
                                         Target{"gfx1030", "wave64", 64},
                                         Target{"gfx1100", "default", 32},
                                         Target{"gfx1100", "wave64", 64}),
                         nameOf);
#endif

} // namespace
