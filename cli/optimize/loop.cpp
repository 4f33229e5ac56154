#include "optimize/loop.h"

#include "base/json_text.h"
#include "base/progress_line.h"
#include "base/supervised.h"
#include "base/temporary.h"
#include "base/text_layout.h"
#include "base/write_file.h"
#include "launch/run.h"
#include "optimize/patch.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMostErrors = 16 << 10;    ///< of what the compiler says, for the proposer
constexpr std::size_t kMostRemembered = 1 << 20; ///< of a source
constexpr double kLeastGain = 0.01; ///< part of time or counts; less is noise of the model

/// Of what others have written, for a terminal.
std::string firstLineOf(std::string_view text) {
  constexpr std::size_t most = 400;
  return shortened(printable(text.substr(0, text.find('\n'))), most);
}

OrderedJson jsonOf(const Costs &costs) {
  OrderedJson json = {{"instructions", costs.instructions}};
  if (costs.has_memory) {
    json["lines"] = costs.lines;
    json["conflicts"] = costs.conflicts;
    json["modeled_ns"] = costs.modeled_ns;
  }
  return json;
}

std::string textOf(const Costs &costs) {
  std::string text = fmt::format("{} instructions", costs.instructions);
  if (costs.has_memory)
    text += fmt::format(", {} cache lines, {} bank conflicts, {:.2f} us by the model", costs.lines,
                        costs.conflicts, costs.modeled_ns / 1000);
  return text;
}

std::string replaced(std::string word, const std::string &what, const std::string &by) {
  for (std::size_t at = 0; (at = word.find(what, at)) != std::string::npos; at += by.size())
    word.replace(at, what.size(), by);
  return word;
}

/// While it is there, the terminal says what takes how long; null if there is none.
std::unique_ptr<ProgressLine> progressOf(std::string what) {
  if (!ProgressLine::isPossible()) return nullptr;
  return std::make_unique<ProgressLine>([what = std::move(what)](double seconds) {
    return fmt::format("{}, {:.0f} s (Ctrl-C: stop and keep the best so far)", what, seconds);
  });
}

} // namespace

OptimizeLoop::OptimizeLoop(const OptimizeOptions &options, std::vector<std::string> build,
                           std::vector<CaptureLine> captures, std::unique_ptr<Proposer> proposer)
    : options_(options), build_(std::move(build)), captures_(std::move(captures)),
      proposer_(std::move(proposer)), trial_({captures_, options.tolerance, options.output, 3,
                                              std::chrono::seconds(options.seconds)}) {}

/// The code object; or what the compiler said.
Result<std::string> OptimizeLoop::build(const std::string &source, const std::string &folder) {
  // Whole paths: the command may go elsewhere.
  const std::string whole = fs::absolute(folder).string();
  const std::string file = whole + "/" + fs::path(options_.source).filename().string();
  const std::string code = whole + "/code";
  if (!writeFile(file, source)) return Error{file, "", 0, "it cannot be written"};
  std::error_code error;
  fs::remove_all(code, error); // whatever a build has left there
  std::vector<std::string> words;
  for (const std::string &word : build_)
    words.push_back(replaced(replaced(word, "{source}", file), "{output}", code));
  const auto end = runSupervised(words, {}, std::chrono::seconds(10 * options_.seconds));
  std::string said = end.err + end.out;
  (void)writeFile(folder + "/build.log", said);
  if (end.timed_out) return Error{words[0], "", 0, "it did not end in time"};
  if (end.started && end.signal == 0 && end.code == 0 && fs::is_regular_file(code, error))
    return code;
  if (said.size() > kMostErrors) said.resize(kMostErrors);
  while (said.ends_with('\n')) said.pop_back();
  if (said.empty())
    said = !end.started      ? "it cannot be run"
           : end.signal != 0 ? fmt::format("it was ended by signal {}", end.signal)
           : end.code != 0   ? fmt::format("it ended with exit code {}", end.code)
                             : "it wrote nothing to {output}";
  return Error{words[0], "", 0, said};
}

/// The source as it is, which must do what was captured.
Status OptimizeLoop::prepare() {
  const auto progress = progressOf("the unchanged source");
  original_ = contentsOf(options_.source);
  if (original_.empty()) return Error{options_.source, "", 0, "it cannot be read, or is empty"};
  const std::string folder = options_.output + "/0", ledger = options_.output + "/ledger.jsonl";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Error{folder, "", 0, error.message()};
  if (!writeFile(ledger, "")) return Error{ledger, "", 0, "it cannot be written"};
  fs::remove(options_.output + "/best.patch", error); // of another run
  const auto code = build(original_, folder);
  if (!code) return Error{options_.source, "", 0, "it does not compile: " + code.error().message()};
  for (const CaptureLine &capture : captures_) {
    auto signature = signatureOf(*code, capture.description.symbol, capture.description.gpu);
    if (!signature) return std::move(signature).error();
    signatures_.push_back(std::move(*signature));
  }
  auto others = othersIn(*code);
  if (!others) return std::move(others).error();
  others_ = std::move(*others);
  if (Status learned = trial_.learnFindings(*code); !learned) return learned;
  if (const auto failure = trial_.isWrong(*code))
    return Error{options_.source, "", 0,
                 "the unchanged source does not reproduce the capture: " + failure->reason};
  auto costs = trial_.costs(*code);
  if (!costs) return std::move(costs).error();
  best_ = {original_, *code, *costs, trial_.surelyFaster()};
  steps_.push_back({original_, ""});
  first_ = *costs;
  accesses_ = trial_.accesses();
  profiles_ = trial_.profiles();
  OrderedJson line = {{"type", "start"},
                      {"version", 1},
                      {"source", options_.source},
                      {"captures", OrderedJson::array()},
                      {"counts", jsonOf(*costs)}};
  for (const CaptureLine &capture : captures_) line["captures"].push_back(capture.path);
  write(line);
  complain(fmt::format("optimize: {} unchanged: {}", options_.source, textOf(*costs)));
  return Done();
}

Result<OtherKernels> OptimizeLoop::othersIn(const std::string &code) const {
  if (options_.unchecked) return OtherKernels();
  std::set<std::pair<std::string, std::string>> captured;
  for (const CaptureLine &capture : captures_)
    captured.emplace(capture.description.symbol, capture.description.gpu);
  return otherKernels(code, captured);
}

OrderedJson OptimizeLoop::request(uint32_t number) const {
  OrderedJson kernels = OrderedJson::array();
  for (const CaptureLine &capture : captures_)
    kernels.push_back({{"kernel", capture.description.kernel},
                       {"module", capture.description.module},
                       {"symbol", capture.description.symbol},
                       {"gpu", capture.description.gpu},
                       {"grid", capture.description.grid},
                       {"workgroup", capture.description.workgroup}});
  return {{"type", "request"},
          {"version", 1},
          {"attempt", number},
          {"file", options_.source},
          {"source", best_.source},
          {"kernels", kernels},
          {"counts", jsonOf(best_.costs)},
          {"may_bound_launches", options_.launch_bounds},
          {"accesses", accesses_},
          {"profile", profiles_},
          {"history", history_}};
}

std::optional<Failure> OptimizeLoop::isNotBetter(const Version &version) const {
  if (version.surely_faster) { // measured on a card, both against the captured code
    const double before = best_.surely_faster.value_or(1);
    if (*version.surely_faster > before) return std::nullopt;
    return Failure{"costs",
                   fmt::format("{:.3f} times as fast as the captured code for sure, {:.3f} "
                               "before",
                               *version.surely_faster, before)};
  }
  const Costs &now = version.costs, &before = best_.costs;
  const std::string text = fmt::format("{}; before: {}", textOf(now), textOf(before));
  const auto isWorse = [&](uint64_t a, uint64_t b) {
    return static_cast<double>(a) >
           static_cast<double>(b) + static_cast<double>(before.sum()) * options_.worse / 100.0;
  };
  if (isWorse(now.instructions, before.instructions) || isWorse(now.lines, before.lines) ||
      isWorse(now.conflicts, before.conflicts))
    return Failure{"costs", now.sum() < before.sum()
                                ? fmt::format("{} (the sum is smaller, but one count grows by more "
                                              "than {} % of it: --worse)",
                                              text, options_.worse)
                                : text};
  // The time decides; where the model sees no difference, the counts do.
  const bool has_times = now.busy_ns > 0 && before.busy_ns > 0;
  if (has_times && now.busy_ns > before.busy_ns * (1 + kLeastGain)) return Failure{"costs", text};
  if (has_times && now.busy_ns < before.busy_ns * (1 - kLeastGain)) return std::nullopt;
  if (static_cast<double>(now.sum()) > static_cast<double>(before.sum()) * (1 - kLeastGain))
    return Failure{"costs", text};
  return std::nullopt;
}

/// Less source for no more time and no more counts.
std::optional<Failure> OptimizeLoop::isWorse(const Version &version) const {
  if (version.surely_faster) {
    if (*version.surely_faster >= best_.surely_faster.value_or(1)) return std::nullopt;
    return isNotBetter(version);
  }
  const Costs &now = version.costs, &before = best_.costs;
  if (now.busy_ns <= before.busy_ns * (1 + kLeastGain) && now.sum() <= before.sum())
    return std::nullopt;
  return Failure{"costs", fmt::format("{}; before: {}", textOf(now), textOf(before))};
}

std::optional<Failure> OptimizeLoop::judge(const Proposal &proposal, uint32_t number,
                                           const std::string &folder, Aim aim, Version &version) {
  version.source = proposal.source;
  if (version.source == best_.source) return Failure{"proposal", "it equals the current version"};
  if (version.source.size() <= kMostRemembered)
    if (const auto [known, is_new] = offered_.try_emplace(version.source, number); !is_new)
      return Failure{"proposal", fmt::format("it equals attempt {}", known->second)};
  const auto code = build(version.source, folder);
  if (!code) return Failure{"build", code.error().what};
  version.code = *code;
  for (std::size_t i = 0; i < captures_.size(); ++i) {
    const auto signature =
        signatureOf(*code, captures_[i].description.symbol, captures_[i].description.gpu);
    if (!signature) return Failure{"signature", signature.error().message()};
    const auto &size = captures_[i].description.workgroup;
    const uint64_t enough = options_.launch_bounds ? uint64_t{1} * size[0] * size[1] * size[2] : 0;
    if (const std::string difference = differenceOf(signatures_[i], *signature, enough);
        !difference.empty())
      return Failure{"signature", difference};
  }
  const auto others = othersIn(*code);
  if (!others) return Failure{"other kernels", others.error().message()};
  if (const std::string change = changeOf(others_, *others); !change.empty())
    return Failure{"other kernels", change};
  if (auto failure = trial_.isWrong(*code)) return failure;
  version.surely_faster = trial_.surelyFaster();
  const auto costs = trial_.costs(*code);
  if (!costs) return Failure{"costs", costs.error().message()};
  version.costs = *costs;
  return aim == Aim::better ? isNotBetter(version) : isWorse(version);
}

void OptimizeLoop::attempt(uint32_t number) {
  const auto progress = progressOf(fmt::format("attempt {} of {}", number, options_.attempts));
  const std::string folder = fmt::format("{}/{}", options_.output, number);
  std::error_code error;
  fs::create_directories(folder, error); // if that fails, so does what is written there
  last_number_ = number;
  const auto proposal = proposer_->propose(request(number), folder);
  if (proposal && proposal->stops) {
    has_ended_ = true;
    return;
  }
  if (supervisedStoppedBy() != 0) return;
  ++tried_;
  if (proposal && !proposal->comment.empty())
    complain(fmt::format("optimize: attempt {} of {}: {}", number, options_.attempts,
                         firstLineOf(proposal->comment)));
  if (settle(number, proposal, folder, Aim::better))
    steps_.push_back({best_.source, fmt::format("attempt {} ({})", number, proposal->comment)});
}

/// Steps are tried one on top of the other, and a later one may have made an earlier one useless.
void OptimizeLoop::dropSteps() {
  for (std::size_t i = 1; i + 1 < steps_.size() && supervisedStoppedBy() == 0;) {
    auto without = stepsWithout(i++);
    if (!without) continue; // a later step has changed the same lines
    const uint32_t number = ++last_number_;
    const auto progress = progressOf(fmt::format("attempt {}", number));
    const std::string folder = fmt::format("{}/{}", options_.output, number);
    std::error_code error;
    fs::create_directories(folder, error);
    Proposal proposal;
    proposal.source = without->back().source;
    proposal.comment = "without " + steps_[i - 1].comment;
    complain(fmt::format("optimize: attempt {}: {}", number, firstLineOf(proposal.comment)));
    ++tried_;
    if (!settle(number, proposal, folder, Aim::no_worse)) continue;
    steps_ = std::move(*without);
    i = 1;
  }
}

std::optional<std::vector<OptimizeLoop::Step>>
OptimizeLoop::stepsWithout(std::size_t dropped) const {
  std::vector<Step> steps(steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(dropped));
  for (std::size_t i = dropped + 1; i < steps_.size(); ++i) {
    auto source = merged(steps_[i - 1].source, steps_[i].source, steps.back().source);
    if (!source) return std::nullopt;
    steps.push_back({std::move(*source), steps_[i].comment});
  }
  return steps;
}

/// Tries it, and writes down what came of it. True if it is the best version now.
bool OptimizeLoop::settle(uint32_t number, const Result<Proposal> &proposal,
                          const std::string &folder, Aim aim) {
  Version version;
  std::optional<Failure> failure;
  if (!proposal)
    failure = Failure{"proposal", proposal.error().message()};
  else
    failure = judge(*proposal, number, folder, aim, version);
  if (supervisedStoppedBy() != 0) { // what failed then says nothing about it
    --tried_;
    return false;
  }
  OrderedJson line = {{"type", "attempt"},
                      {"version", 1},
                      {"attempt", number},
                      {"comment", proposal ? proposal->comment : ""},
                      {"accepted", !failure}};
  if (failure) {
    line["stage"] = failure->stage;
    line["reason"] = failure->reason;
  }
  if (version.costs.instructions != 0) line["counts"] = jsonOf(version.costs);
  write(line);
  history_.push_back(line);
  const std::string reason = failure ? firstLineOf(failure->reason) : "";
  complain(fmt::format("optimize: attempt {}: {}", number,
                       failure ? fmt::format("not accepted ({}): {}", failure->stage, reason)
                               : "accepted: " + textOf(version.costs)));
  if (failure) return false;
  best_ = std::move(version);
  accesses_ = trial_.accesses();
  profiles_ = trial_.profiles();
  ++accepted_;
  (void)writeFile(options_.output + "/best.patch", patchOf(nameInPatch(), original_, best_.source));
  return true;
}

/// From here, if the source is somewhere below.
std::string OptimizeLoop::nameInPatch() const {
  std::error_code error;
  const std::string near = fs::proximate(options_.source, error).string();
  return error || near.empty() || near.starts_with("..") ? options_.source : near;
}

void OptimizeLoop::write(const OrderedJson &line) {
  std::ofstream out(options_.output + "/ledger.jsonl", std::ios::app);
  out << jsonText(line) << "\n";
}

/// False if the source could not be written.
bool OptimizeLoop::finish() {
  bool is_applied = false;
  const bool is_interrupted = supervisedStoppedBy() != 0;
  const bool is_changed = contentsOf(options_.source) != original_; // somebody works on it
  if (is_changed)
    complain(fmt::format("optimize: {} was changed by someone else and is not overwritten",
                         options_.source));
  if (accepted_ != 0 && options_.apply && !is_interrupted && !is_changed) {
    is_applied = writeFile(options_.source, best_.source);
    if (!is_applied && contentsOf(options_.source) != original_) // not half of it
      (void)writeFile(options_.source, original_);
  }
  write({{"type", "end"},
         {"version", 1},
         {"attempts", tried_},
         {"accepted", accepted_},
         {"counts", jsonOf(best_.costs)},
         {"applied", is_applied},
         {"interrupted", is_interrupted}});
  if (tried_ == 0)
    complain(is_interrupted ? "optimize: nothing was tried" : "optimize: nothing was proposed");
  else if (accepted_ == 0)
    complain(fmt::format("optimize: nothing better in {} attempt{}; {}/ledger.jsonl says why",
                         tried_, tried_ == 1 ? "" : "s", options_.output));
  else
    complain(fmt::format("optimize: {} instead of {}: {}", textOf(best_.costs), textOf(first_),
                         is_applied ? options_.source : options_.output + "/best.patch"));
  return !options_.apply || accepted_ == 0 || is_applied;
}

int OptimizeLoop::run() {
  if (const Status ready = prepare(); !ready) {
    complain("optimize: " + (supervisedStoppedBy() == 0 ? ready.error().message()
                                                        : "interrupted before anything was tried"));
    return kUsageError;
  }
  for (uint32_t i = 1; i <= options_.attempts && !has_ended_; ++i) {
    attempt(i);
    has_ended_ = has_ended_ || supervisedStoppedBy() != 0;
  }
  dropSteps();
  if (!finish()) return kUsageError;
  return accepted_ == 0 ? 1 : 0;
}

} // namespace fade::cli
