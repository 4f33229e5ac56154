// The outcome of conditions for other programs: JUnit's XML and SARIF 2.1.0.
#include "comparison/condition.h"

#include "base/json_text.h"
#include "base/markup.h"

#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

namespace fade::compare {
namespace {

/// What results refer to instead of repeating it: names of kernels run to thousands of characters.
class LogicalLocations {
public:
  std::size_t indexOf(const std::string &kernel) {
    const auto [at, is_new] = index_.try_emplace(kernel, list_.size());
    if (is_new)
      list_.push_back(
          {{"name", shortName(kernel)}, {"fullyQualifiedName", kernel}, {"kind", "function"}});
    return at->second;
  }
  nlohmann::json take() { return std::move(list_); }

private:
  std::map<std::string, std::size_t> index_;
  nlohmann::json list_ = nlohmann::json::array();
};

nlohmann::json sarifResult(std::size_t rule, const std::string &id, const Violation &violation,
                           LogicalLocations &kernels) {
  const Subject &subject = violation.subject;
  const std::size_t kernel = kernels.indexOf(subject.kernel);
  nlohmann::json result = {{"ruleId", id},
                           {"ruleIndex", rule},
                           {"level", "error"},
                           {"message", {{"text", violation.text()}}}};
  // Code hosts refuse a location that is only a logical one.
  if (subject.file.empty()) return result;
  nlohmann::json place = {{"artifactLocation", {{"uri", fileUri(subject.file)}}}};
  if (subject.line != 0) {
    place["region"] = {{"startLine", subject.line}};
    if (subject.column != 0) place["region"]["startColumn"] = subject.column;
  }
  result["locations"] = {
      {{"physicalLocation", place}, {"logicalLocations", {{{"index", kernel}}}}}};
  return result;
}

/// "<system-out>" with the whole names of kernels whose names are shortened.
std::string wholeNames(const std::vector<Outcome> &outcomes) {
  std::map<std::string, std::string> whole;
  for (const Outcome &outcome : outcomes)
    for (const Violation &violation : outcome.violations)
      if (std::string name = shortName(violation.subject.kernel); name != violation.subject.kernel)
        whole.try_emplace(violation.subject.kernel, std::move(name));
  if (whole.empty()) return "";
  std::string text = "  <system-out>";
  for (const auto &[kernel, name] : whole) text += escapeMarkup(name + " is " + kernel + '\n');
  return text + "</system-out>\n";
}

} // namespace

std::string junitText(const std::vector<Outcome> &outcomes) {
  std::size_t failures = 0;
  std::string cases;
  for (const Outcome &outcome : outcomes) {
    cases += fmt::format("  <testcase classname=\"fadeprobe\" name=\"{}\" time=\"0\"",
                         escapeMarkup(outcome.condition->text));
    if (outcome.isFine()) {
      cases += "/>\n";
      continue;
    }
    ++failures;
    std::string text;
    for (const Violation &violation : outcome.violations) text += violation.text() + '\n';
    if (outcome.looked_at == 0) text = outcome.nothing + "\n";
    cases += fmt::format(
        ">\n    <failure type=\"condition\" message=\"{}\">{}</failure>\n  </testcase>\n",
        escapeMarkup(text.substr(0, text.find('\n'))), escapeMarkup(text));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"fadeprobe\" tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"0\">\n"
      "{}{}</testsuite>\n",
      outcomes.size(), failures, cases, wholeNames(outcomes));
}

std::string sarifText(const std::vector<Outcome> &outcomes, const std::string &version) {
  nlohmann::json rules = nlohmann::json::array(), results = nlohmann::json::array();
  std::map<std::string, std::size_t> known; // The same condition twice is one rule.
  LogicalLocations kernels;
  for (const Outcome &outcome : outcomes) {
    const std::string &text = outcome.condition->text;
    const std::string id = shortName(text);
    const auto [rule, is_new] = known.try_emplace(text, rules.size());
    if (is_new)
      rules.push_back({{"id", id}, {"shortDescription", {{"text", "must not be: " + text}}}});
    for (const Violation &violation : outcome.violations)
      results.push_back(sarifResult(rule->second, id, violation, kernels));
    if (outcome.looked_at == 0)
      results.push_back({{"ruleId", id},
                         {"ruleIndex", rule->second},
                         {"level", "error"},
                         {"message", {{"text", text + ": " + outcome.nothing}}}});
  }
  const nlohmann::json document = {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs",
       {{{"tool", {{"driver", {{"name", "fadeprobe"}, {"version", version}, {"rules", rules}}}}},
         {"logicalLocations", kernels.take()},
         {"results", results}}}}};
  return jsonText(document, 2) + '\n';
}

} // namespace fade::compare
