// --probe fade: a report with all records passes, and one with anything missing, added or changed
// does not.
#include "doctor/fade_probe.h"

#include <gtest/gtest.h>

namespace fade::doctor {
namespace {

using Json = nlohmann::json;

constexpr FadePlaces kPlaces{0x10000, 0x20000, 0x30000};

/// The lines of a run in waves of `wave` lanes, as MessageLogger and BlockCounts write them.
std::vector<Json> goodReport(uint64_t wave) {
  std::vector<Json> lines;
  uint64_t records = 0;
  const auto add = [&](Json line) {
    lines.push_back(std::move(line));
    ++records;
  };
  for (uint64_t first = 0; first < 1024; first += wave) {
    const uint64_t group = first / 64;
    const Json where = {group, 0, 0};
    const auto access = [&](const char *op, const char *space, auto address, bool odd_only) {
      Json addresses = Json::array();
      for (uint64_t i = first; i < first + wave; ++i)
        if (!odd_only || i % 2) addresses.push_back(address(i));
      add({{"type", "access"},
           {"workgroup", where},
           {"op", op},
           {"space", space},
           {"addresses", addresses}});
    };
    add({{"type", "wave_begin"}, {"workgroup", where}});
    access(
        "load", "global", [](uint64_t i) { return 0x10000 + 4 * i; }, false);
    access(
        "store", "lds", [](uint64_t i) { return 4 * (i % 64); }, false);
    access(
        "load", "lds", [](uint64_t i) { return 4 * (63 - i % 64); }, false);
    for (uint64_t k = 0; k < 3; ++k)
      access(
          "load", "global", [&](uint64_t i) { return 0x10000 + 4 * ((i * 5 + k) % 1024); }, false);
    access(
        "atomic", "global", [](uint64_t i) { return 0x30000 + 4 * (i % 4); }, true);
    access(
        "store", "global", [](uint64_t i) { return 0x20000 + 4 * i; }, false);
    for (int block = 0; block < 5; ++block) add({{"type", "block"}});
    add({{"type", "wave_end"}});
  }
  const uint64_t waves = 1024 / wave;
  const auto block = [](uint64_t executions, uint64_t lanes) {
    return Json{{"executions", executions}, {"lanes", lanes}};
  };
  lines.push_back({{"type", "blocks"},
                   {"wave_size", wave},
                   {"blocks", {block(waves, 1024), block(3 * waves, 3072), block(waves, 512)}}});
  lines.push_back({{"type", "dispatch"},
                   {"instrumented", true},
                   {"complete", true},
                   {"dropped", 0},
                   {"records", records}});
  return lines;
}

std::string checked(const std::vector<Json> &lines) {
  std::string text;
  for (const Json &line : lines) text += line.dump() + "\n";
  return checkRecords(text, kPlaces);
}

Json &lineOf(std::vector<Json> &lines, const std::string &type, std::size_t skip = 0) {
  for (Json &line : lines)
    if (line["type"] == type && skip-- == 0) return line;
  throw std::runtime_error("no line of that type");
}

TEST(FadeProbe, AllRecordsOfEitherWaveSizePass) {
  EXPECT_EQ(checked(goodReport(64)), "");
  EXPECT_EQ(checked(goodReport(32)), "");
}

TEST(FadeProbe, AnythingMissingIsSeen) {
  const auto good = goodReport(64);
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{10},
        std::size_t{13}, good.size() - 2, good.size() - 1}) {
    auto lines = good;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
    EXPECT_NE(checked(lines), "") << good[at];
  }
}

TEST(FadeProbe, AWrongAddressIsSeenWithItsPlace) {
  auto lines = goodReport(64);
  lineOf(lines, "access", 5)["addresses"][17] = 0x999;
  EXPECT_NE(checked(lines).find("recorded,"), std::string::npos);
  lines = goodReport(32);
  lineOf(lines, "access", 3)["op"] = "store";
  EXPECT_NE(checked(lines), "");
  lines = goodReport(32);
  lineOf(lines, "access", 3)["workgroup"][0] = 9;
  EXPECT_NE(checked(lines), "");
  lines = goodReport(32);
  lines.push_back(lineOf(lines, "access", 3)); // twice
  EXPECT_NE(checked(lines), "");
}

TEST(FadeProbe, WhatTheDispatchSaysIsChecked) {
  for (const auto &[key, value] : std::map<std::string, Json>{
           {"instrumented", false}, {"complete", false}, {"dropped", 3}, {"records", 7}}) {
    auto lines = goodReport(64);
    lineOf(lines, "dispatch")[key] = value;
    EXPECT_NE(checked(lines), "") << key;
  }
  auto lines = goodReport(64);
  lineOf(lines, "blocks")["blocks"][1]["executions"] = 47;
  EXPECT_NE(checked(lines), "");
  EXPECT_NE(checkRecords("not JSON\n", kPlaces), "");
  EXPECT_NE(checkRecords("", kPlaces), "");
}

} // namespace
} // namespace fade::doctor
