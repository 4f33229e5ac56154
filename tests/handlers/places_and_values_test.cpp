// Where waves ran, what kernels record by themselves, how times spread, and tables of any handler.
#include "fade/handler.h"
#include "fade/hardware_id.h"
#include "handler_host.h"
#include "report_schema.h"

#include "../../handlers/log_histogram.h"

#include <gtest/gtest.h>

#include <bit>

namespace fade::testing {
namespace {

using nlohmann::json;

fade_wave_begin waveWith(uint32_t hardware_id) {
  fade_wave_begin wave{};
  wave.hardware_id = hardware_id;
  return wave;
}

TEST(HardwareId, EachGenerationHasItsBitsElsewhere) {
  // Slot 3, SIMD 2, CU 9, array 1, engine 6 (eight engines) or 2 (four).
  const uint32_t gfx9 = 3 | 2 << 4 | 9 << 8 | 1 << 12 | 6 << 13;
  const HardwarePlace cdna = hardwarePlace("gfx90a", waveWith(gfx9));
  EXPECT_EQ(cdna, (HardwarePlace{0, 6, 1, 9, 2, 3}));
  EXPECT_EQ(hardwarePlace("gfx906", waveWith(gfx9)).engine, 2u);
  // Slot 17, SIMD 1 of compute unit 1 of workgroup processor 5, array 1, engine 5.
  const uint32_t gfx10 = 17 | 3 << 8 | 5 << 10 | 1 << 16 | 5 << 18;
  EXPECT_EQ(hardwarePlace("gfx1100", waveWith(gfx10)), (HardwarePlace{0, 5, 1, 11, 1, 17}));
  EXPECT_EQ(hardwarePlace("gfx1030", waveWith(gfx10)).engine, 1u); // two bits
}

TEST(PlacementTest, CountsWavesOfEachComputeUnit) {
  SiteTableBuilder table;
  table.add({});
  Stream stream;
  for (const uint32_t unit : {4u, 4u, 7u}) stream.wave(0, false, unit << 8 | 1 << 13, 0);
  stream.wave(0, false, 4 << 8 | 1 << 13, 3); // another die
  HandlerHost host(std::vector<HandlerChoice>{{"Placement", ""}});
  host.dispatch("k", table.build("k"), stream);
  const auto lines = host.finish("placement");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(schemaFault(lines[0]), "");
  EXPECT_EQ(lines[0]["waves"], 4);
  EXPECT_EQ(lines[0]["units"], json::parse(R"([
    {"xcc":0,"engine":1,"array":0,"unit":4,"waves":2},
    {"xcc":0,"engine":1,"array":0,"unit":7,"waves":1},
    {"xcc":3,"engine":1,"array":0,"unit":4,"waves":1}])"));
}

class UserRecordsTest : public ::testing::Test {
protected:
  SiteTableBuilder table;
  uint32_t whole = table.add(user(7, 0)), real = table.add(user(8, FADE_SITE_IS_DOUBLE));
  Stream stream;

  static SiteTableBuilder::Site user(uint32_t number, uint32_t flags) {
    SiteTableBuilder::Site site;
    site.kind = FADE_SITE_USER;
    site.size = number;
    site.line = 10 + number;
    site.flags = flags;
    return site;
  }
  std::string run(Format format) {
    HostOptions options;
    options.format = format;
    HandlerHost host({{"UserRecords", "values=2"}, {"MemoryAnalysis", ""}}, options);
    host.dispatch("k", table.build("k"), stream);
    return host.finish();
  }
  void record() {
    stream.wave();
    const auto minus = static_cast<uint64_t>(int64_t{-5});
    std::vector<uint64_t> values(64, minus);
    values[1] = 100, values[2] = 100, values[3] = 3;
    stream.user(whole, 0xf, values);
    std::fill(values.begin(), values.end(), std::bit_cast<uint64_t>(2.5));
    stream.user(real, 3, values);
  }
};

TEST_F(UserRecordsTest, ValuesAreSummedUpByPlaceAndNumber) {
  record();
  const auto lines = objectsOf(run(Format::json), "user_records");
  ASSERT_EQ(lines.size(), 2u);
  for (const json &line : lines) EXPECT_EQ(schemaFault(line), "");
  EXPECT_EQ(lines[0]["number"], 7);
  EXPECT_EQ(lines[0]["line"], 17);
  EXPECT_EQ(lines[0]["lanes"], 4);
  EXPECT_EQ(lines[0]["least"], -5);
  EXPECT_EQ(lines[0]["most"], 100);
  EXPECT_EQ(lines[0]["mean"], (100 + 100 + 3 - 5) / 4.0);
  EXPECT_EQ(lines[0]["frequent"],
            json::parse(R"([{"value":100,"lanes":2},{"value":3,"lanes":1}])"));
  EXPECT_EQ(lines[1]["mean"], 2.5);
}

TEST_F(UserRecordsTest, TheyAreNoAccessesAndComeAsATable) {
  record();
  const std::string report = run(Format::json);
  for (const json &memory : objectsOf(report, "memory")) EXPECT_TRUE(memory["global"].empty());
  const auto tables = objectsOf(report, "table");
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(schemaFault(tables[0]), "");
  EXPECT_EQ(tables[0]["columns"][1], "number");
  EXPECT_EQ(tables[0]["rows"][0][1], "7");
  const std::string text = run(Format::text);
  EXPECT_NE(text.find("UserRecords\n  place"), std::string::npos) << text;
  EXPECT_NE(text.find("kernel.hip:17"), std::string::npos) << text;
  const std::string csv = run(Format::csv);
  EXPECT_NE(csv.find("\ntable,1,UserRecords,kernel.hip:17,7,1,4,-5,100,"), std::string::npos)
      << csv;
}

TEST(BlockTimes, PercentilesAreThoseOfAllDispatches) {
  SiteTableBuilder table;
  SiteTableBuilder::Site site;
  site.kind = FADE_SITE_BLOCK;
  const uint32_t block = table.add(site);
  HandlerHost host(std::vector<HandlerChoice>{{"BlockCounts", ""}});
  for (int dispatch = 0; dispatch < 2; ++dispatch) {
    Stream stream;
    stream.wave();
    uint64_t clock = 100;
    for (int i = 0; i < 50; ++i, clock += 7) stream.block(block, kAll, clock); // 49 of 7 clocks
    stream.block(block, kAll, clock += 5000 - 7);                              // one of 5000
    stream.waveEnd(clock += 7);
    host.dispatch("k", table.build("k"), stream);
  }
  const auto lines = host.finish("block_times");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(schemaFault(lines[0]), "");
  const json &one = lines[0]["blocks"][0];
  EXPECT_EQ(one["executions"], 102);
  EXPECT_EQ(one["p50"], 7);
  EXPECT_EQ(one["p90"], 7);
  EXPECT_GE(one["p99"], 5000);
  EXPECT_LE(one["p99"], 5000 * 9 / 8);
}

TEST(BlockTimes, ClocksOfTheSoftwareGpuAreNotInTheText) {
  SiteTableBuilder table;
  SiteTableBuilder::Site site;
  site.kind = FADE_SITE_BLOCK;
  const uint32_t block = table.add(site);
  Stream stream;
  stream.wave();
  stream.block(block, kAll, 100);
  stream.waveEnd(4321 + 100);
  for (const bool in_software : {false, true}) {
    HostOptions options;
    options.format = Format::text;
    HandlerHost host({{"BlockCounts", ""}}, options);
    host.more_flags = in_software ? FADE_DISPATCH_IN_SOFTWARE : 0;
    host.dispatch("k", table.build("k"), stream);
    const std::string text = host.finish();
    EXPECT_EQ(text.find("clocks") == text.npos, in_software) << text;
    EXPECT_EQ(text.find("4321") == text.npos, in_software) << text;
  }
}

TEST(LogHistogram, IsExactForSmallNumbersAndNeverMoreThanAnEighthTooHigh) {
  for (uint64_t n : {0ull, 1ull, 15ull, 16ull, 17ull, 100ull, 4095ull, 1ull << 40, ~0ull}) {
    handlers::LogHistogram spread;
    spread.add(n);
    EXPECT_GE(spread.percentile(50), n);
    EXPECT_LE(spread.percentile(50) - n, n / 8) << n;
    if (n < 16) {
      EXPECT_EQ(spread.percentile(99), n);
    }
  }
  handlers::LogHistogram spread;
  for (uint64_t i = 1; i <= 10; ++i) spread.add(i);
  EXPECT_EQ(spread.percentile(50), 5u);
  EXPECT_EQ(spread.percentile(90), 9u);
  EXPECT_EQ(spread.percentile(99), 10u);
}

TEST(Allocations, HaveTheNameOfTheArgumentAndOfWhoMadeThem) {
  SiteTableBuilder table;
  const uint32_t load = table.add({});
  Stream stream;
  stream.wave();
  stream.affine(load, 0x10000, 4);
  auto allocations = std::make_shared<Allocations>();
  allocations->list.push_back({0x10000, 4096, 3, 1, 0, 0});
  allocations->origins.push_back(allocations->addName("main (app.cpp:12)"));
  auto names = std::make_shared<KernelArguments>();
  names->list.push_back({0, 8, FADE_ARGUMENT_POINTER, "out", "float*"});
  names->list.push_back({8, 4, 0, "n", "int"});
  const uint64_t block[2] = {0x10040, 77};
  const auto arguments =
      DispatchArguments::read(names, std::as_bytes(std::span(block)), allocations.get());
  HandlerHost host(std::vector<HandlerChoice>{{"Heatmap", ""}});
  host.dispatch("k", table.build("k"), stream, {}, allocations, arguments);
  const std::string report = host.finish();
  const auto heat = objectsOf(report, "heatmap");
  ASSERT_EQ(heat.size(), 1u);
  EXPECT_EQ(schemaFault(heat[0]), "");
  EXPECT_EQ(heat[0]["allocations"][0]["name"], "#3 out, 4 KiB of agent 1 from main (app.cpp:12)");
  EXPECT_EQ(heat[0]["allocations"][0]["argument"], "out");
  EXPECT_EQ(heat[0]["allocations"][0]["origin"], "main (app.cpp:12)");
  const auto dispatches = objectsOf(report, "dispatch");
  EXPECT_EQ(schemaFault(dispatches[0]), "");
  EXPECT_EQ(dispatches[0]["arguments"][0]["allocation"], 3);
  EXPECT_EQ(dispatches[0]["arguments"][1]["value"], 77);
  // In the table what tells them apart, above the bars all of it, however long.
  allocations->origins[0] = allocations->addName(
      "toGpu<float>(std::vector<float> const&) (check.h:22) of main (a.cpp:9)");
  HostOptions options;
  options.format = Format::text;
  HandlerHost text({{"Heatmap", ""}}, options);
  text.dispatch("k", table.build("k"), stream, {}, allocations, arguments);
  const std::string lines = text.finish();
  EXPECT_NE(lines.find("  #3 out, 4 KiB of agent 1  0x10000"), std::string::npos) << lines;
  EXPECT_NE(lines.find("  #3 out, 4 KiB of agent 1 from toGpu<"), std::string::npos) << lines;
}

} // namespace
} // namespace fade::testing
