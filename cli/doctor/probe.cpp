#include "doctor/probe.h"

#include "base/supervised.h"
#include "doctor/tree.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace fade::doctor {
namespace {

using Outcome = ProbeResult::Outcome;

/// Without these nothing works; a GPU that fails another one is usable with limits.
constexpr std::array<std::string_view, 9> kEssential = {
    "driver", "agents", "allocate", "copy", "kernel", "lds", "atomics", "queues", "matmul"};
/// If one of these fails, no other can pass.
constexpr std::array<std::string_view, 2> kFirst = {"driver", "agents"};

bool contains(std::span<const std::string_view> list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

/// The line that says most about why a process ended.
std::string complaintIn(const std::string &text) {
  std::string last;
  for (const std::string &line : linesOf(text)) {
    if (trimmed(line).empty()) continue;
    last = trimmed(line);
    for (const char *sign : {"Memory access fault", "HSA_STATUS_ERROR", "fadegpu: "})
      if (line.find(sign) != line.npos && line.find("FADE_GPU_FAIL") == line.npos)
        return trimmed(line);
  }
  return last;
}

std::string signalName(int signal) {
  const char *name = sigabbrev_np(signal);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

/// What the stage itself said last.
bool readVerdict(const std::string &out, ProbeResult &result) {
  bool found = false;
  for (const std::string &line : linesOf(out)) {
    if (!line.starts_with("verdict ")) continue;
    const auto blank = std::min(line.find(' ', 8), line.size());
    const std::string word = line.substr(8, blank - 8);
    for (const Outcome outcome :
         {Outcome::passed, Outcome::limited, Outcome::skipped, Outcome::failed})
      if (word == nameOf(outcome)) {
        result.outcome = outcome;
        result.text = blank < line.size() ? line.substr(blank + 1) : "";
        found = true;
      }
  }
  return found;
}

} // namespace

const char *nameOf(Outcome outcome) {
  switch (outcome) {
  case Outcome::passed: return "passed";
  case Outcome::limited: return "limited";
  case Outcome::skipped: return "skipped";
  case Outcome::failed: return "failed";
  }
  return "";
}

Result<std::vector<std::string>> stagesOf(const ProbeOptions &options) {
  const cli::SupervisedEnd end =
      cli::runSupervised({options.program}, {}, std::chrono::seconds(60));
  std::vector<std::string> names;
  for (const std::string &line : linesOf(end.out))
    if (const auto words = wordsOf(line); !words.empty()) names.push_back(words[0]);
  if (names.empty())
    return Error::of(fmt::format("{} cannot be run: {}", options.program, trimmed(end.err)));
  return names;
}

Result<std::vector<std::string>> chosenStages(std::span<const std::string> known,
                                              const std::string &choice) {
  std::vector<std::string> chosen;
  for (std::string_view rest = choice; !rest.empty();) {
    const auto comma = std::min(rest.find(','), rest.size());
    const std::string word(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (word == "all") {
      chosen.assign(known.begin(), known.end());
      continue;
    }
    if (std::ranges::find(known, word) == known.end()) {
      std::string names = "all";
      for (const std::string &name : known) names += ", " + name;
      return Error::of(fmt::format("--probe: '{}' is not a stage ({})", word, names));
    }
    if (std::ranges::find(chosen, word) == chosen.end()) chosen.push_back(word);
  }
  return chosen;
}

ProbeResult resultOf(const std::string &stage, const ProbeOptions &options,
                     const cli::SupervisedEnd &end) {
  ProbeResult result;
  result.stage = stage;
  result.seconds = end.seconds;
  result.outcome = Outcome::failed;
  const std::string complaint = complaintIn(end.err);
  const std::string more = complaint.empty() ? "" : ": " + complaint;
  const double limit = std::chrono::duration<double>(options.timeout).count();
  if (!end.started)
    result.text = fmt::format("cannot run {}{}", options.program, more);
  else if (end.stuck)
    result.text = fmt::format("hung, and could not even be killed: the driver is stuck{}", more);
  else if (end.timed_out)
    result.text = fmt::format("hung: no end within {:.4g} s{}", limit, more);
  else if (end.signal != 0)
    result.text = fmt::format("ended by {}{}", signalName(end.signal), more);
  else if (!readVerdict(end.out, result))
    result.text = fmt::format("ended with code {} and without a result{}", end.code, more);
  else if ((result.outcome == Outcome::failed || result.outcome == Outcome::limited) &&
           (end.err.find("fadegpu: ") != std::string::npos ||
            complaint.find("rror") != std::string::npos))
    result.text += more;
  return result;
}

std::string becauseOf(const ProbeResult &result) {
  return fmt::format("because {} {}", result.stage,
                     result.outcome == Outcome::failed    ? "failed"
                     : result.outcome == Outcome::skipped ? "was skipped"
                                                          : "is limited");
}

std::vector<ProbeResult> runProbes(const ProbeOptions &options,
                                   std::span<const std::string> stages) {
  std::vector<ProbeResult> results;
  std::string broken;
  for (const std::string &stage : stages) {
    if (!broken.empty()) {
      results.push_back({Outcome::skipped, stage, fmt::format("because {} failed", broken), 0});
      continue;
    }
    results.push_back(
        resultOf(stage, options,
                 cli::runSupervised({options.program, stage}, options.variables, options.timeout)));
    if (results.back().outcome == Outcome::failed && contains(kFirst, stage)) broken = stage;
  }
  return results;
}

int verdictOf(std::span<const ProbeResult> results) {
  int verdict = 0;
  for (const ProbeResult &result : results) {
    if (result.outcome == Outcome::limited) verdict = std::max(verdict, 1);
    if (result.outcome == Outcome::failed)
      verdict = std::max(verdict, contains(kEssential, result.stage) ? 2 : 1);
  }
  return verdict;
}

} // namespace fade::doctor
