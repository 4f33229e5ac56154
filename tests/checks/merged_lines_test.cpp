// Lines of the bytes of an instruction that compilers have made of several accesses.
#include "check/clause_lines.h"
#include "check/merged_lines.h"

#include <gtest/gtest.h>

using namespace fade::cli;
using fade::codeobj::AccessLayout;

namespace {

using Lines = std::vector<std::string>;

/// Everything is an array of floats, but `wide`, whose elements are pairs of them.
std::optional<AccessLayout> floats(const std::string &variable, const Lines &steps) {
  if (variable == "unknown" || steps != Lines{"["}) return std::nullopt;
  const uint64_t size = variable == "wide" ? 8 : 4;
  return AccessLayout{0, {size}, 0, size};
}

MergedAccess load(uint32_t line, uint32_t column, uint32_t size, std::optional<uint32_t> byte) {
  return {false, line, column, "global_load_dwordx2 v[0:1], v2, s[0:1]", size, byte, 0};
}

TEST(MergedLines, EachByteHasTheLineThatAccessesIt) {
  const Lines source{"x = p[2 * i];", "y = p[2 * i + 1];"};
  const auto second = mergedLines(load(1, 5, 8, 4), source, floats);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->line, 2u);
  EXPECT_EQ(second->column, 5u);
  EXPECT_EQ(second->others, std::vector<uint32_t>{1});
  EXPECT_EQ(mergedLines(load(2, 5, 8, 3), source, floats)->line, 1u);
}

TEST(MergedLines, OneAccessOfTheWholeWidthIsNotMerged) {
  EXPECT_FALSE(mergedLines(load(1, 5, 8, 4), {"x = wide[i];", "y = wide[i + 1];"}, floats));
  EXPECT_FALSE(mergedLines(load(1, 5, 4, 0), {"x = p[i];", "y = p[i + 1];"}, floats));
  EXPECT_FALSE(mergedLines(load(1, 5, 8, 4), {"x = unknown[i];", "y = unknown[i+1];"}, floats));
}

TEST(MergedLines, AnotherFunctionHasNoPartInIt) {
  EXPECT_FALSE(mergedLines(load(2, 16, 8, 4),
                           {"void e(P p) { w = p[2 * i - 1]; }", "void f(P p) { x = p[2 * i]; }",
                            "void g(P p) { y = p[2 * i + 1]; } // next"},
                           floats));
  EXPECT_FALSE(mergedLines(
      load(3, 7, 8, 4),
      {"void f(P p) { x = p[2 * i + 1]; }", "void g(P p) {", "  x = p[2 * i];", "}"}, floats));
}

TEST(MergedLines, ADeclarationIsNoAccess) {
  const Lines source{"  __shared__ float p[64], q[64];", "  x = q[t + k] * p[t + k];",
                     "  return p[9];"};
  EXPECT_FALSE(mergedLines(load(2, 7, 8, 4), source, floats));
  EXPECT_EQ(mergedLines(load(2, 18, 8, 4), source, floats)->others, std::vector<uint32_t>{3});
}

TEST(MergedLines, WhatLiesTooFarAwayHasNoPartInIt) {
  EXPECT_FALSE(mergedLines(load(1, 5, 8, 4), {"x = p[i];", "y = p[i + 2];"}, floats));
}

TEST(MergedLines, TwoWaysToCoverItSayNothingForSure) {
  const Lines source{"x = p[i - 1];", "y = p[i];", "z = p[i + 1];"};
  const auto merged = mergedLines(load(2, 5, 8, 0), source, floats);
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->line, 0u);
  EXPECT_EQ(merged->others, (std::vector<uint32_t>{1, 3}));
}

TEST(MergedLines, IndicesThatCannotBeComparedSayNothingForSure) {
  const auto merged = mergedLines(load(1, 5, 8, 4), {"x = p[f(i)];", "y = p[g(i)];"}, floats);
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->line, 0u);
  EXPECT_EQ(merged->others, std::vector<uint32_t>{2});
}

TEST(MergedLines, AVariableStandsForItsOnlyDefinition) {
  const Lines once{"int j = i + 1;", "x = p[i];", "y = p[j];"};
  EXPECT_EQ(mergedLines(load(2, 5, 8, 4), once, floats)->line, 3u);
  const Lines twice{"int j = i + 1;", "x = p[i];", "y = p[j];", "j += 2;"};
  EXPECT_EQ(mergedLines(load(2, 5, 8, 4), twice, floats)->line, 0u);
}

TEST(MergedLines, StoresAreToldFromLoads) {
  const Lines source{"p[2 * i + 1] = q;", "x = p[2 * i];", "p[2 * i] = x;"};
  const MergedAccess store{true, 3, 10, "global_store_dwordx2 v2, v[0:1], s[0:1]", 8, 4, 0};
  const auto merged = mergedLines(store, source, floats);
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->line, 1u);
  EXPECT_EQ(merged->column, 14u);
  EXPECT_EQ(merged->others, std::vector<uint32_t>{3});
}

TEST(MergedLines, OfAPairTheRegisterTellsWhich) {
  const Lines source{"x = p[i];", "y = p[i + 64];"};
  const std::string text = "ds_read2_b32 v[4:5], v0 offset0:1 offset1:65";
  const MergedAccess first{false, 1, 5, text, 4, 0, 4}, second{false, 1, 5, text, 4, 0, 5};
  EXPECT_EQ(mergedLines(first, source, floats)->line, 1u);
  EXPECT_EQ(mergedLines(second, source, floats)->line, 2u);
  // The same register twice.
  const MergedAccess stored{true, 1, 6, "ds_write2_b32 v0, v1, v1 offset1:64", 4, 0, 1};
  EXPECT_EQ(mergedLines(stored, {"p[i] = 0;", "p[i + 64] = 0;"}, floats)->line, 0u);
}

TEST(ClauseLines, TheAddressIsDefinedBeforeTheClause) {
  const Lines code{"v_or_b32_e32 v2, 8, v1", "v_or_b32_e32 v3, 12, v1", "s_clause 0x1",
                   "global_load_dword v2, v2, s[0:1]", "global_load_dword v3, v3, s[0:1]"};
  const auto place = clausePlace(code);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->first, 3u);
  EXPECT_EQ(place->definition, 1u);
  EXPECT_FALSE(place->has_other_base);
  // The first has its own line; what follows is in no clause.
  EXPECT_FALSE(clausePlace({code.begin(), code.end() - 1}));
  Lines longer = code;
  longer.push_back("global_load_dword v4, v5, s[0:1]");
  EXPECT_FALSE(clausePlace(longer));
}

TEST(ClauseLines, AnotherPointerIsSeen) {
  const auto place = clausePlace(
      {"s_clause 0x1", "global_load_dword v2, v0, s[0:1]", "global_load_dword v3, v0, s[2:3]"});
  ASSERT_TRUE(place);
  EXPECT_TRUE(place->has_other_base);
  EXPECT_FALSE(place->definition);
}

} // namespace
