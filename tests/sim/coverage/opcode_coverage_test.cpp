// Every opcode that the tables of real programs name has semantics.
#include "semantics/opcodes.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace fade::sim {
namespace {

class OpcodeCoverage : public testing::TestWithParam<const char *> {};

TEST_P(OpcodeCoverage, EveryOpcodeOfTheTableHasSemantics) {
  std::ifstream in(std::string(FADE_TEST_DATA "/isa/opcodes-") + GetParam() + ".tsv");
  ASSERT_TRUE(in) << "no table for " << GetParam();
  std::string line;
  std::getline(in, line); // header
  int count = 0;
  std::string missing;
  for (; std::getline(in, line); count++) {
    const std::string name = line.substr(0, line.find('\t'));
    const Opcode *op = opcodes().find(name);
    if (!op || !op->run) missing += " " + name;
  }
  EXPECT_GT(count, 350);
  EXPECT_EQ(missing, "");
}

INSTANTIATE_TEST_SUITE_P(, OpcodeCoverage,
                         testing::Values("gfx90a", "gfx942", "gfx1030", "gfx1100"),
                         [](const auto &i) { return std::string(i.param); });

} // namespace
} // namespace fade::sim
