// fadeprobe inspect as people and scripts use it.
#include "support.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

namespace fade::codeobj {
namespace {

struct Outcome {
  int status;
  std::string out, err;
};

Outcome inspect(const std::string &arguments) {
  std::string out = testing::temporary_file("out"), err = testing::temporary_file("err");
  int status =
      std::system(fmt::format("{} inspect {} >{} 2>{}", FADE_PROBE, arguments, out, err).c_str());
  auto text = [](const std::string &path) {
    return std::string(asText(testing::contents_of(path)));
  };
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text(out), text(err)};
}

/// Columns on a terminal: UTF-8 continuation bytes take none.
std::size_t columns(const std::string &line) {
  return static_cast<std::size_t>(
      std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::vector<nlohmann::json> json_lines(const std::string &text) {
  std::vector<nlohmann::json> lines;
  for (const std::string &line : testing::lines_of(text))
    lines.push_back(nlohmann::json::parse(line));
  return lines;
}

TEST(Inspect, PrintsATablePerKernelThatFitsAHundredColumns) {
  Outcome run = inspect(testing::data_file("triton") + " " + testing::built_file("libfat.so"));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.err, "");
  for (const char *fact : {"matmul_f16", "gfx942", "VGPR 72 + AGPR 16 (88 allocated)",
                           "5 of 8 waves per SIMD, limited by VGPRs; 5 workgroups of 4 waves",
                           "first_of_one(int*)", "_Z12first_of_onePi.kd"})
    EXPECT_NE(run.out.find(fact), std::string::npos) << fact;
  for (const std::string &line : testing::lines_of(run.out)) EXPECT_LE(columns(line), 100u) << line;
}

TEST(Inspect, ListingsFitAHundredColumnsUnlessAnInstructionIsLongItself) {
  Outcome run = inspect(testing::sample("inlined-gfx90a-g") + " --isa --source");
  EXPECT_EQ(run.status, 0) << run.err;
  std::size_t instructions = 0;
  for (const std::string &line : testing::lines_of(run.out)) {
    std::size_t start = line.find_first_not_of(' ');
    if (start == std::string::npos ||
        line.find_first_not_of("0123456789abcdef", start) != start + 6)
      continue;
    ++instructions;
    // The text has a column of its own; only what is longer than that may push the rest to the
    // right.
    bool long_text =
        line.size() > start + 50 && line.substr(start + 8, 43).find("  ") == std::string::npos;
    if (!long_text) {
      EXPECT_LE(columns(line), 100u) << line;
    }
  }
  EXPECT_GT(instructions, 100u);
}

TEST(Inspect, KernelExpressionMatchesMangledAndDemangledNames) {
  std::string file = testing::sample("arguments-gfx90a-v5");
  for (const char *expression : {"templated<float>", "IfEvPKT_"}) {
    Outcome run = inspect(fmt::format("{} -k '{}'", file, expression));
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.out.find("templated<float>"), std::string::npos);
    EXPECT_EQ(run.out.find("templated<double>"), std::string::npos);
  }
}

TEST(Inspect, TargetChoosesAmongTheBundle) {
  Outcome run = inspect(testing::built_file("libfat.so") + " -t gfx1030");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.out.find("gfx90a"), std::string::npos);
  EXPECT_NE(run.out.find("gfx1030"), std::string::npos);
}

TEST(Inspect, IsaShowsBlocksClassesAndLines) {
  Outcome run = inspect(testing::sample("inlined-gfx90a-g") + " -k '^copy_four$' --isa");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.out.find("block 0 -> end"), std::string::npos) << run.out;
  bool load = false;
  for (const std::string &line : testing::lines_of(run.out))
    load |= line.find("global_load_dwordx4") != std::string::npos &&
            line.find("global load 16 B") != std::string::npos;
  EXPECT_NE(run.out.find("inlined.hip:38"), std::string::npos) << run.out;
  EXPECT_TRUE(load) << run.out;
}

TEST(Inspect, SourceShowsTheInstructionsBeneathTheirLine) {
  Outcome run = inspect(testing::sample("inlined-gfx90a-g") + " -k '^copy_four$' --source");
  EXPECT_EQ(run.status, 0) << run.err;
  std::size_t line = run.out.find("38 |   float a = in[i], b = in[i + 1]");
  std::size_t load = run.out.find("global_load_dwordx4"), next = run.out.find("39 |   out[i] = a");
  ASSERT_NE(line, std::string::npos) << run.out;
  EXPECT_LT(line, load);
  EXPECT_LT(load, next);
}

TEST(Inspect, SourceThatIsNotHereIsSaidSo) {
  Outcome run = inspect(testing::data_file("triton/gfx90a/vector_add.hsaco") + " --source");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.out.find("triton_kernels.py (file not found)"), std::string::npos) << run.out;
  Outcome none = inspect(testing::sample("inlined-gfx90a-nodebug") + " --source");
  EXPECT_NE(none.out.find("no line tables"), std::string::npos);
}

TEST(Inspect, JsonHasOneObjectPerLineWithEverything) {
  Outcome run = inspect(testing::sample("inlined-gfx90a-g") + " --json");
  EXPECT_EQ(run.status, 0) << run.err;
  auto lines = json_lines(run.out);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].at("type"), "code_object");
  EXPECT_EQ(lines[0].at("target").at("id"), "gfx90a");
  EXPECT_EQ(lines[0].at("code_object_version"), 5);
  for (const auto &line : lines) EXPECT_EQ(line.at("version"), 1) << line;
  const nlohmann::json *copy = nullptr;
  for (const auto &line : lines)
    if (line.value("name", "") == "copy_four") copy = &line;
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->at("metadata").at("arguments").at(0).at("kind"), "global_buffer");
  EXPECT_EQ(copy->at("kernargs").at("control_offset"), 16);
  EXPECT_EQ(copy->at("occupancy").at("max_waves_per_simd"), 8);
  EXPECT_EQ(copy->at("code").at("lane_bytes").at("vmem_loaded"), 16);
  std::size_t instructions = 0;
  for (const auto &block : copy->at("code").at("blocks"))
    for (const auto &instruction : block.at("instructions")) {
      ++instructions;
      EXPECT_FALSE(instruction.at("source").empty());
    }
  EXPECT_GT(instructions, 5u);
  EXPECT_GE(copy->at("code").at("line_accesses").size(), 1u);
}

TEST(Inspect, OneLineSaysWhatIsWrong) {
  Outcome missing = inspect("/no/such/file");
  EXPECT_EQ(missing.status, 1);
  EXPECT_EQ(missing.err,
            "fadeprobe inspect: /no/such/file: cannot open: No such file or directory\n");
  Outcome host = inspect("/bin/sh");
  EXPECT_EQ(host.status, 1);
  EXPECT_EQ(host.err, "fadeprobe inspect: no AMD GPU code found\n");
  Outcome nothing = inspect(testing::data_file("triton/gfx90a/matmul.hsaco") + " -k nobody");
  EXPECT_EQ(nothing.status, 1);
  EXPECT_EQ(nothing.err, "fadeprobe inspect: no kernel matches\n");
  Outcome regex = inspect("/bin/sh -k '('");
  EXPECT_EQ(regex.status, 2);
  EXPECT_NE(regex.err.find("'(' is not a regular expression"), std::string::npos);
  Outcome target = inspect("/bin/sh -t sm_80");
  EXPECT_EQ(target.status, 2);
  EXPECT_EQ(target.err, "fadeprobe inspect: 'sm_80' is not a known processor\n");
  Outcome empty = inspect("");
  EXPECT_EQ(empty.status, 2);
}

TEST(Inspect, BrokenFilesEndInAnErrorLineAndNotInACrash) {
  auto bytes = testing::contents_of(testing::sample("inlined-gfx90a-g"));
  std::string path = testing::temporary_file("cut.hsaco");
  for (std::size_t size : {10ul, 100ul, 1000ul, bytes.size() - 1}) {
    testing::write_file(path, ByteView(bytes).first(size));
    Outcome run = inspect(path + " --isa --source");
    EXPECT_EQ(run.status, 1) << size;
    EXPECT_TRUE(run.err.starts_with("fadeprobe inspect: ")) << run.err;
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  }
}

TEST(Inspect, JsonReportsErrorsAsObjects) {
  auto bytes = testing::contents_of(testing::sample("inlined-gfx90a-g"));
  std::string path = testing::temporary_file("cut.hsaco");
  testing::write_file(path, ByteView(bytes).first(1000));
  Outcome run = inspect(path + " --json");
  EXPECT_EQ(run.status, 1);
  auto lines = json_lines(run.out);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].at("type"), "error");
  EXPECT_EQ(lines[0].at("file"), path);
}

TEST(Inspect, ControlCharactersInNamesDoNotReachTheTerminal) {
  auto bytes = testing::contents_of(testing::sample("inlined-gfx90a-g"));
  std::string_view text = asText(bytes);
  // In every string table and in the metadata: "nested" becomes an escape sequence.
  for (std::size_t at = text.find("nested"); at != std::string_view::npos;
       at = text.find("nested", at + 1))
    std::memcpy(bytes.data() + at, "\x1b[31mX", 6);
  std::string path = testing::temporary_file("escape.hsaco");
  testing::write_file(path, bytes);
  Outcome run = inspect(path + " --isa");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out.find('\x1b'), std::string::npos);
  EXPECT_NE(run.out.find("?[31mX"), std::string::npos);
}

} // namespace
} // namespace fade::codeobj
