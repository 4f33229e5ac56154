#include "optimize/trial.h"

#include "base/json_text.h"
#include "base/supervised.h"
#include "captures/counted_version.h"
#include "profiles/profile.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <optional>

namespace fade::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char *kSelf = "/proc/self/exe";

/// Objects, one per line; what is none is left out.
std::vector<OrderedJson> objectsIn(std::istream &in) {
  std::vector<OrderedJson> objects;
  for (std::string line; std::getline(in, line);)
    if (OrderedJson object = parsedOrderedJson(line); object.is_object())
      objects.push_back(std::move(object));
  return objects;
}
std::vector<OrderedJson> objectsIn(const std::string &text) {
  std::istringstream in(text);
  return objectsIn(in);
}

const OrderedJson *find(const std::vector<OrderedJson> &objects, const char *type) {
  const auto at = std::ranges::find_if(
      objects, [&](const OrderedJson &o) { return o.value("type", "") == type; });
  return at == objects.end() ? nullptr : &*at;
}

std::string differencesText(const OrderedJson &check) {
  uint64_t elements = 0;
  std::string first;
  for (const OrderedJson &difference : check.value("differences", OrderedJson::array())) {
    elements += difference.value("elements", uint64_t{0});
    if (first.empty())
      for (const OrderedJson &example : difference.value("examples", OrderedJson::array())) {
        first =
            fmt::format(", such as {} instead of {}", jsonText(example.value("got", OrderedJson())),
                        jsonText(example.value("expected", OrderedJson())));
        break;
      }
  }
  return fmt::format("{} elements differ{}", elements, first);
}

} // namespace

/// On a card if there is one like that of the capture, else on the executor.
std::optional<Failure> Trial::compare(const CaptureLine &capture, const std::string &code) {
  Words words = {kSelf, "replay", capture.path, "--check", "--json", "--no-model", "-c", code};
  if (!settings_.tolerance.empty()) words.insert(words.end(), {"--tolerance", settings_.tolerance});
  const SupervisedEnd end = runSupervised(words, {}, settings_.patience);
  const std::vector<OrderedJson> lines = objectsIn(end.out);
  const OrderedJson *check = find(lines, "check"), *replay = find(lines, "replay");
  if (!check || !replay || end.timed_out)
    return Failure{"results", fmt::format("{}: {}", capture.path, lastWords(end))};
  if (!check->value("equal", false))
    return Failure{"results", fmt::format("{}: {}", capture.path, differencesText(*check))};
  const OrderedJson *versions = find(lines, "versions");
  if (versions && replay->value("on", "") != "executor" && versions->contains("speedup_low"))
    surely_faster_ = std::min(surely_faster_.value_or(1e9), versions->value("speedup_low", 0.0));
  return std::nullopt;
}

std::optional<Failure> Trial::compareChanged(const CaptureLine &capture, const std::string &code) {
  // With a tolerance, without those that change signs: sums of numbers that nearly cancel each
  // other would be farther apart than any tolerance.
  const unsigned step = settings_.tolerance.empty() ? 1 : 2;
  for (unsigned i = 0, seed = 1; i < settings_.changed_inputs; ++i, seed += step) {
    Words words = {
        kSelf, "replay", capture.path, "--check",  "--json",          "--no-model",
        "-c",  code,     "--on",       "software", "--change-inputs", std::to_string(seed)};
    if (!settings_.tolerance.empty())
      words.insert(words.end(), {"--tolerance", settings_.tolerance});
    const SupervisedEnd end = runSupervised(words, {}, settings_.patience);
    const std::vector<OrderedJson> lines = objectsIn(end.out);
    const OrderedJson *check = find(lines, "check");
    if (check && !end.timed_out) {
      if (!check->value("equal", false))
        return Failure{"changed inputs", fmt::format("{} with seed {}: {}", capture.path, seed,
                                                     differencesText(*check))};
      continue;
    }
    // The captured code itself may not be able to work on such inputs: then they prove nothing.
    words.erase(std::ranges::find(words, "--check"));
    const auto at = std::ranges::find(words, "-c");
    *(at + 1) = capture.path + "/code/0.hsaco";
    const SupervisedEnd captured = runSupervised(words, {}, settings_.patience);
    if (captured.code == 0 && captured.signal == 0 && !captured.timed_out)
      return Failure{"changed inputs",
                     fmt::format("{} with seed {}: {}", capture.path, seed, lastWords(end))};
  }
  return std::nullopt;
}

Result<std::map<std::string, uint64_t>> Trial::findings(const CaptureLine &capture,
                                                        const std::string &code) {
  const std::string file = settings_.folder + "/findings.jsonl";
  std::filesystem::remove(file);
  const SupervisedEnd end = runSupervised(
      {kSelf, "check", capture.path, "--code", code, "--json", file}, {}, 10 * settings_.patience);
  std::ifstream in(file);
  if (end.timed_out || end.signal != 0 || end.code != 0 || !in)
    return Error{capture.path, "", 0, "it could not be checked: " + lastWords(end)};
  std::map<std::string, uint64_t> counts;
  for (const OrderedJson &finding : objectsIn(in)) ++counts[finding.value("check", "?")];
  return counts;
}

Status Trial::learnFindings(const std::string &code) {
  for (const CaptureLine &capture : settings_.captures) {
    auto found = findings(capture, code);
    if (!found) return std::move(found).error();
    known_[capture.path] = std::move(*found);
  }
  return Done();
}

std::optional<Failure> Trial::isWrong(const std::string &code) {
  surely_faster_.reset();
  for (const CaptureLine &capture : settings_.captures)
    if (auto failure = compare(capture, code)) return failure;
  for (const CaptureLine &capture : settings_.captures)
    if (auto failure = compareChanged(capture, code)) return failure;
  for (const CaptureLine &capture : settings_.captures) {
    const auto found = findings(capture, code);
    if (!found) return Failure{"findings", found.error().message()};
    for (const auto &[check, count] : *found)
      if (const uint64_t before = known_[capture.path][check]; count > before)
        return Failure{"findings", fmt::format("{}: {} of the check '{}', {} before", capture.path,
                                               count, check, before)};
  }
  return std::nullopt;
}

/// On the software GPU, through ROCr. Without that, instructions alone are compared.
Status Trial::addCounts(const CaptureLine &capture, const std::string &code, Costs &costs) {
  const std::string file = settings_.folder + "/counts.jsonl";
  const auto log = countVersion(capture, code, file, 10 * settings_.patience);
  if (!log) return log.error();
  std::ifstream in(file);
  for (const OrderedJson &object : objectsIn(in)) {
    if (object.value("type", "") != "memory_total") continue;
    accesses_.push_back(object);
    for (const OrderedJson &access : object.value("global", OrderedJson::array()))
      costs.lines += access.value("lines_used", uint64_t{0});
    for (const OrderedJson &access : object.value("lds", OrderedJson::array()))
      costs.conflicts += access.value("conflicts", uint64_t{0});
  }
  const profile::Profile profile = profile::profileOf(*log, nullptr, false, {});
  bool is_counted = false;
  for (const profile::ProfiledKernel &kernel : profile.kernels) {
    if (!kernel.counts.is_counted) continue;
    is_counted = true;
    const auto dispatches = static_cast<double>(kernel.counts.dispatches);
    costs.instructions += kernel.counts.executions();
    costs.modeled_ns += kernel.time.total() * dispatches;
    costs.busy_ns += kernel.time.busy() * dispatches;
  }
  for (const auto &one : profile::forProposers(profile)) profiles_.push_back(one);
  if (!is_counted) return Error{capture.path, "", 0, "nothing was counted"};
  return Done();
}

Result<uint64_t> Trial::instructions(const CaptureLine &capture, const std::string &code) const {
  const SupervisedEnd end = runSupervised({kSelf, "replay", capture.path, "--on", "software", "-c",
                                           code, "--no-recopy", "--no-model", "--json"},
                                          {}, settings_.patience);
  const std::vector<OrderedJson> lines = objectsIn(end.out);
  const OrderedJson *replay = find(lines, "replay");
  if (!replay || end.timed_out) return Error{capture.path, "", 0, lastWords(end)};
  return replay->value("instructions", uint64_t{0});
}

Result<Costs> Trial::costs(const std::string &code) {
  Costs costs;
  costs.has_memory = true;
  accesses_ = OrderedJson::array();
  profiles_ = OrderedJson::array();
  for (const CaptureLine &capture : settings_.captures)
    if (!addCounts(capture, code, costs)) {
      costs = Costs();
      break;
    }
  if (costs.has_memory) return costs;
  for (const CaptureLine &capture : settings_.captures) {
    const auto count = instructions(capture, code);
    if (!count) return count.error();
    costs.instructions += *count;
  }
  return costs;
}

} // namespace fade::cli
