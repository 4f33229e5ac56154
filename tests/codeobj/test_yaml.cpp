#include "codeobj/yaml_subset.h"

#include <gtest/gtest.h>

namespace fade::codeobj {
namespace {

YamlNode parse(std::string_view text) {
  auto parsed = parseYamlSubset(text);
  if (!parsed) {
    ADD_FAILURE() << parsed.error().what;
    return {};
  }
  return *parsed;
}

TEST(YamlSubset, ReadsMapsListsAndFlowLists) {
  YamlNode root =
      parse("---\nVersion:   [ 1, 0 ]\nKernels:\n  - Name: 'it''s'\n    Args:\n      - Size: 8\n"
            "      - Size: 4\n  - Name: \"b\\n\"\n...\n");
  ASSERT_NE(root.find("Version"), nullptr);
  ASSERT_EQ(root.find("Version")->list.size(), 2u);
  EXPECT_EQ(root.find("Version")->list[0].number(), 1u);
  const YamlNode *kernels = root.find("Kernels");
  ASSERT_NE(kernels, nullptr);
  ASSERT_EQ(kernels->list.size(), 2u);
  EXPECT_EQ(kernels->list[0].find("Name")->scalar, "it's");
  ASSERT_EQ(kernels->list[0].find("Args")->list.size(), 2u);
  EXPECT_EQ(kernels->list[0].find("Args")->list[1].find("Size")->number(), 4u);
  EXPECT_EQ(kernels->list[1].find("Name")->scalar, "b\n");
}

TEST(YamlSubset, KeepsColonsInScalars) {
  YamlNode root = parse("Printf:\n  - '1:1:4:hello: %d'\nname: a::b\n");
  EXPECT_EQ(root.find("Printf")->list[0].scalar, "1:1:4:hello: %d");
  EXPECT_EQ(root.find("name")->scalar, "a::b");
}

TEST(YamlSubset, RefusesBottomlessNesting) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_FALSE(parseYamlSubset(text));
  std::string dashes;
  for (int i = 0; i < 1000; ++i) dashes += "- ";
  EXPECT_FALSE(parseYamlSubset(dashes + "a: b"));
}

TEST(YamlSubset, SaysWhichOffsetIsWrong) {
  auto parsed = parseYamlSubset("a: 1\nnonsense\n");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().offset, 5u);
}

} // namespace
} // namespace fade::codeobj
