// fadeprobe replay: decides where a capture is run again, and has it run there.
#include "base/json_text.h"
#include "capture/command.h"
#include "captures/counted_version.h"
#include "captures/listing.h"
#include "launch/gpu_choice.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace fade::cli {
namespace {

/// One or more of ulp=N, rel=X and abs=X, separated by commas. False if it is something else.
bool readTolerance(std::string_view text, replay::Tolerance &tolerance) {
  const auto comma = std::min(text.find(','), text.size());
  const std::string_view item = text.substr(0, comma);
  if (item.size() < 5) return false;
  const char *begin = item.data() + 4, *end = item.data() + item.size();
  std::from_chars_result read{begin, std::errc::invalid_argument};
  if (item.starts_with("ulp=")) read = std::from_chars(begin, end, tolerance.ulp);
  for (const auto &[name, value] :
       {std::pair("rel=", &tolerance.relative), {"abs=", &tolerance.absolute}})
    if (item.starts_with(name)) {
      read = std::from_chars(begin, end, *value);
      if (!(*value >= 0) || std::isinf(*value)) return false;
    }
  if (read.ec != std::errc() || read.ptr != end) return false;
  return comma == text.size() || readTolerance(text.substr(comma + 1), tolerance);
}

int mistake(const std::string &text) {
  complain(text);
  return replay::kCannotRun;
}

/// What the model says of the two versions: that is what decides where there is no card.
void sayModel(const replay::Options &options) {
  const auto capture = describeCapture(options.folder);
  if (!capture) return;
  std::fflush(stdout);
  const auto models = modelVersions(*capture, options.code);
  if (!models) {
    complain(fmt::format("replay: no modeled time: {}", models.error().message()));
    return;
  }
  if (options.json)
    fmt::print("{}\n", jsonText(nlohmann::ordered_json{{"type", "model"},
                                                       {"version", 1},
                                                       {"code", options.code},
                                                       {"captured_ns", models->captured_ns},
                                                       {"ns", models->ns},
                                                       {"verdict", models->verdict}}));
  else
    fmt::print("{}\n", models->verdict);
}

/// On the executor, in this process.
int replayHere(replay::Options options, bool with_model) {
  if (options.iterations == 0) options.iterations = 1;
  const auto entry = reinterpret_cast<FadeReplayEntry>(replayLibrary(FADE_REPLAY_ENTRY));
  const int code = entry ? entry(&options) : replay::kCannotRun;
  // Other inputs would be another run than the one that was captured.
  if (with_model && code != replay::kCannotRun && !options.code.empty() && options.recopy &&
      !options.minimise && options.change_inputs == 0)
    sayModel(options);
  return code;
}

bool wantsTools(const RunOptions &run) {
  return run.instrumented.value_or(false) || !run.analyzers.empty() || !run.values.empty();
}

/// Through the HSA runtime, by a program that FADE can watch like any other. Does not return if it
/// was started.
int replayThroughHsa(ReplayOptions &options, const capture::Description &description) {
  const auto program = ownLibrary("fade/fade-replay");
  if (!program) return mistake("fade-replay is missing: it should be in ../lib/fade");
  const replay::Options &replay = options.replay;
  // Times of a card are only worth something if there are several.
  constexpr uint32_t enough = 20;
  const uint32_t iterations = replay.iterations != 0 ? replay.iterations
                              : !replay.code.empty() ? enough
                                                     : 1;
  std::vector<std::string> words = {*program, replay.folder, "--iterations",
                                    std::to_string(iterations)};
  if (!replay.code.empty()) words.insert(words.end(), {"--code", replay.code});
  if (replay.check) words.emplace_back("--check");
  if (replay.json) words.emplace_back("--json");
  if (!replay.recopy) words.emplace_back("--no-recopy");
  // Runs that FADE watches have a line of FADE's.
  if (!replay.progress || wantsTools(options.run)) words.emplace_back("--no-progress");
  if (options.reserve_check) words.emplace_back("--reserve-check");
  if (replay.timeout > 0)
    words.insert(words.end(), {"--timeout", fmt::format("{}", replay.timeout)});
  words.insert(words.end(), {"--ulp", std::to_string(replay.tolerance.ulp), "--rel",
                             fmt::format("{}", replay.tolerance.relative), "--abs",
                             fmt::format("{}", replay.tolerance.absolute)});
  // The software GPU can be the one that is needed; a card is what it is.
  const std::vector<std::string> cards = gpusOf({});
  const bool has_card = std::ranges::find(cards, description.gpu) != cards.end();
  if (options.run.gpu == "auto" && !has_card) options.run.gpu = description.gpu;
  if (wantsTools(options.run)) return runApplication(options.run, words);
  Variables variables;
  if (!chooseGpu(options.run.gpu, false, variables)) return replay::kCannotRun;
  for (const auto &[name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char *> arguments;
  for (std::string &word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  execv(program->c_str(), arguments.data());
  return mistake(fmt::format("cannot run {}: {}", *program, std::strerror(errno)));
}

} // namespace

CLI::App *addReplayCommand(CLI::App &app, ReplayOptions &options) {
  CLI::App *command = app.add_subcommand("replay", "run a captured dispatch again");
  replay::Options &replay = options.replay;
  command->add_option("folder", replay.folder, "a capture")->type_name("DIR")->required();
  command->add_flag(
      "--check", replay.check,
      "compare memory afterwards with that after the captured dispatch; exit code 0 equal, "
      "1 different, 2 could not run");
  command
      ->add_option_function<std::vector<std::string>>(
          "--tolerance",
          [&options](const std::vector<std::string> &texts) {
            options.tolerance = fmt::format("{}", fmt::join(texts, ","));
          },
          "with --check: accept differences of floating-point numbers of up to N units in the last "
          "place, or up to abs + rel * |expected|; may be repeated")
      ->type_name("ulp=N|rel=X|abs=X,...")
      ->allow_extra_args(false);
  command
      ->add_option("--iterations", replay.iterations,
                   "run it N times (default: 1; on a card with -c: 20)")
      ->type_name("N")
      ->check(CLI::Range(1u, 1000000u));
  command->add_flag("!--no-recopy", replay.recopy, "do not restore memory between iterations");
  command
      ->add_option("-c,--code", replay.code,
                   "run the kernel of this code object instead of the captured one")
      ->type_name("FILE")
      ->check([](const std::string &file) { return file.empty() ? "no file given" : ""; }, "");
  command->add_flag("--model,!--no-model", options.model,
                    "with -c, without a card: also compare modeled times of both versions; runs "
                    "each on the software GPU (default: on)");
  command
      ->add_option("--change-inputs", replay.change_inputs,
                   "with --check -c: compare the two versions on randomly changed memory")
      ->type_name("SEED")
      ->check(CLI::Range(uint64_t{1}, UINT64_MAX));
  command->add_flag("--minimise", replay.minimise,
                    "write a smaller capture: only the pages that the kernel touches");
  command->add_option("-o,--output", replay.output, "folder for --minimise")->type_name("DIR");
  command
      ->add_option("--on", options.on,
                   "software: FADE's executor, without ROCm; gpu: through ROCr, on the card or, if "
                   "there is none, on the software GPU (default: gpu if there is a card like that "
                   "of the capture, else software)")
      ->type_name("software|gpu")
      ->check(CLI::IsMember({"software", "gpu"}));
  command->add_flag("--reserve-check", options.reserve_check,
                    "only check whether the capture's addresses are free for --on gpu");
  command
      ->add_option("--workers", replay.workers, "threads of the executor (default: one per core)")
      ->type_name("N")
      ->check(CLI::Range(1u, 256u));
  command
      ->add_option(
          "--timeout", replay.timeout,
          "time limit for one run of the kernel, exit code 2 if it takes longer (default: none)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 1e9));
  command->add_flag("--json", replay.json, "one JSON object per line");
  command->add_flag("--progress,!--no-progress", replay.progress,
                    "show a progress line on the terminal (default: on)");
  addReplayVariables(*command, options.run);
  return command;
}

int runReplay(ReplayOptions options) {
  if (options.tolerance) {
    if (!readTolerance(*options.tolerance, options.replay.tolerance))
      return mistake(fmt::format("--tolerance: '{}' is not of the form ulp=N, rel=X or abs=X",
                                 *options.tolerance));
    if (!options.replay.check) return mistake("--tolerance needs --check");
  }
  if (options.replay.check && !options.replay.recopy && options.replay.iterations != 1)
    return mistake("--check compares memory after one run, but --no-recopy does not restore it "
                   "between runs: use one of the two");
  if (std::isnan(options.replay.timeout))
    return mistake("--timeout: 'nan' is not a number of seconds");
  if (options.replay.minimise == options.replay.output.empty())
    return mistake(options.replay.minimise ? "--minimise needs -o DIR" : "-o needs --minimise");
  if (options.replay.change_inputs != 0) {
    if (options.replay.code.empty())
      return mistake("--change-inputs compares two versions: add -c FILE");
    if (options.on == "gpu") return mistake("--change-inputs needs --on software");
    options.on = "software";
  }
  for (const char *word : {"full-vm", "reserve-check"})
    if (options.replay.folder == word && !std::filesystem::exists(word))
      return mistake(
          fmt::format("replay: '{}' is an argument of rocm-perf-lab: use fadeprobe replay DIR{}",
                      word, *word == 'r' ? " --reserve-check" : ""));
  std::vector<std::string> found = capturesIn(options.replay.folder);
  // Other things than captures have files called manifest.jsonl.
  if (found != std::vector{options.replay.folder} && !found.empty()) {
    std::erase_if(found, [](const std::string &path) { return !describeCapture(path); });
    if (found.empty())
      return mistake(fmt::format("{}: not a capture, and contains none", options.replay.folder));
  }
  if (found.size() > 1)
    return mistake(fmt::format("{}: contains {} captures; name one of them, such as {}",
                               options.replay.folder, found.size(), found.front()));
  if (!found.empty()) options.replay.folder = found.front();
  const bool needs_hsa = options.reserve_check || wantsTools(options.run);
  if (needs_hsa && options.on == "software")
    return mistake("-i, -a, --record and --reserve-check need ROCr: --on gpu");
  if (options.on == "software") return replayHere(options.replay, options.model);
  const auto capture = describeCapture(options.replay.folder);
  if (!capture) return mistake(capture.error().message());
  const std::vector<std::string> cards = gpusOf({});
  const bool has_card = std::ranges::find(cards, capture->description.gpu) != cards.end();
  if (options.on.empty() && !needs_hsa && (!has_card || options.replay.minimise))
    return replayHere(options.replay, options.model);
  if (options.replay.minimise) {
    // What a kernel touches is seen on the executor; that it is enough is shown where it was asked.
    if (const int code = replayHere(options.replay, false); code != replay::kEqual) return code;
    options.replay.folder = options.replay.output;
    options.replay.minimise = false;
    options.replay.check = capture->description.has_after;
    std::fflush(stdout);
  }
  return replayThroughHsa(options, capture->description);
}

} // namespace fade::cli
