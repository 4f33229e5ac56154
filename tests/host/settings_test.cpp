#include "base/diagnostics.h"
#include "base/selection.h"
#include "base/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <unistd.h>

namespace fade {
namespace {

struct Read {
  Settings settings;
  std::vector<std::string> complaints;
};
Read readFrom(const std::map<std::string, std::string> &variables) {
  std::vector<std::string> names;
  for (const auto &[name, value] : variables) names.push_back(name);
  Read read;
  read.settings = readSettings(
      [&](const char *name) -> const char * {
        const auto at = variables.find(name);
        return at == variables.end() ? nullptr : at->second.c_str();
      },
      names, read.complaints);
  return read;
}
std::string complaintAbout(const std::string &name, const std::string &value) {
  const auto read = readFrom({{name, value}});
  return read.complaints.size() == 1 ? read.complaints[0] : "";
}

TEST(Settings, AnEmptyEnvironmentMeansDurationsOnly) {
  const auto read = readFrom({});
  EXPECT_TRUE(read.complaints.empty());
  EXPECT_FALSE(read.settings.instrumented);
  EXPECT_TRUE(read.settings.handlers.empty());
  EXPECT_EQ(read.settings.memory, uint64_t{256} << 20);
  EXPECT_EQ(read.settings.log_location, "console");
}

TEST(Settings, EveryVariableIsRead) {
  const auto read =
      readFrom({{"FADE_INSTRUMENTED", "true"},  {"FADE_HANDLERS", "Heatmap:page=1M;/x/libMine.so"},
                {"FADE_KERNELS", "vadd|saxpy"}, {"FADE_LIBRARY_FILTER", "!/librocblas"},
                {"FADE_DISPATCHES", "2-5"},     {"FADE_SEED", "17"},
                {"FADE_KERNEL_CACHE", "/a:/b"}, {"FADE_LOG_LOCATION", "/tmp/x.%p"},
                {"FADE_LOG_APPEND", "yes"},     {"FADE_LOG_FORMAT", "json"},
                {"FADE_VERBOSE", "1"},          {"FADE_WORKGROUPS", "x=1-3,z=7"},
                {"FADE_SAMPLE", "4"},           {"FADE_SAMPLE_EXECUTIONS", "8"},
                {"FADE_RECORD", "/tmp/t"},      {"FADE_TRACE", "/tmp/events"},
                {"FADE_TRACE_API", "memory"},   {"FADE_TRACE_START", "off"},
                {"FADE_TRACE_FORMAT", "rpd2"},  {"FADE_TRACE_FLUSH", "3"},
                {"FADE_TRACE_STACKS", "17"},    {"FADE_TRACE_LIBRARIES", "on"},
                {"FADE_CORRECT", "properties"}, {"FADE_CAPTURE", "/tmp/captures"},
                {"FADE_CAPTURE_LIMIT", "3"},    {"FADE_CAPTURE_REACHABLE", "on"},
                {"FADE_MEMORY", "64M"},         {"FADE_LOSSY", "on"},
                {"FADE_STREAM", "on"},          {"FADE_TRANSPORT", "device"},
                {"FADE_OBSERVE", "gpu"},        {"FADE_EXPLAIN", "off"},
                {"FADE_DEATHS", "/tmp/deaths"}, {"FADE_ALLOC", "coarse:min=1M,caller=a,b;host:x"},
                {"FADE_PROGRESS", "no"},        {"FADE_WORKERS", "3"},
                {"FADE_PATIENCE", "2.5"},       {"FADE_CAPTURE_SIZE", "2G"},
                {"FADE_OTHER_TOOLS", "keep"},   {"FADE_RANKS", "0,7,16-31"}});
  EXPECT_TRUE(read.complaints.empty());
  const Settings &s = read.settings;
  EXPECT_TRUE(s.instrumented && s.verbose && s.lossy && s.stream && s.log_append);
  EXPECT_TRUE(s.keeps_other_tools);
  EXPECT_FALSE(s.progress);
  EXPECT_EQ(s.transport, Transport::device);
  EXPECT_EQ(s.observe, Observe::gpu);
  ASSERT_EQ(s.handlers.size(), 2u);
  EXPECT_EQ(s.handlers[0].name, "Heatmap");
  EXPECT_EQ(s.handlers[0].options, "page=1M");
  EXPECT_EQ(s.handlers[1].name, "/x/libMine.so");
  EXPECT_EQ(s.kernels, "vadd|saxpy");
  EXPECT_EQ(s.library_filter, "!/librocblas");
  EXPECT_EQ(s.dispatches.first, 2u);
  EXPECT_EQ(s.dispatches.last, 5u);
  EXPECT_EQ(s.seed, 17u);
  EXPECT_EQ(s.cache, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(s.log_format, Format::json);
  EXPECT_EQ(s.workgroups.first, (std::array<uint32_t, 3>{1, 0, 7}));
  EXPECT_EQ(s.workgroups.last, (std::array<uint32_t, 3>{3, UINT32_MAX, 7}));
  EXPECT_EQ(s.workgroups.sample, 4u);
  EXPECT_EQ(s.workgroups.sample_executions, 8u);
  EXPECT_EQ(s.ranks, "0,7,16-31");
  EXPECT_EQ(s.trace, "/tmp/events");
  EXPECT_EQ(s.trace_api, "memory");
  EXPECT_FALSE(s.trace_starts_on);
  EXPECT_EQ(s.trace_format, "rpd2");
  EXPECT_EQ(s.trace_flush, 3u);
  EXPECT_EQ(s.trace_stacks, 17u);
  EXPECT_TRUE(s.trace_libraries && s.correct_properties);
  EXPECT_EQ(s.capture, "/tmp/captures");
  EXPECT_EQ(s.capture_limit, 3u);
  EXPECT_TRUE(s.capture_reachable);
  EXPECT_EQ(s.capture_size, uint64_t{2} << 30);
  EXPECT_EQ(s.memory, uint64_t{64} << 20);
  EXPECT_EQ(s.workers, 3u);
  EXPECT_EQ(s.patient(std::chrono::milliseconds(100)), std::chrono::milliseconds(250));
  EXPECT_FALSE(s.explain);
  EXPECT_EQ(s.deaths, "/tmp/deaths");
  ASSERT_EQ(s.allocations.size(), 2u);
  EXPECT_EQ(s.allocations[0].place, AllocationPlace::coarse);
  EXPECT_EQ(s.allocations[0].least, uint64_t{1} << 20);
  EXPECT_EQ(s.allocations[0].caller, "a,b");
  EXPECT_EQ(s.allocations[1].place, AllocationPlace::host);
  EXPECT_EQ(s.allocations[1].caller, "x");
  EXPECT_EQ(variables().size(), 40u) << "a new variable belongs in this test";
}

TEST(Settings, AMistakeIsOneLineWithTheNearestRightWord) {
  EXPECT_EQ(complaintAbout("FADE_LOG_FORMAT", "jason"),
            "FADE_LOG_FORMAT: 'jason' is none of text, json and csv (did you mean 'json'?)");
  EXPECT_EQ(complaintAbout("FADE_HANDLERS", "MemoryAnalisis"),
            "FADE_HANDLERS: unknown analyzer 'MemoryAnalisis' (did you mean "
            "'MemoryAnalysis'?)");
  EXPECT_EQ(complaintAbout("FADE_INSTRUMENTED", "maybe"),
            "FADE_INSTRUMENTED: 'maybe' is neither true nor false");
  EXPECT_EQ(complaintAbout("FADE_DISPATCHES", "rnadom"),
            "FADE_DISPATCHES: 'rnadom' is none of all, random, random:N, N and A-B (did you mean "
            "'random'?)");
  EXPECT_EQ(complaintAbout("FADE_KERNELZ", "x"),
            "unknown variable FADE_KERNELZ (did you mean 'FADE_KERNELS'?)");
  for (const auto &[name, value] : std::map<std::string, std::string>{{"FADE_KERNELS", "a("},
                                                                      {"FADE_DISPATCHES", "0"},
                                                                      {"FADE_DISPATCHES", "5-2"},
                                                                      {"FADE_WORKGROUPS", "w=1"},
                                                                      {"FADE_WORKGROUPS", "x=5-1"},
                                                                      {"FADE_MEMORY", "12"},
                                                                      {"FADE_MEMORY", "lots"},
                                                                      {"FADE_SAMPLE", "0"},
                                                                      {"FADE_WORKERS", "65"}})
    EXPECT_NE(complaintAbout(name, value), "") << name << "=" << value;
}

TEST(Settings, StacksAreANumberOfFramesOrTheUsualOne) {
  const auto frames = [](const char *value) {
    return readFrom({{"FADE_TRACE_STACKS", value}}).settings.trace_stacks;
  };
  EXPECT_EQ(frames("1"), 1u);
  EXPECT_EQ(frames("128"), 128u);
  EXPECT_EQ(frames("0"), 0u);
  EXPECT_EQ(frames("on"), frames("true"));
  EXPECT_GT(frames("on"), 1u);
  EXPECT_EQ(frames("off"), 0u);
  EXPECT_EQ(complaintAbout("FADE_TRACE_STACKS", "129"),
            "FADE_TRACE_STACKS: '129' is neither true nor false nor a number of frames up to 128");
}

TEST(Settings, OtherPeoplesVariablesAreNotComplainedAbout) {
  EXPECT_TRUE(readFrom({{"FADE_GPU", "gfx90a"}, {"FADE_INSTRUMENT", "x"}, {"FADE_WHATEVER", "x"}})
                  .complaints.empty());
}

TEST(Settings, HandlersAreSeparatedByCommasBlanksAndSemicolons) {
  const auto names = [](std::string_view text) {
    std::string all;
    for (const auto &choice : parseHandlers(text)) all += choice.name + "(" + choice.options + ")";
    return all;
  };
  EXPECT_EQ(names("A,B"), "A()B()");
  EXPECT_EQ(names("A B;C"), "A()B()C()");
  EXPECT_EQ(names("A,B:x=1,y=2;C"), "A()B(x=1,y=2)C()");
  EXPECT_EQ(names("/a:b/libX.so:k=v"), "/a:b/libX.so(k=v)");
  EXPECT_EQ(names(" ;; "), "");
}

TEST(Settings, BehindABackslashACharacterOfAHandlerIsItself) {
  const auto only = [](std::string_view text) {
    const auto all = parseHandlers(text);
    return all.size() == 1 ? all[0].name + "|" + all[0].options : "";
  };
  EXPECT_EQ(only(R"(/my\ project/libX.so)"), "/my project/libX.so|");
  EXPECT_EQ(only(R"(Heatmap:svg=/a\ b/c\;d.svg)"), "Heatmap|svg=/a b/c;d.svg");
  EXPECT_EQ(only(R"(/a\,b\:c\\/libX.so:k=v)"), R"(/a,b:c\/libX.so|k=v)");
  EXPECT_EQ(only("A\\"), "A\\|"); // behind the last one there is nothing
}

TEST(Settings, HandlersThatAreJoinedAreReadBackAsTheyWere) {
  const std::vector<HandlerChoice> choices = {{"Heatmap", "page=1M,svg=/a b/c;d:e.svg"},
                                              {"/my project,x/a:b/libX.so", ""},
                                              {"/tab\there\\libY.so", "k=v\\,l"},
                                              {"/no/suffix:here", "k=v"},
                                              {"MemoryAnalysis", ""}};
  const auto again = parseHandlers(joinHandlers(choices));
  ASSERT_EQ(again.size(), choices.size()) << joinHandlers(choices);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    EXPECT_EQ(again[i].name, choices[i].name);
    EXPECT_EQ(again[i].options, choices[i].options);
  }
  EXPECT_EQ(joinHandlers(parseHandlers("Heatmap:page=1M;BlockCounts")),
            "Heatmap:page=1M;BlockCounts");
}

TEST(Settings, AListWithAnUnknownAnalyzerIsNotTaken) {
  const auto read = readFrom({{"FADE_HANDLERS", "Heatmap;Heatmop"}});
  EXPECT_EQ(read.complaints.size(), 1u);
  EXPECT_TRUE(read.settings.handlers.empty());
}

TEST(Settings, PathsAreThoseOfTheDirectoryTheProcessStartedIn) {
  auto read = readFrom({{"FADE_LOG_LOCATION", "log.%p"},
                        {"FADE_RECORD", "trace"},
                        {"FADE_KERNEL_CACHE", "cache:/other"},
                        {"FADE_HANDLERS", "Heatmap;./libX.so;libY.so"}});
  Settings &s = read.settings;
  const std::string here = std::filesystem::current_path().string() + "/";
  makePathsAbsolute(s);
  EXPECT_EQ(s.log_location, here + "log.%p");
  EXPECT_EQ(s.record, here + "trace");
  EXPECT_EQ(s.cache, (std::vector<std::string>{here + "cache", "/other"}));
  EXPECT_EQ(s.handlers[0].name, "Heatmap");
  EXPECT_EQ(s.handlers[1].name, here + "./libX.so");
  EXPECT_EQ(s.handlers[2].name, "libY.so"); // looked for where libraries are
  Settings nothing;
  makePathsAbsolute(nothing);
  EXPECT_EQ(nothing.log_location, "console");
  EXPECT_EQ(nothing.record, "");
}

TEST(Selection, RangesCountFromOne) {
  Settings settings;
  settings.dispatches = {DispatchChoice::Kind::range, 2, 3, 0};
  const Selection selection(settings);
  EXPECT_FALSE(selection.wantsDispatch("k", 1));
  EXPECT_TRUE(selection.wantsDispatch("k", 2));
  EXPECT_TRUE(selection.wantsDispatch("k", 3));
  EXPECT_FALSE(selection.wantsDispatch("k", 4));
}

TEST(Selection, RandomIsOneInNAndTheSameForTheSameSeed) {
  const auto chosen = [](uint64_t seed) {
    Settings settings;
    settings.seed = seed;
    settings.dispatches.kind = DispatchChoice::Kind::random;
    settings.dispatches.one_in = 10;
    const Selection selection(settings);
    std::vector<uint64_t> all;
    for (uint64_t i = 1; i <= 100'000; ++i)
      if (selection.wantsDispatch("kernel", i)) all.push_back(i);
    return all;
  };
  EXPECT_EQ(chosen(1), chosen(1));
  EXPECT_NE(chosen(1), chosen(2));
  EXPECT_NEAR(static_cast<double>(chosen(1).size()), 10'000, 400); // four standard deviations
}

TEST(Selection, KernelsAreMatchedAnywhereInTheDemangledName) {
  Settings settings;
  settings.kernels = "add\\(float|^copy";
  const Selection selection(settings);
  EXPECT_TRUE(selection.wantsKernel("vadd(float const*, int)"));
  EXPECT_TRUE(selection.wantsKernel("copy(int*)"));
  EXPECT_FALSE(selection.wantsKernel("memcopy(int*)"));
}

TEST(Omniprobe, ItsVariablesAreHonouredWhereTheyMeanTheSame) {
  const auto read = readFrom({{"LOGDUR_INSTRUMENTED", "True"},
                              {"LOGDUR_KERNEL_CACHE", "/a:/b"},
                              {"LOGDUR_DISPATCHES", "random"},
                              {"LOGDUR_FILTER", "vadd"},
                              {"LOGDUR_LOG_LOCATION", "/tmp/x"},
                              {"LOGDUR_LOG_FORMAT", "csv"},
                              {"LOGDUR_VERBOSE", "1"}});
  EXPECT_TRUE(read.complaints.empty());
  EXPECT_TRUE(read.settings.instrumented);
  EXPECT_EQ(read.settings.cache, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(read.settings.dispatches.kind, DispatchChoice::Kind::random);
  EXPECT_EQ(read.settings.kernels, "vadd");
  EXPECT_EQ(read.settings.log_location, "/tmp/x");
  EXPECT_EQ(read.settings.log_format, Format::csv);
  EXPECT_TRUE(read.settings.verbose);
}

TEST(Omniprobe, FadesOwnVariablesComeFirst) {
  const auto read = readFrom({{"LOGDUR_INSTRUMENTED", "true"}, {"FADE_INSTRUMENTED", "false"}});
  EXPECT_TRUE(read.complaints.empty());
  EXPECT_FALSE(read.settings.instrumented);
}

TEST(Omniprobe, WhatFadeCallsOtherwiseIsNamed) {
  EXPECT_EQ(complaintAbout("LOGDUR_INSTRUMENTED", "maybe"),
            "LOGDUR_INSTRUMENTED: 'maybe' is neither true nor false");
  EXPECT_EQ(complaintAbout("LOGDUR_HANDLERS", "libLogMessages64.so"),
            "LOGDUR_HANDLERS is omniprobe's and has no effect: use "
            "FADE_HANDLERS=MessageLogger,Heatmap,MemoryAnalysis,BlockCounts");
  EXPECT_EQ(complaintAbout("DH_COMMS_GROUP_FILTER_X", "0:2"),
            "DH_COMMS_GROUP_FILTER_X is omniprobe's and has no effect: use "
            "FADE_WORKGROUPS=x=A-B,y=A-B,z=A-B");
  EXPECT_EQ(complaintAbout("FADE_HANDLERS", "BasicBlockAnalysis"),
            "FADE_HANDLERS: 'BasicBlockAnalysis' is an analyzer of omniprobe: FADE's is "
            "BlockCounts");
  EXPECT_EQ(complaintAbout("FADE_HANDLERS", "/opt/lib/libLogMessages64.so"),
            "FADE_HANDLERS: '/opt/lib/libLogMessages64.so' is an analyzer of omniprobe: FADE's is "
            "MessageLogger");
}

TEST(Paths, ProcessHostAndRankAreFilledIn) {
  setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  EXPECT_EQ(expandPath("a%pb%rc%%d%x%"), "a" + std::to_string(getpid()) + "b3c%d%x%");
  EXPECT_EQ(expandPath("%h"), host);
  unsetenv("OMPI_COMM_WORLD_RANK");
  EXPECT_EQ(expandPath("%r"), "0");
}

} // namespace
} // namespace fade
