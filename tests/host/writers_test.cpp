#include "fade/csv_writer.h"
#include "fade/json_writer.h"
#include "fade/options.h"
#include "stream/output.h"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <unistd.h>

namespace fade {
namespace {

using nlohmann::json;

TEST(Json, EveryStringOfBytesBecomesValidJson) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string text(random() % 12, '\0');
    for (char &c : text) c = static_cast<char>(random());
    JsonWriter writer;
    writer.object([&] { writer.field("x", text); });
    ASSERT_TRUE(json::accept(writer.text())) << writer.text();
  }
}

TEST(Json, Utf8StringsComeBackUnchanged) {
  for (const std::string text : {"", "plain", "\"quoted\\\"", "\x01\x1f\x7f\n\t", "\xc3\xa4",
                                 "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xef\xbf\xbd"}) {
    JsonWriter writer;
    writer.object([&] { writer.field("x", text); });
    EXPECT_EQ(json::parse(writer.text())["x"].get<std::string>(), text);
  }
}

TEST(Json, WhatIsNotUtf8IsReplaced) {
  for (const std::string text : {"\x80", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80",
                                 "\xe2\x82"}) { // lone, overlong, surrogate, too large, cut short
    JsonWriter writer;
    writer.object([&] { writer.field("x", text); });
    const auto back = json::parse(writer.text())["x"].get<std::string>();
    EXPECT_EQ(back.find("\xef\xbf\xbd"), 0u);
  }
}

TEST(Json, NestingAndNumbersAreRight) {
  JsonWriter writer;
  writer.object([&] {
    writer.field("min", std::numeric_limits<int64_t>::min());
    writer.field("max", std::numeric_limits<uint64_t>::max());
    writer.field("half", 0.5);
    writer.field("nan", std::numeric_limits<double>::quiet_NaN());
    writer.field("yes", true);
    writer.field("none", nullptr);
    writer.list("empty", [] {});
    writer.list("list", [&] {
      writer.value(1);
      writer.object([&] { writer.field("a", 2); });
      writer.object([&] { writer.field("b", 3); });
    });
    writer.object("object", [&] { writer.field("c", "d"); });
    writer.field("last", 4);
  });
  writer.object([&] { writer.field("second", 1); });
  std::istringstream lines(writer.text());
  std::string first, second;
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_EQ(json::parse(first), json::parse(R"({"min":-9223372036854775808,
    "max":18446744073709551615,"half":0.5,"nan":null,"yes":true,"none":null,"empty":[],
    "list":[1,{"a":2},{"b":3}],"object":{"c":"d"},"last":4})"));
  EXPECT_EQ(json::parse(second), json::parse(R"({"second":1})"));
}

TEST(Csv, FieldsWithCommasQuotesAndNewlinesAreQuoted) {
  CsvWriter csv;
  csv.row("plain", "a,b", "say \"x\"", "two\nlines", 5, -1);
  EXPECT_EQ(csv.take(), "plain,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",5,-1\n");
}

TEST(Sizes, UnitsAreBinaryAndOverflowIsRefused) {
  EXPECT_EQ(parseSize("4096"), 4096u);
  EXPECT_EQ(parseSize("4K"), 4096u);
  EXPECT_EQ(parseSize("1m"), 1u << 20);
  EXPECT_EQ(parseSize("2GiB"), uint64_t{2} << 30);
  EXPECT_EQ(parseSize("8B"), 8u);
  for (const char *bad : {"", "K", "-1", "1.5K", "4X", "4KK", "99999999999G"})
    EXPECT_FALSE(parseSize(bad)) << bad;
}

TEST(Output, WritesWholeReportToItsFile) {
  const std::string path = ::testing::TempDir() + "output-%p";
  { Output(path, Format::json).write("{\"a\":1}\n"); }
  std::ifstream in(::testing::TempDir() + "output-" + std::to_string(getpid()));
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  EXPECT_EQ(line, "{\"a\":1}");
}

TEST(Output, AFileThatCannotBeOpenedIsNamedAndStderrIsUsed) {
  ::testing::internal::CaptureStderr();
  { Output("/no/such/place", Format::text).write("report\n"); }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "fade: cannot open /no/such/place: No such file or directory; the report goes to "
            "stderr\nreport\n");
}

TEST(Output, AFullDiskIsSaidOnceAndHarmsNothing) {
  ::testing::internal::CaptureStderr();
  {
    Output output("/dev/full", Format::text);
    for (int i = 0; i < 3; ++i) {
      output.write("report\n");
      output.flush();
    }
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "fade: cannot write the report to /dev/full: No space left on device\n");
}

TEST(Output, APipeThatNobodyReadsRaisesNoSignal) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string path = "/proc/self/fd/" + std::to_string(ends[1]);
  ::testing::internal::CaptureStderr();
  {
    Output output(path, Format::text);
    close(ends[0]);
    output.write("report\n"); // SIGPIPE would end this program
  }
  close(ends[1]);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("Broken pipe"), std::string::npos);
}

} // namespace
} // namespace fade
