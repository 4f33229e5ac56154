// The list of HIP's functions, and choosing from it.
#include "base/api_choice.h"
#include "fade/hip_structures.h"

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
  const FunctionInfo &properties = function("hipGetDevicePropertiesR0600");
  EXPECT_EQ(properties.recorded[0].kind, Kind::behind);
  EXPECT_TRUE(properties.recorded[0].is_output);
  EXPECT_EQ(properties.words, 1 + 1472u / 8 + 1);
  EXPECT_FALSE(function("hipMemcpy3D").recorded[0].is_output);
  EXPECT_EQ(function("hipGetErrorName").words, 1u + 1u + kTextBytes / 8);
}

TEST(HipStructures, WhatIsKnownOfThemIsWithinWhatIsRecorded) {
  unsigned structures = 0;
  for (const FunctionInfo &f : kFunctions) {
    std::string_view rest = f.parameters;
    for (unsigned i = 0; i < f.count; ++i) {
      const auto end = std::min(rest.find(", "), rest.size());
      std::string_view type = rest.substr(0, end).substr(rest.find(':') + 1);
      rest.remove_prefix(std::min(end + 2, rest.size()));
      if (f.recorded[i].kind != Kind::behind) continue;
      ++structures;
      if (type.starts_with("const ")) type.remove_prefix(6);
      type.remove_suffix(1);
      if (type.starts_with("hipIpc") || type == "hipMemPoolPtrExportData") continue; // just bytes
      const std::size_t bytes = (f.recorded[i].words - 1) * 8;
      for (const unsigned major : {5u, 6u, 7u}) {
        EXPECT_FALSE(membersOf(type, major).empty()) << f.name << ": " << type;
        for (const Member &member : membersOf(type, major)) {
          EXPECT_LE(member.offset + member.count * bytesOf(member.kind), bytes) << member.path;
          EXPECT_LT(member.when, static_cast<int>(bytes));
        }
      }
    }
  }
  EXPECT_GT(structures, 90u);
}

TEST(HipStructures, PlacesAreThoseOfEachVersion) {
  const auto find = [](std::string_view structure, unsigned major, std::string_view path) {
    for (const Member &member : membersOf(structure, major))
      if (member.path == path) return static_cast<int>(member.offset);
    return -1;
  };
  EXPECT_EQ(find("hipMemcpy3DParms", 5, "srcPos.y"), 16);
  EXPECT_EQ(find("hipMemcpy3DParms", 7, "srcPos.y"), 16);
  EXPECT_EQ(find("HIP_MEMCPY3D", 5, "Depth"), 120);
  EXPECT_EQ(find("HIP_MEMCPY3D", 7, "Depth"), 176);
  EXPECT_EQ(find("hipPointerAttribute_t", 5, "memoryType"), 0);
  EXPECT_EQ(find("hipPointerAttribute_t", 7, "type"), 0);
  EXPECT_EQ(find("hipDeviceProp_tR0600", 7, "multiProcessorCount"), 388);
  EXPECT_EQ(find("nothing", 7, "x"), -1);
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
