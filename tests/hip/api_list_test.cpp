// The list of HIP's functions, and choosing from it.
#include "base/api_choice.h"
#include "fade/hip_api.h"

#include <gtest/gtest.h>

namespace fade::hip {
namespace {

const FunctionInfo &function(std::string_view name) {
  const auto *at = std::ranges::find_if(kFunctions, [&](const auto &f) { return f.name == name; });
  EXPECT_NE(at, std::end(kFunctions)) << name;
  return *at;
}

TEST(HipFunctions, NumbersAreThePlacesInTheTablesAndUnique) {
  EXPECT_EQ(function("hipApiName").number, 0);
  EXPECT_EQ(function("hipLaunchKernel").number, 214);
  EXPECT_EQ(function("__hipPopCallConfiguration").number, 2000);
  EXPECT_EQ(function("hiprtcVersion").number, 2101);
  std::set<uint16_t> numbers;
  for (const FunctionInfo &f : kFunctions) EXPECT_TRUE(numbers.insert(f.number).second) << f.name;
  EXPECT_GT(kFunctionCount, 500u);
}

TEST(HipFunctions, EveryArgumentHasANameAndAType) {
  for (const FunctionInfo &f : kFunctions) {
    std::string_view rest = f.parameters;
    unsigned count = 0;
    while (!rest.empty()) {
      const auto end = std::min(rest.find(", "), rest.size());
      const auto colon = rest.substr(0, end).find(':');
      EXPECT_TRUE(colon != rest.npos && colon > 0 && colon + 1 < end) << f.name << ": " << rest;
      rest.remove_prefix(std::min(end + 2, rest.size()));
      ++count;
    }
    EXPECT_EQ(count, f.count) << f.name;
  }
}

TEST(HipFunctions, ArgumentsAreRecordedByTheirTypes) {
  const FunctionInfo &allocate = function("hipMalloc");
  EXPECT_TRUE(allocate.recorded[0].is_output);
  EXPECT_EQ(allocate.recorded[0].kind, Kind::pointer);
  EXPECT_EQ(allocate.recorded[1].kind, Kind::u64);
  EXPECT_EQ(allocate.words, 3u);
  const FunctionInfo &launch = function("hipLaunchKernel");
  // The array of arguments is not an output.
  EXPECT_FALSE(launch.recorded[3].is_output);
  EXPECT_EQ(launch.words, 8u); // 1 + 2 + 2 + 1 + 1 + 1
  const FunctionInfo &channel = function("hipCreateChannelDesc");
  EXPECT_EQ(channel.words, 5u + 3u); // and a structure of 20 bytes that it returns
  EXPECT_EQ(function("hipGetErrorName").words, 1u + 1u + kTextBytes / 8);
}

TEST(ApiChoice, GroupsNamesAndExpressionsAddUp) {
  const auto choice = ApiChoice::parse("launch,^hipMalloc$,Event");
  ASSERT_TRUE(choice);
  EXPECT_TRUE(choice->wants("hipLaunchKernel", "launch"));
  EXPECT_TRUE(choice->wants("hipMalloc", "memory"));
  EXPECT_FALSE(choice->wants("hipMallocAsync", "memory"));
  EXPECT_TRUE(choice->wants("hipEventRecord", "event"));
  EXPECT_FALSE(choice->wants("hipMemcpy", "copy"));
  EXPECT_TRUE(ApiChoice::parse("all")->wants("anything", "else"));
}

TEST(ApiChoice, AWordThatMatchesNothingIsNamed) {
  EXPECT_NE(ApiChoice::parse("memroy").error().what.find("did you mean 'memory'"),
            std::string::npos);
  EXPECT_NE(ApiChoice::parse("hip(").error().what.find("not a regular expression"),
            std::string::npos);
  EXPECT_FALSE(ApiChoice::parse(""));
  EXPECT_FALSE(ApiChoice::parse(",,"));
  EXPECT_FALSE(ApiChoice::parse("all,nonsense"));
}

} // namespace
} // namespace fade::hip
