// A fixed set of random programs, and the tester itself.
#include "extent.h"
#include "reducer.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fade::sim::differential {
namespace {

constexpr unsigned programs_per_target = extent::is_long ? 5 : 1;

// clang 19 miscompiles it at -O1, for all GPUs: a value from before a loop that returns is lost.
constexpr uint64_t miscompiled_seed = 28;

std::vector<Program> programs(uint64_t first, unsigned count) {
  std::vector<Program> list;
  for (uint64_t seed = first; list.size() < count; seed++)
    if (seed != miscompiled_seed) list.push_back(generate(seed));
  return list;
}

std::vector<Target> tested_targets() {
  std::vector<Target> targets = all_targets();
  for (const char *arch :
       {"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1151", "gfx1201", "gfx908"}) {
    Target flat{arch, 1}, few{arch, 3};
    flat.flat = true, few.few_registers = true;
    targets.push_back(flat), targets.push_back(few);
  }
  return targets;
}

std::string all_of(const std::vector<Disagreement> &found) {
  std::string text;
  for (const Disagreement &d : found)
    text += "seed " + std::to_string(d.seed) + " on " + d.target.describe() + "\n" + d.what;
  return text;
}

class RandomPrograms : public testing::TestWithParam<size_t> {};

// Each target has programs of its own, so the set as a whole is large.
TEST_P(RandomPrograms, GiveTheSameBitsOnTheGpuAndOnTheHost) {
  const Target target = tested_targets()[GetParam()];
  Batch batch(programs(1 + GetParam() * programs_per_target, programs_per_target));
  EXPECT_EQ(all_of(batch.compare(target)), "");
}

INSTANTIATE_TEST_SUITE_P(, RandomPrograms, testing::Range<size_t>(0, tested_targets().size()),
                         [](const auto &param) {
                           std::string name = tested_targets()[param.param].describe();
                           std::erase(name, '-');
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

TEST(Generator, ASeedAlwaysGivesTheSameProgram) {
  EXPECT_EQ(generate(7).text, generate(7).text);
  EXPECT_NE(generate(7).text, generate(8).text);
}

TEST(Generator, ProgramsHaveNoUndefinedBehaviour) {
  EXPECT_EQ(undefined_behaviour(programs(1, extent::is_long ? 40 : 10)), "");
}

TEST(Comparison, NoticesOneWrongBitInOneWorkItem) {
  Program p = generate(3);
  const std::string store = "  out[0] = s->x0;";
  const size_t at = p.text.find(store);
  ASSERT_NE(at, std::string::npos);
  p.text.replace(at, store.size(),
                 "#ifdef __AMDGCN__\n out[0] = s->x0 ^ (__builtin_amdgcn_workitem_id_x() == "
                 "5);\n#else\n out[0] = s->x0;\n#endif");
  const std::vector<Disagreement> found = Batch({p}).compare({"gfx90a", 1});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].what.find("work-item 5: x0"), std::string::npos) << found[0].what;
  EXPECT_TRUE(Batch({generate(3)}).compare({"gfx90a", 1}).empty());
}

TEST(Comparison, ReportsWhatStopsAKernel) {
  Program p = generate(3);
  const std::string store = "  out[0] = s->x0;";
  p.text.replace(p.text.find(store), store.size(),
                 "#ifdef __AMDGCN__\n *(volatile GLOBAL u32 *)16 = 1;\n#endif\n");
  const std::vector<Disagreement> found = Batch({p}).compare({"gfx90a", 1});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].what.find("outside of GPU memory"), std::string::npos) << found[0].what;
}

TEST(Reducer, KeepsOnlyWhatMatters) {
  const Program whole = generate(1);
  const std::string matter = "div_u32(";
  ASSERT_NE(whole.text.find(matter), std::string::npos);
  const Program small =
      reduce(1, [&](const Program &p) { return p.text.find(matter) != std::string::npos; });
  EXPECT_NE(small.text.find(matter), std::string::npos);
  EXPECT_LT(small.text.size(), whole.text.size() / 3);
  EXPECT_NO_THROW(Batch({small}));
}

} // namespace
} // namespace fade::sim::differential
