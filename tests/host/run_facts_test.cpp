// What ran where, and names that fit: what each report says of itself.
#include "base/shell_text.h"
#include "dispatch/argument_list.h"
#include "dispatch/blit_kernel.h"
#include "fade/kernel_name.h"
#include "stream/dispatch_log.h"
#include "stream/run_facts.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fade {
namespace {

RunFacts example() {
  RunFacts facts;
  facts.fade = "1.2.3";
  facts.runtime = "1.14";
  facts.command = "./app 'a b'";
  facts.date = "2026-11-16T15:20:00Z";
  facts.process = 42;
  facts.options = {"--sample 8"};
  facts.gpus = {{1, "gfx90a", "", true}, {2, "gfx90a", "", true}};
  return facts;
}

std::span<const std::byte> bytesOf(const std::string &text) {
  return std::as_bytes(std::span(text));
}

TEST(RunFacts, AreTheSameAfterARecording) {
  trace::Writer w;
  example().write(w);
  const auto read = RunFacts::read(trace::Reader(bytesOf(w.bytes())));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->json(), example().json());
  for (std::size_t size = 0; size < w.bytes().size(); ++size)
    EXPECT_FALSE(RunFacts::read(trace::Reader(bytesOf(w.bytes()).first(size)))) << size;
}

TEST(RunFacts, SayThatItWasTheSoftwareGpu) {
  const RunFacts facts = example();
  EXPECT_TRUE(facts.inSoftware());
  EXPECT_EQ(facts.gpuText(), "2 x gfx90a (software GPU)");
  EXPECT_EQ(facts.text(), "ran on 2 x gfx90a (software GPU); FADE 1.2.3, ROCr 1.14; "
                          "2026-11-16T15:20:00Z\n./app 'a b' | options: --sample 8\n");
  const auto json = nlohmann::json::parse(facts.json());
  EXPECT_EQ(json["gpus"][0]["software"], true);
}

TEST(RunFacts, ACommandIsQuotedAsAShellTakesIt) {
  EXPECT_EQ(shellText({"./a", "x y", "it's", ""}), "./a 'x y' 'it'\\''s' ''");
}

std::string durationsOf(bool in_software) {
  Output output(Format::text);
  DispatchLog log(output);
  DispatchRecord record;
  record.setKernel(std::make_shared<KernelInfo>(KernelIdentity{0, "k()", "k", "gfx90a"}, nullptr));
  record.setVariant(std::make_shared<std::string>("/some/where/other_version.hsaco"));
  record.view.flags = FADE_DISPATCH_HAS_TIMES;
  record.view.end_ns = 5'000'000;
  if (in_software) {
    record.view.flags |= FADE_DISPATCH_IN_SOFTWARE | FADE_DISPATCH_HAS_INSTRUCTIONS;
    record.view.wave_instructions = 1234;
  }
  log.dispatch(record);
  log.report();
  return output.collected();
}

TEST(DispatchLogInSoftware, ShowsInstructionsAndNoTimes) {
  const std::string real = durationsOf(false), software = durationsOf(true);
  EXPECT_NE(real.find("5000.0 us"), std::string::npos) << real;
  EXPECT_EQ(software.find(" us"), std::string::npos) << software;
  EXPECT_NE(software.find("1234"), std::string::npos) << software;
  EXPECT_NE(software.find("instructions executed, counted once per wave"), std::string::npos)
      << software;
}

TEST(KernelName, LeavesOutParametersThenTemplateArgumentsAndStaysDistinct) {
  EXPECT_EQ(shortKernelName("void f<int>(float*)", 40), "void f<int>(float*)");
  EXPECT_EQ(shortKernelName("void f<int>(float*, some_long_type, other)", 20), "f<int>(...)");
  std::string deep = "void sort<";
  for (int i = 0; i < 400; ++i) deep += "policy<value<" + std::to_string(i) + ">>, ";
  const std::string a = shortKernelName(deep + "first>(int)", 40);
  const std::string b = shortKernelName(deep + "second>(int)", 40);
  EXPECT_LE(a.size(), 40u);
  EXPECT_TRUE(a.starts_with("sort<...>(...) #")) << a;
  EXPECT_NE(a, b);
  EXPECT_LE(shortKernelName(std::string(10'000, 'x'), 30).size(), 30u);
  EXPECT_EQ(shortKernelName("a\033[31mb", 30), "a?[31mb");
  EXPECT_EQ(shortKernelName("void (anonymous namespace)::f(int, a_long_type_name_here)", 36),
            "(anonymous namespace)::f(...)");
}

TEST(KernelArguments, TypesComeFromTheName) {
  EXPECT_EQ(parameterTypes("void f<a(b, c)>(float const*, pair<int, int>, void (*)(int, int))"),
            (std::vector<std::string>{"float const*", "pair<int, int>", "void (*)(int, int)"}));
  EXPECT_TRUE(parameterTypes("f(void)").empty());
  EXPECT_TRUE(parameterTypes("f").empty());
}

/// A kernel of HIP's own: its arguments by name and size, and the words of a dispatch, one after
/// the other. Arguments of 32 bytes are aligned.
struct Blitted {
  std::string name;
  std::vector<std::pair<std::string, uint32_t>> arguments;
  std::vector<uint64_t> words;

  std::optional<Blit> read(std::size_t cut = 0) const {
    codeobj::KernelMetadata kernel;
    kernel.name = "__amd_rocclr_" + name;
    uint32_t at = 0;
    for (const auto &[argument, size] : arguments) {
      at = (at + size - 1) / size * size;
      codeobj::KernelArg &one = kernel.args.emplace_back();
      one.name = argument;
      one.offset = at;
      one.size = size;
      at += size;
    }
    const auto blit = BlitKernel::of(kernel);
    if (!blit) return std::nullopt;
    const auto block = std::as_bytes(std::span(words)).first(blit->argumentBytes() - cut);
    return blit->read(block);
  }
};

/// As HIP 5.2.3 (four pointers, words), 6.4.3 and 7.2.4 made them.
const std::vector<std::pair<std::string, uint32_t>> kOldFill = {
    {"bufUChar", 8}, {"bufUShort", 8},   {"bufUInt", 8}, {"bufULong", 8},
    {"pattern", 8},  {"patternSize", 4}, {"offset", 8},  {"size", 8}};
const std::vector<std::pair<std::string, uint32_t>> kRows = {
    {"bufUChar", 8},    {"bufUShort", 8}, {"bufUInt", 8}, {"bufULong", 8}, {"pattern", 8},
    {"patternSize", 4}, {"offset", 8},    {"width", 8},   {"height", 8},   {"pitch", 8}};
const std::vector<std::pair<std::string, uint32_t>> kFill = {
    {"buf", 8},       {"pattern", 8}, {"pattern_size", 4},
    {"alignment", 4}, {"end_ptr", 8}, {"next_chunk", 4}};
const std::vector<std::pair<std::string, uint32_t>> kOldCopy = {
    {"srcI", 8}, {"dstI", 8}, {"srcOrigin", 8}, {"dstOrigin", 8}, {"size", 8}, {"remain", 4}};
const std::vector<std::pair<std::string, uint32_t>> kCopy = {
    {"src", 8}, {"dst", 8}, {"size", 8}, {"remainder", 4}, {"aligned_size", 4}, {"end_ptr", 8}};
const std::vector<std::pair<std::string, uint32_t>> kBox = {
    {"src", 8}, {"dst", 8}, {"srcRect", 32}, {"dstRect", 32}, {"size", 32}};

TEST(BlitKernel, SaysWhatItCopiesAndFills) {
  const struct {
    Blitted of;
    Blit expected;
  } cases[] = {
      {{"fillBufferAligned", kOldFill, {0, 0, 0, 0x1000, 1, 1, 1, 0x30d8}}, {0x1008, 0, 100032}},
      {{"fillBufferAligned", kOldFill, {0, 0x1000, 0, 0, 1, 1, 0x3e8, 1}}, {0x17d0, 0, 2}},
      {{"fillBufferAligned", kOldFill, {0x1000, 0, 0, 0, 1, 1, 0x410, 3}}, {0x1410, 0, 3}},
      {{"fillBufferAligned", kFill, {0x1010, 1, 1, 0x1413, 256}}, {0x1010, 0, 0x403}},
      {{"fillBufferAligned2D", kRows, {0x1000, 0, 0, 0, 1, 1, 0x500, 37, 5, 256}},
       {0x1500, 0, 185}},
      {{"copyBuffer", kOldCopy, {0x1000, 0x9000, 0, 1, 0x61a9, 3}}, {0x9001, 0x1000, 100003}},
      {{"copyBuffer", kOldCopy, {0x1000, 0x9000, 0, 0, 0xfb, 0}}, {0x9000, 0x1000, 1000}},
      {{"copyBuffer", kCopy, {0x1000, 0x9000, 1001, 1, 0x9000}}, {0x9000, 0x1000, 1001}},
      {{"copyBufferRectAligned", kBox, {1, 2, 0, 0, 50, 500, 0, 0, 64, 640, 0, 0, 25, 10, 1, 4}},
       {2, 1, 1000}},
      {{"copyBufferRect", kBox, {1, 2, 0, 0, 203, 0, 0, 0, 256, 0, 0, 0, 101, 11, 1, 1}},
       {2, 1, 1111}},
  };
  for (const auto &[of, expected] : cases) {
    const auto blit = of.read();
    ASSERT_TRUE(blit) << of.name;
    EXPECT_EQ(std::tie(blit->to, blit->from, blit->bytes),
              std::tie(expected.to, expected.from, expected.bytes))
        << of.name;
    EXPECT_FALSE(of.read(1)) << of.name; // cut off
  }
}

TEST(BlitKernel, WhatIsNotKnownIsNotSaid) {
  EXPECT_FALSE((Blitted{"fillBufferAligned", kCopy, {1, 2, 3, 4, 5}}.read()));
  EXPECT_FALSE((Blitted{"gwsInit", kCopy, {1, 2, 3, 4, 5}}.read()));
  EXPECT_FALSE((Blitted{"copyBufferAligned", kOldCopy, {1, 2, 3, 4, 5, 6}}.read()));
  // What cannot be: an end before the beginning, no address, no size, more bytes than there are.
  EXPECT_FALSE((Blitted{"fillBufferAligned", kFill, {0x1010, 1, 1, 0x1000, 256}}.read()));
  EXPECT_FALSE((Blitted{"fillBufferAligned", kOldFill, {0, 0, 0, 0, 1, 1, 1, 1}}.read()));
  EXPECT_FALSE((Blitted{"copyBuffer", kOldCopy, {1, 2, 0, 0, 0, 0}}.read()));
  const uint64_t most = UINT64_MAX;
  EXPECT_FALSE((
      Blitted{"copyBufferRect", kBox, {1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, most, 2, 1, 1}}.read()));
}

TEST(BlitKernel, ArgumentsBehindTheEndOfAllOffsetsAreRefused) {
  codeobj::KernelMetadata kernel;
  kernel.name = "__amd_rocclr_fillBufferAligned";
  for (const char *name : {"buf", "end_ptr"}) {
    codeobj::KernelArg arg;
    arg.name = name;
    arg.offset = UINT32_MAX - 3;
    arg.size = 8;
    kernel.args.push_back(arg);
  }
  EXPECT_FALSE(BlitKernel::of(kernel));
}

} // namespace
} // namespace fade
