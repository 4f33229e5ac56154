// Real kernels, compiled with the pass and run on the software GPU: what MemoryAnalysis reports is
// what follows from the source, worked out by hand. Buffers are aligned to 4 KiB; cache lines have
// 128 bytes, LDS 32 banks. golden.hip has the kernels.
#include "probe.h"
#include "report_schema.h"

#include <gtest/gtest.h>

#include <map>

namespace fade::testing {
namespace {

using nlohmann::json;

struct Global {
  const char *place;
  const char *op;
  uint64_t bytes, executions, lanes, needed, used;
};
struct Lds {
  const char *place;
  const char *op;
  uint64_t bytes, executions, lanes, conflicts;
};

/// One run of all kernels on each processor, for all tests.
class GoldenKernels : public ::testing::Test {
protected:
  static const std::map<std::string, json> &on(const std::string &processor) {
    static std::map<std::string, std::map<std::string, json>> runs;
    auto [at, is_new] = runs.try_emplace(processor);
    if (!is_new) return at->second;
    const ProbeResult result =
        probe("-i -a MemoryAnalysis -t json --gpu " + processor, FADE_GOLDEN);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    for (const json &memory : result.objects("memory")) {
      const auto name = memory["kernel"].get<std::string>();
      at->second[name.substr(0, name.find('('))] = memory;
    }
    return at->second;
  }
  static json kernel(const std::string &processor, const std::string &name) {
    const auto &all = on(processor);
    const auto at = all.find(name);
    EXPECT_NE(at, all.end()) << "there is no memory object of " << name;
    return at == all.end() ? json::object() : at->second;
  }
  static json access(const json &list, const std::string &place) {
    const uint32_t line = lineOf(FADE_GOLDEN_SOURCE, place);
    json found;
    for (const json &one : list)
      if (one["line"] == line) {
        EXPECT_TRUE(found.is_null()) << place << " is there twice: " << one << found;
        found = one;
      }
    EXPECT_FALSE(found.is_null()) << place << " is not in " << list;
    return found.is_null() ? json::object() : found;
  }
  static void expect(const json &memory, const Global &want) {
    const json is = access(memory["global"], want.place);
    EXPECT_EQ(is["op"], want.op) << want.place;
    EXPECT_EQ(is["bytes"], want.bytes) << want.place;
    EXPECT_EQ(is["executions"], want.executions) << want.place;
    EXPECT_EQ(is["lanes"], want.lanes) << want.place;
    EXPECT_EQ(is["lines_needed"], want.needed) << want.place;
    EXPECT_EQ(is["lines_used"], want.used) << want.place;
  }
  static void expect(const json &memory, const Lds &want) {
    const json is = access(memory["lds"], want.place);
    EXPECT_EQ(is["op"], want.op) << want.place;
    EXPECT_EQ(is["bytes"], want.bytes) << want.place;
    EXPECT_EQ(is["executions"], want.executions) << want.place;
    EXPECT_EQ(is["lanes"], want.lanes) << want.place;
    EXPECT_EQ(is["conflicts"], want.conflicts) << want.place;
  }
};

TEST_F(GoldenKernels, CoalescedCopyUsesWhatItNeeds) {
  const json memory = kernel("gfx90a", "copy"); // 4 waves of 256 bytes
  expect(memory, Global{"copy.load", "load", 4, 4, 256, 8, 8});
  expect(memory, Global{"copy.store", "store", 4, 4, 256, 8, 8});
  EXPECT_EQ(access(memory["global"], "copy.load")["strides"],
            json::parse(R"([{"stride":4,"executions":4}])"));
}

TEST_F(GoldenKernels, PartialWaveCountsItsLanesOnly) {
  const json memory = kernel("gfx90a", "copy_partial"); // 64 lanes, then 36: 144 bytes
  expect(memory, Global{"partial.load", "load", 4, 2, 100, 4, 4});
  expect(memory, Global{"partial.store", "store", 4, 2, 100, 4, 4});
}

TEST_F(GoldenKernels, ShiftedCopyTouchesALineMore) {
  const json memory = kernel("gfx90a", "copy_shifted"); // bytes 4 to 259
  expect(memory, Global{"shifted.load", "load", 4, 1, 64, 2, 3});
  expect(memory, Global{"shifted.store", "store", 4, 1, 64, 2, 2});
}

TEST_F(GoldenKernels, BackwardsIsAsGoodAsForwards) {
  const json memory = kernel("gfx90a", "copy_double"); // 512 bytes
  expect(memory, Global{"double.load", "load", 8, 1, 64, 4, 4});
  expect(memory, Global{"double.store", "store", 8, 1, 64, 4, 4});
  EXPECT_EQ(access(memory["global"], "double.load")["strides"][0]["stride"], -8);
}

TEST_F(GoldenKernels, StrideOf128BytesUsesALineForEachLane) {
  const json memory = kernel("gfx90a", "strided");
  expect(memory, Global{"strided.load", "load", 4, 1, 64, 2, 64});
  expect(memory, Global{"strided.store", "store", 4, 1, 64, 2, 2});
}

TEST_F(GoldenKernels, BroadcastUsesOneLine) {
  const json memory = kernel("gfx90a", "broadcast"); // two waves
  expect(memory, Global{"broadcast.load", "load", 4, 2, 128, 4, 2});
  expect(memory, Global{"broadcast.store", "store", 4, 2, 128, 4, 4});
}

TEST_F(GoldenKernels, GatherUsesTheLinesItTouches) {
  const json memory = kernel("gfx90a", "gather"); // i * 37 % 50 takes 50 values
  expect(memory, Global{"gather.index", "load", 4, 1, 64, 2, 2});
  expect(memory, Global{"gather.load", "load", 4, 1, 64, 2, 50});
  expect(memory, Global{"gather.store", "store", 4, 1, 64, 2, 2});
}

TEST_F(GoldenKernels, NaiveTransposeStoresALineForEachLane) {
  const json memory = kernel("gfx90a", "transpose_naive"); // 64 waves
  expect(memory, Global{"naive.load", "load", 4, 64, 4096, 128, 128});
  expect(memory, Global{"naive.store", "store", 4, 64, 4096, 128, 4096});
}

TEST_F(GoldenKernels, TransposeThroughLdsConflictsInTheColumn) {
  const json memory = kernel("gfx90a", "transpose_lds"); // 4 waves, 16 rows each
  expect(memory, Global{"tile.load", "load", 4, 64, 4096, 128, 128});
  expect(memory, Global{"tile.store", "store", 4, 64, 4096, 128, 128});
  expect(memory, Lds{"tile.put", "store", 4, 64, 4096, 0});
  expect(memory, Lds{"tile.take", "load", 4, 64, 4096, 64 * 62});
}

TEST_F(GoldenKernels, PaddedTransposeHasNoConflict) {
  const json memory = kernel("gfx90a", "transpose_padded");
  expect(memory, Global{"tile.load", "load", 4, 64, 4096, 128, 128});
  expect(memory, Global{"tile.store", "store", 4, 64, 4096, 128, 128});
  expect(memory, Lds{"tile.put", "store", 4, 64, 4096, 0});
  expect(memory, Lds{"tile.take", "load", 4, 64, 4096, 0});
}

TEST_F(GoldenKernels, LdsColumnMeetsInOneBank) {
  const json memory = kernel("gfx90a", "lds_column"); // two sets of 32 lanes, 31 extra cycles each
  expect(memory, Lds{"column.put", "store", 4, 1, 64, 62});
  expect(memory, Lds{"column.take", "load", 4, 1, 64, 62});
}

TEST_F(GoldenKernels, SixteenByteLdsEvery128BytesMeetsInFourBanks) {
  const json memory = kernel("gfx90a", "lds_wide"); // eight sets of eight lanes
  expect(memory, Lds{"wide.put", "store", 16, 1, 64, 8 * 7});
  expect(memory, Lds{"wide.take", "load", 16, 1, 64, 8 * 7});
  expect(memory, Global{"wide.store", "store", 16, 1, 64, 8, 8});
}

TEST_F(GoldenKernels, EightByteLdsEvery128BytesMeetsInTwoBanks) {
  const json memory = kernel("gfx90a", "lds_double"); // four sets of sixteen lanes
  expect(memory, Lds{"lds8.put", "store", 8, 1, 64, 4 * 15});
  expect(memory, Lds{"lds8.take", "load", 8, 1, 64, 4 * 15});
}

TEST_F(GoldenKernels, AtomicsOnOneAddressAreDoneByOneLaneOfEachWave) {
  const json memory = kernel("gfx90a", "atomic_one"); // three waves; the compiler combines them
  expect(memory, Global{"one.add", "atomic", 4, 3, 3, 3, 3});
  const json add = access(memory["global"], "one.add");
  EXPECT_EQ(add["machine"], "combined");
  EXPECT_EQ(add["same_address"], 0);
  EXPECT_EQ(add["addresses"], 1);
  EXPECT_EQ(add["hottest"]["operations"], 3);
}

TEST_F(GoldenKernels, AtomicsOnAnAddressEachDoNot) {
  const json memory = kernel("gfx90a", "atomic_each");
  expect(memory, Global{"each.add", "atomic", 4, 1, 64, 2, 2});
  const json add = access(memory["global"], "each.add");
  EXPECT_EQ(add["same_address"], 0);
  EXPECT_EQ(add["addresses"], 64);
  EXPECT_EQ(add["hottest"]["operations"], 1);
}

TEST_F(GoldenKernels, LdsAtomicsOnFourAddresses) {
  const json memory = kernel("gfx90a", "atomic_lds");
  expect(memory, Lds{"histogram.add", "atomic", 4, 1, 64, 0});
  EXPECT_EQ(access(memory["lds"], "histogram.add")["same_address"], 60);
}

TEST_F(GoldenKernels, FlatAccessIsSplitByAddress) {
  const json memory = kernel("gfx90a", "flat");
  expect(memory, Global{"flat.load", "load", 4, 1, 32, 1, 2}); // odd lanes: bytes 4 to 255
  expect(memory, Lds{"flat.load", "load", 4, 1, 32, 0});
}

TEST_F(GoldenKernels, FillCountsAllItsBytes) {
  const json memory = kernel("gfx90a", "fill"); // 64000 bytes without a gap
  const json fill = access(memory["global"], "fill.store");
  EXPECT_EQ(fill["op"], "store");
  EXPECT_EQ(fill["lanes"], 64);
  EXPECT_EQ(fill["total_bytes"], 64000);
  EXPECT_EQ(fill["lines_needed"], 500);
  // In pieces of 16 bytes at most, each lane in a line of its own: 63 times 64, and 248 pieces of
  // odd lanes that lie in two lines.
  EXPECT_EQ(fill["lines_used"], 63 * 64 + 248);
}

TEST_F(GoldenKernels, Wave32HasTwiceTheWavesAndHalfTheLines) {
  expect(kernel("gfx1030", "copy"), Global{"copy.load", "load", 4, 8, 256, 8, 8});
  // 32, 32, 32 and 4 lanes
  expect(kernel("gfx1030", "copy_partial"), Global{"partial.load", "load", 4, 4, 100, 4, 4});
  // bytes 4 to 131, 132 to 259
  expect(kernel("gfx1030", "copy_shifted"), Global{"shifted.load", "load", 4, 2, 64, 2, 4});
  expect(kernel("gfx1030", "strided"), Global{"strided.load", "load", 4, 2, 64, 2, 64});
  expect(kernel("gfx1030", "broadcast"), Global{"broadcast.load", "load", 4, 4, 128, 4, 4});
  expect(kernel("gfx1030", "transpose_naive"),
         Global{"naive.store", "store", 4, 128, 4096, 128, 4096});
}

TEST_F(GoldenKernels, Wave32LdsIsOneHalf) {
  expect(kernel("gfx1030", "lds_column"), Lds{"column.take", "load", 4, 2, 64, 62});
  expect(kernel("gfx1030", "transpose_lds"), Lds{"tile.take", "load", 4, 128, 4096, 128 * 31});
  expect(kernel("gfx1030", "transpose_padded"), Lds{"tile.take", "load", 4, 128, 4096, 0});
  expect(kernel("gfx1030", "lds_wide"), Lds{"wide.take", "load", 16, 2, 64, 8 * 7});
}

TEST_F(GoldenKernels, EveryObjectFitsTheSchema) {
  for (const auto &[name, memory] : on("gfx90a")) EXPECT_EQ(schemaFault(memory), "") << memory;
}

} // namespace
} // namespace fade::testing
