// What ran where, and names that fit: what each report says of itself.
#include "dispatch/argument_list.h"
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
  EXPECT_NE(software.find("instructions executed by waves"), std::string::npos) << software;
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

} // namespace
} // namespace fade
