// --probe fade as a user would try it: right reports pass, and those with anything wrong do not.
#include "tree_file.h"

#include "doctor/user_probe.h"

#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fade::doctor {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const Json kDispatch = {{"type", "dispatch"},
                        {"instrumented", true},
                        {"complete", true},
                        {"start_ns", 1000},
                        {"end_ns", 2000}};

Json access(const char *op, int line, uint64_t lanes) {
  return {{"line", line},     {"column", 1},        {"op", op},
          {"lanes", lanes},   {"executions", 16},   {"total_bytes", 4 * lanes},
          {"lines_used", 32}, {"lines_needed", 32}, {"conflicts", 0}};
}

Json memory() {
  return {
      {"type", "memory"},
      {"global", {access("load", 8, 1024), access("load", 12, 5120), access("store", 13, 1024)}},
      {"lds", {access("store", 8, 1024), access("load", 10, 1024)}}};
}

Json blocks() {
  return {{"type", "blocks"},
          {"wave_size", 64},
          {"blocks",
           {{{"block", 0}, {"executions", 16}, {"lanes", 1024}, {"clocks", 900}},
            {{"block", 1}, {"executions", 80}, {"lanes", 5120}, {"clocks", 900}}}}};
}

std::string text(const Json &line, const Json &dispatch = kDispatch) {
  return line.dump() + "\n" + dispatch.dump() + "\n";
}

TEST(UserProbe, TakesARightReport) {
  EXPECT_EQ(checkMemory(text(memory())), "");
  EXPECT_EQ(compareMemory(text(memory()), text(memory())), "");
  EXPECT_EQ(checkCounts(text(blocks()), text(blocks())), "");
  EXPECT_EQ(checkClocks(text(blocks())), "");
}

TEST(UserProbe, SeesLanesThatAreMissing) {
  Json wrong = memory();
  wrong["global"][1]["lanes"] = 5119;
  EXPECT_EQ(checkMemory(text(wrong)), "6143 lanes of a global load, 6144 expected");
}

TEST(UserProbe, SeesAKernelThatDidNotRunInstrumented) {
  Json dispatch = kDispatch;
  dispatch["instrumented"] = false;
  EXPECT_EQ(checkMemory(text(memory(), dispatch)), "the kernel did not run instrumented");
}

TEST(UserProbe, SeesSumsThatDifferFromTheStream) {
  Json wrong = memory();
  wrong["global"][1]["lines_used"] = 31;
  EXPECT_EQ(compareMemory(text(wrong), text(memory())),
            "lines_used of the global load at line 12: 31 summed, 32 in the stream");
  wrong = memory();
  wrong["lds"].erase(1);
  EXPECT_EQ(compareMemory(text(wrong), text(memory())),
            "the stream has accesses that were not summed");
  EXPECT_EQ(compareMemory(text(memory()), text(wrong)),
            "the lds load at line 10 is not in the stream");
}

TEST(UserProbe, SeesWrongCounts) {
  Json wrong = blocks();
  wrong["blocks"][1]["executions"] = 79;
  EXPECT_EQ(checkCounts(text(wrong)), "no block was counted 80 times, as often as the loop runs");
  wrong = blocks();
  wrong["blocks"][0]["executions"] = 15;
  EXPECT_EQ(checkCounts(text(wrong), text(blocks())),
            "block 0 ran 16 times, and was counted 15 times");
}

TEST(UserProbe, SeesClocksThatDoNotFitIntoTheKernel) {
  Json wrong = blocks(); // as a counter of 20 bits gives that has wrapped
  wrong["blocks"][1]["clocks"] = uint64_t(0) - (1 << 20);
  EXPECT_EQ(checkClocks(text(wrong)).find("18446744073708503"), 0u) << checkClocks(text(wrong));
  wrong["blocks"][0].erase("clocks");
  wrong["blocks"][1].erase("clocks");
  EXPECT_EQ(checkClocks(text(wrong)), "no clocks were counted");
}

TEST(UserProbe, SaysWhatIsWrongWithAReportThatCannotBeRead) {
  EXPECT_EQ(checkMemory(""), "the report cannot be read: no line of type 'dispatch'");
  EXPECT_EQ(checkClocks("{").find("the report cannot be read: "), 0u);
}

class Compiler : public testing::Test {
protected:
  void program(const std::string &path) const {
    const fs::path at = folder_.path() + path;
    fs::create_directories(at.parent_path());
    std::ofstream(at) << "#!/bin/sh\n";
    fs::permissions(at, fs::perms(0755));
  }
  std::string found(const std::string &path, const std::string &rocm = "") const {
    const std::string at = findHipCompiler(path, rocm, folder_.path());
    return at.empty() ? at : at.substr(folder_.path().size());
  }
  test::Folder folder_;
};

TEST_F(Compiler, IsHipccInPathBeforeThatOfRocm) {
  program("/opt/rocm/bin/hipcc");
  EXPECT_EQ(found("/usr/bin"), "/opt/rocm/bin/hipcc");
  program("/usr/bin/hipcc");
  EXPECT_EQ(found("/usr/local/bin:/usr/bin"), "/usr/bin/hipcc");
}

TEST_F(Compiler, IsThatOfTheNewestRocmBelowOpt) {
  program("/opt/rocm/core-10.0/bin/hipcc");
  program("/opt/rocm/core-10.1/bin/hipcc");
  EXPECT_EQ(found("/usr/bin"), "/opt/rocm/core-10.1/bin/hipcc");
  program("/home/me/rocm/bin/hipcc");
  EXPECT_EQ(found("", "/home/me/rocm"), "/home/me/rocm/bin/hipcc");
}

TEST_F(Compiler, IsTheNewestClangWhereThereIsNoHipcc) {
  program("/usr/bin/clang++-19");
  program("/usr/bin/clang++-18");
  EXPECT_EQ(found("/usr/bin"), "/usr/bin/clang++-19");
  EXPECT_EQ(found("/bin"), "");
}

} // namespace
} // namespace fade::doctor
