#include "doctor/fade_probe.h"

#include "base/hip_helpers.h"
#include "base/supervised.h"
#include "base/temporary.h"
#include "base/tools_environment.h"
#include "doctor/json.h"
#include "doctor/tree.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <tuple>

namespace fade::doctor {
namespace {

namespace fs = std::filesystem;
using Outcome = ProbeResult::Outcome;

// As in doctor/probe/fade_stage.cpp.
constexpr uint64_t kItems = 1024, kRounds = 3, kWorkgroup = 64;

/// Workgroup, operation, space and address of what one lane did, and how often.
using Accesses = std::map<std::tuple<uint64_t, std::string, std::string, uint64_t>, uint64_t>;

Accesses expectedAccesses(const FadePlaces &at) {
  Accesses all;
  for (uint64_t i = 0; i < kItems; ++i) {
    const uint64_t group = i / kWorkgroup, item = i % kWorkgroup;
    ++all[{group, "load", "global", at.in + 4 * i}];
    ++all[{group, "store", "lds", 4 * item}];
    ++all[{group, "load", "lds", 4 * (63 - item)}];
    for (uint64_t k = 0; k < kRounds; ++k)
      ++all[{group, "load", "global", at.in + 4 * ((i * 5 + k) & 1023)}];
    if (item & 1) ++all[{group, "atomic", "global", at.counter + 4 * (item & 3)}];
    ++all[{group, "store", "global", at.out + 4 * i}];
  }
  return all;
}

/// What the lines of a report say.
struct Seen {
  Accesses accesses;
  uint64_t access_lines = 0, block_lines = 0, begins = 0, ends = 0;
  std::map<uint64_t, uint64_t> waves_of; ///< by workgroup
  std::optional<Json> dispatch, blocks;

  /// Throws what the JSON library throws.
  void add(const Json &line) {
    const std::string type = line.at("type").text();
    if (type == "dispatch" && !isHipHelper(line.textOr("kernel"))) dispatch = line;
    if (type == "blocks") blocks = line;
    if (type == "block") ++block_lines;
    if (type == "wave_end") ++ends;
    if (type == "wave_begin") {
      ++begins;
      ++waves_of[line.at("workgroup").at(0).number()];
    }
    if (type != "access") return;
    ++access_lines;
    const uint64_t group = line.at("workgroup").at(0).number();
    for (const Json &address : line.at("addresses").list())
      ++accesses[{group, line.at("op").text(), line.at("space").text(), address.number()}];
  }
};

Seen readLines(std::string_view text) {
  Seen seen;
  for (const std::string &line : linesOf(text)) seen.add(Json::parse(line));
  return seen;
}

/// The first difference, in words.
std::string difference(const Accesses &expected, const Accesses &seen) {
  const auto text = [](const auto &key, uint64_t want, uint64_t got) {
    const auto &[group, op, space, address] = key;
    return fmt::format("{} {} at 0x{:x} in workgroup {}: {} recorded, {} expected", space, op,
                       address, group, got, want);
  };
  for (const auto &[key, count] : expected) {
    const auto other = seen.find(key);
    const uint64_t got = other == seen.end() ? 0 : other->second;
    if (got != count) return text(key, count, got);
  }
  for (const auto &[key, count] : seen)
    if (!expected.contains(key)) return text(key, 0, count);
  return "";
}

/// Counts of blocks: the loop, the branch that half of the lanes take, all of the kernel's.
std::string checkBlocks(const Json &blocks, uint64_t waves, uint64_t block_lines) {
  uint64_t executions = 0;
  bool has_loop = false, has_branch = false;
  for (const Json &block : blocks.at("blocks").list()) {
    const auto times = block.at("executions").number();
    const auto lanes = block.at("lanes").number();
    executions += times;
    has_loop |= times == waves * kRounds && lanes == kItems * kRounds;
    has_branch |= times == waves && lanes == kItems / 2;
  }
  if (!has_loop) return "no block was counted as often as the loop runs";
  if (!has_branch) return "no block was counted as often as half of the lanes run";
  if (executions != block_lines)
    return fmt::format("{} entries of blocks were counted, {} recorded", executions, block_lines);
  return "";
}

std::optional<FadePlaces> placesIn(const std::string &out) {
  FadePlaces places;
  for (const std::string &line : linesOf(out)) {
    const auto words = wordsOf(line);
    if (words.size() != 3 || words[0] != "place") continue;
    const uint64_t address = std::strtoull(words[2].c_str(), nullptr, 16);
    if (words[1] == "in") places.in = address;
    if (words[1] == "out") places.out = address;
    if (words[1] == "counter") places.counter = address;
  }
  if (!places.in || !places.out || !places.counter) return std::nullopt;
  return places;
}

/// Duration of the kernel in milliseconds, if the report has it.
std::optional<double> durationIn(const std::string &report) {
  for (const std::string &line : linesOf(report)) {
    try {
      const Json json = Json::parse(line);
      if (json.textOr("type") != "dispatch") continue;
      return static_cast<double>(json.at("end_ns").number() - json.at("start_ns").number()) / 1e6;
    } catch (const std::invalid_argument &) { // not what was asked for
    }
  }
  return std::nullopt;
}

struct Run {
  const char *stage;
  const char *program;   ///< a word of fade-doctor-probe
  const char *transport; ///< null: without records
  bool with_fade;
};
constexpr Run kRuns[] = {{"fade-off", "fade-kernel", nullptr, false},
                         {"fade-times", "fade-kernel", nullptr, true},
                         {"fade-host", "fade-kernel", "host", true},
                         {"fade-device", "fade-kernel", "device", true},
                         {"fade-hip", "fade-hip", "host", true}};

// How often the loop of the kernel runs to make a million records; where every one of them takes
// as long as thousands on a card, fewer tell as much.
constexpr int kOften = 2000, kOftenInSoftware = 100;
// Nanoseconds; a record of 40 bytes that takes longer does not leave the GPU as it should.
constexpr double kMostPerRecord = 1000;

/// The variables of a run; what the user has set for other runs must not change this one.
std::vector<std::pair<std::string, std::string>>
variablesOf(const Run &run, const ProbeOptions &options, const std::string &libfade,
            const std::string &report, const char *handlers) {
  auto variables = options.variables;
  for (const char *name :
       {"FADE_KERNELS", "FADE_DISPATCHES", "FADE_WORKGROUPS", "FADE_SAMPLE",
        "FADE_SAMPLE_EXECUTIONS", "FADE_LOSSY", "FADE_STREAM", "FADE_RECORD", "FADE_KERNEL_CACHE",
        "FADE_MEMORY", "FADE_INSTRUMENTED", "FADE_HANDLERS", "FADE_TRANSPORT", "HSA_TOOLS_LIB"})
    variables.emplace_back(name, "");
  if (!run.with_fade) return variables;
  for (auto &variable : toolVariables(libfade, nullptr, nullptr))
    variables.push_back(std::move(variable));
  variables.emplace_back("FADE_LOG_FORMAT", "json");
  variables.emplace_back("FADE_LOG_LOCATION", report);
  if (!run.transport) return variables;
  variables.emplace_back("FADE_INSTRUMENTED", "true");
  variables.emplace_back("FADE_HANDLERS", handlers);
  variables.emplace_back("FADE_TRANSPORT", run.transport);
  return variables;
}

std::string costOf(const std::string &report, std::optional<double> plain) {
  const Seen seen = readLines(report);
  std::string text =
      fmt::format("{} records, {} bytes, all correct", seen.dispatch->at("records").number(),
                  seen.dispatch->at("bytes").number());
  const auto time = durationIn(report);
  if (time && plain && *plain > 0)
    text += fmt::format("; {:.3g} ms instead of {:.3g} ms", *time, *plain);
  return text;
}

/// Why a run through HIP left no dispatch, where one through HSA did: what a user would see, too.
std::string whyNothingThroughHip(const std::string &report) {
  if (report.empty())
    return "HIP ran the kernel, but the runtime did not load libfade.so (HSA_TOOLS_LIB)";
  if (report.find("\"dispatch\"") == report.npos)
    return "HIP ran the kernel, but FADE saw no dispatch: HIP creates its queues in a way that "
           "this "
           "FADE does not know";
  return "";
}

/// Judges what a run with libfade has left behind.
void judge(const Run &run, const cli::SupervisedEnd &end, const std::string &report,
           std::optional<double> &plain, ProbeResult &result) {
  if (!run.transport) {
    const auto time = durationIn(report);
    plain = time;
    result.outcome = time ? Outcome::passed : Outcome::failed;
    result.text =
        time ? fmt::format("the kernel took {:.3g} ms", *time) : "no duration was reported";
    return;
  }
  const auto places = placesIn(end.out);
  std::string wrong = whyNothingThroughHip(report);
  if (wrong.empty())
    wrong = places ? checkRecords(report, *places) : "the kernel did not say where its buffers are";
  result.outcome = wrong.empty() ? Outcome::passed : Outcome::failed;
  result.text = wrong.empty() ? costOf(report, plain) : wrong;
  // FADE may have chosen the other transport, and says so.
  const auto said = end.err.find("fade: ");
  if (said != std::string::npos) {
    result.text += "; " + trimmed(end.err.substr(said, end.err.find('\n', said) - said));
    if (result.outcome == Outcome::passed) result.outcome = Outcome::limited;
  }
}

bool isSoftware(const ProbeOptions &options) {
  return std::ranges::any_of(options.variables, [](const auto &variable) {
    return variable.first == "LD_PRELOAD" &&
           variable.second.find("libfadegpu") != std::string::npos;
  });
}

/// Many records, to see what one costs: fade-off's kernel with a long loop, without and with them.
ProbeResult probeOften(const ProbeOptions &options, const std::string &libfade,
                       const std::string &folder) {
  const std::string rounds = std::to_string(isSoftware(options) ? kOftenInSoftware : kOften);
  const std::string path = folder + "/often.json";
  ProbeResult result;
  std::optional<double> plain;
  for (const char *transport : {static_cast<const char *>(nullptr), "host"}) {
    const Run run{"fade-often", "fade-often", transport, true};
    const cli::SupervisedEnd end = cli::runSupervised(
        {options.program, run.program, rounds},
        variablesOf(run, options, libfade, path, "BlockCounts;MemoryAnalysis"), options.timeout);
    const double before = result.seconds;
    result = resultOf(run.stage, options, end);
    result.seconds += before;
    if (result.outcome != Outcome::passed) return result;
    if (!transport) plain = durationIn(cli::contentsOf(path));
  }
  const auto cost = recordCost(cli::contentsOf(path), plain);
  result.outcome = !cost                                                        ? Outcome::failed
                   : cost->nanoseconds > kMostPerRecord && !isSoftware(options) ? Outcome::limited
                                                                                : Outcome::passed;
  result.text = cost ? cost->text : "no records were reported";
  return result;
}

} // namespace

std::optional<RecordCost> recordCost(std::string_view json_lines,
                                     std::optional<double> plain_milliseconds) {
  try {
    const Seen seen = readLines(json_lines);
    const auto time = durationIn(std::string(json_lines));
    if (!seen.dispatch || !time) return std::nullopt;
    const uint64_t records = seen.dispatch->at("records").number();
    const uint64_t dropped = seen.dispatch->at("dropped").number();
    if (records == 0 || dropped != 0) return std::nullopt;
    const double each =
        (*time - plain_milliseconds.value_or(0)) * 1e6 / static_cast<double>(records);
    return RecordCost{each,
                      fmt::format("{} records in {:.3g} ms, {:.3g} ns each; {:.3g} ms without them",
                                  records, *time, each, plain_milliseconds.value_or(0))};
  } catch (const std::invalid_argument &) {
    return std::nullopt;
  }
}

std::string checkRecords(std::string_view json_lines, const FadePlaces &places) {
  try {
    const Seen seen = readLines(json_lines);
    if (!seen.dispatch) return "the dispatch was not reported";
    const Json &dispatch = *seen.dispatch;
    if (!dispatch.at("instrumented").boolean()) return "the kernel did not run instrumented";
    if (!dispatch.at("complete").boolean()) return "the dispatch was not seen to end";
    if (const auto dropped = dispatch.at("dropped").number())
      return fmt::format("{} records were dropped", dropped);
    if (!seen.blocks) return "blocks were not counted";
    const uint64_t wave_size = seen.blocks->at("wave_size").number();
    const uint64_t waves = wave_size == 32 || wave_size == 64 ? kItems / wave_size : 0;
    if (seen.begins != waves || seen.ends != waves)
      return fmt::format("{} waves began and {} ended, {} expected", seen.begins, seen.ends, waves);
    for (const auto &[group, count] : seen.waves_of)
      if (group >= kItems / kWorkgroup || count != kWorkgroup / wave_size)
        return fmt::format("workgroup {} has {} waves", group, count);
    if (auto wrong = difference(expectedAccesses(places), seen.accesses); !wrong.empty())
      return wrong;
    if (auto wrong = checkBlocks(*seen.blocks, waves, seen.block_lines); !wrong.empty())
      return wrong;
    const uint64_t lines = seen.access_lines + seen.block_lines + seen.begins + seen.ends;
    if (const auto records = dispatch.at("records").number(); records != lines)
      return fmt::format("{} records were counted, {} delivered", records, lines);
  } catch (const std::exception &wrong) {
    return fmt::format("the report cannot be read: {}", wrong.what());
  }
  return "";
}

std::vector<ProbeResult> probeFade(const ProbeOptions &options, const std::string &libfade,
                                   std::string obstacle) {
  std::vector<ProbeResult> results;
  const cli::TemporaryFolder folder;
  if (obstacle.empty() && !folder.isThere()) obstacle = "no folder for temporary files";
  std::optional<double> plain;
  for (const Run &run : kRuns) {
    ProbeResult result;
    result.stage = run.stage;
    if (!obstacle.empty()) {
      result.text = obstacle;
      results.push_back(std::move(result));
      continue;
    }
    const std::string report = fmt::format("{}/{}.json", folder.path(), run.stage);
    const cli::SupervisedEnd end = cli::runSupervised(
        {options.program, run.program},
        variablesOf(run, options, libfade, report, "MessageLogger;BlockCounts"), options.timeout);
    result = resultOf(run.stage, options, end);
    if (result.outcome == Outcome::passed && run.with_fade)
      judge(run, end, cli::contentsOf(report), plain, result);
    if (!run.with_fade && result.outcome != Outcome::passed) obstacle = becauseOf(result);
    results.push_back(std::move(result));
  }
  if (!obstacle.empty())
    results.push_back({Outcome::skipped, "fade-often", obstacle, 0});
  else
    results.push_back(probeOften(options, libfade, folder.path()));
  return results;
}

} // namespace fade::doctor
