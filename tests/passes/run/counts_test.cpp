// Counts that take no stream are those of the stream, block by block.
#include "builds.h"
#include "cases.h"
#include "codeobj/counter_check.h"
#include "codeobj/sites.h"

#include <fade/clone.h>

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <filesystem>

namespace {

using namespace fade::test;

std::string object(const char *mode, const std::string &file, const Build &b) {
  return std::string(KERNELS_DIR "/") + mode + "_" + file + "_" + b.name() + ".hsaco";
}

struct Counts {
  uint64_t entries = 0, lanes = 0;
  bool operator==(const Counts &) const = default;
};
std::ostream &operator<<(std::ostream &out, const Counts &c) {
  return out << c.entries << " entries, " << c.lanes << " lanes";
}

std::vector<Counts> counted(const Recorded &recorded) {
  std::vector<Counts> out;
  for (const fade_counter &c : recorded.counters)
    out.push_back({c.entries, c.entries + c.more_lanes});
  return out;
}

std::vector<Counts> streamed(const Recorded &recorded, std::size_t sites) {
  std::vector<Counts> out(sites);
  for (const auto &block : recorded.blocks) {
    ++out[block.site].entries;
    out[block.site].lanes += unsigned(std::popcount(block.mask));
  }
  return out;
}

class CountsOf : public testing::TestWithParam<Build> {
protected:
  // Both in turn: what was counted, and what the records of the same blocks say.
  static void compare(const std::string &file, const std::vector<Case> &cases,
                      const Stream &stream = {}) {
    Session counts(GetParam().arch, object("counts", file, GetParam()));
    Session blocks(GetParam().arch, object("blocks", file, GetParam()));
    ASSERT_EQ(counts.sites().sites().size(), blocks.sites().sites().size());
    for (const Case &c : cases) {
      if (c.file != file) continue;
      Data counted_data(counts.device()), streamed_data(blocks.device());
      const Recorded by_counts = counts.runTwin(c.launch, c.arguments(counted_data), stream);
      const Recorded by_blocks = blocks.runTwin(c.launch, c.arguments(streamed_data), stream);
      EXPECT_TRUE(by_counts.bytes.empty()) << c.name;
      EXPECT_EQ(counted_data.contents(), streamed_data.contents()) << c.name;
      const auto a = counted(by_counts), b = streamed(by_blocks, a.size());
      uint64_t entries = 0;
      for (const Counts &counts_of_block : a) entries += counts_of_block.entries;
      EXPECT_EQ(entries, by_blocks.blocks.size()) << c.name;
      EXPECT_GE(entries, by_blocks.waves.size()) << c.name; // each has a first block
      for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_EQ(a[i], b[i]) << c.name << " block " << i << ", line "
                              << counts.sites().sites()[i].line;
    }
  }
};

TEST_P(CountsOf, BlocksAreThoseOfTheStream) { compare("basic", basicCases()); }
TEST_P(CountsOf, BlocksAreThoseOfTheStreamOnAllPaths) { compare("paths", pathCases()); }

TEST_P(CountsOf, WorkgroupsThatAreNotWantedAreNotCounted) {
  Stream some;
  some.sample_workgroups = 1;
  some.first = {1, 0, 0};
  some.last = {2, 9, 9};
  compare("paths", pathCases(), some);
  some.sample_workgroups = 3;
  some.first = {0, 0, 0};
  compare("basic", {findCase("volumes"), findCase("recursion")}, some);
}

// What the clock of the software GPU says depends on the machine, but it goes on.
TEST(Times, BlocksThatRanTookTimeAndOthersDidNot) {
  for (const char *arch : {"gfx90a", "gfx1100"}) {
    const Build build{arch, "O2", "default"};
    Session session(arch, object("times", "paths", build));
    Session blocks(arch, object("blocks", "paths", build));
    for (const Case &c : pathCases()) {
      Data data(session.device()), other(blocks.device());
      const Recorded timed = session.runTwin(c.launch, c.arguments(data));
      const Recorded by_blocks = blocks.runTwin(c.launch, c.arguments(other));
      EXPECT_EQ(data.contents(), other.contents()) << c.name;
      const auto a = counted(timed), b = streamed(by_blocks, a.size());
      EXPECT_EQ(a, b) << arch << " " << c.name;
      ASSERT_EQ(timed.clocks.size(), a.size());
      // No block takes longer than all waves of the dispatch together could, however often the
      // clock starts again meanwhile: on gfx11 every 0.4 ms.
      const double most = timed.stats.seconds * double(timed.stats.waves) * 1e6 *
                          session.device().arch().engine_mhz;
      std::size_t measured = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_LE(double(timed.clocks[i]), most) << arch << " " << c.name << " block " << i;
        const fade_site &site = session.sites().sites()[i];
        EXPECT_EQ(timed.clocks[i] != 0, a[i].entries != 0 && site.size != 0)
            << arch << " " << c.name << " block " << i << ": " << timed.clocks[i] << " clocks, "
            << a[i];
        measured += timed.clocks[i] != 0;
      }
      EXPECT_GT(measured, 0u) << c.name;
    }
  }
}

// Objects of another compiler can be tried: FADE_TEST_OBJECTS says where.
TEST(CounterRegisters, AreWrittenByNothingElseInAnyTwin) {
  namespace codeobj = fade::codeobj;
  const char *elsewhere = std::getenv("FADE_TEST_OBJECTS");
  std::size_t kernels = 0;
  for (const auto &file :
       std::filesystem::directory_iterator(elsewhere ? elsewhere : KERNELS_DIR)) {
    const std::string name = file.path().filename();
    const bool counts = name.starts_with("counts_") || name.starts_with("times_");
    if (!counts || file.path().extension() != ".hsaco") continue;
    const auto blob = codeobj::Blob::mapFile(file.path());
    ASSERT_TRUE(blob) << blob.error().message();
    const auto object = codeobj::CodeObject::open(*blob);
    ASSERT_TRUE(object) << object.error().message();
    ASSERT_TRUE(codeobj::Disassembler::create((*object)->target(), 64)) << name;
    const auto [exist, tables, damage] = codeobj::readSiteTables(**object);
    ASSERT_TRUE(exist && !damage) << name;
    for (const fade::SiteTable &table : tables) {
      for (const auto &[kernel, why] : codeobj::kernelsThatMiscount(table, **object))
        ADD_FAILURE() << name << ": " << kernel << ": " << why;
      for (const fade_site_kernel &kernel : table.kernels())
        kernels += FADE_KERNEL_FIRST_COUNTER(kernel.flags) != 0;
    }
  }
  EXPECT_GT(kernels, 0u);
}

INSTANTIATE_TEST_SUITE_P(Builds, CountsOf, testing::ValuesIn(builds()), nameOfBuild);

} // namespace
