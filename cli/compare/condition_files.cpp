// The outcome of conditions for other programs: JUnit's XML and SARIF 2.1.0.
#include "compare/condition.h"

#include "compare/markup.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fade::compare {
namespace {

/// Relative to the folder that the run was started in, as those who read SARIF expect it, if it is
/// below that.
std::string uriOf(const std::string &file) {
  std::error_code error;
  const auto here = std::filesystem::current_path(error);
  std::string path = file;
  if (const std::string prefix = here.string() + '/'; !error && file.starts_with(prefix))
    path = file.substr(prefix.size());
  std::string uri;
  for (const char c : path) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                          std::string_view("/-._~").find(c) != std::string_view::npos;
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

nlohmann::json sarifResult(const Outcome &outcome, const Violation &violation) {
  const Subject &subject = violation.subject;
  nlohmann::json result = {{"ruleId", outcome.condition->text},
                           {"level", "error"},
                           {"message", {{"text", violation.text()}}}};
  if (subject.file.empty()) return result;
  nlohmann::json place = {{"artifactLocation", {{"uri", uriOf(subject.file)}}}};
  if (subject.line != 0) {
    place["region"] = {{"startLine", subject.line}};
    if (subject.column != 0) place["region"]["startColumn"] = subject.column;
  }
  result["locations"] = {{{"physicalLocation", place}}};
  return result;
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
    if (outcome.looked_at == 0) text = "nothing that was measured is meant\n";
    cases += fmt::format(
        ">\n    <failure type=\"condition\" message=\"{}\">{}</failure>\n  </testcase>\n",
        escapeMarkup(text.substr(0, text.find('\n'))), escapeMarkup(text));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"fadeprobe\" tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"0\">\n"
      "{}</testsuite>\n",
      outcomes.size(), failures, cases);
}

std::string sarifText(const std::vector<Outcome> &outcomes, const std::string &version) {
  nlohmann::json rules = nlohmann::json::array(), results = nlohmann::json::array();
  for (const Outcome &outcome : outcomes) {
    const std::string &text = outcome.condition->text;
    nlohmann::json rule = {{"id", text}, {"shortDescription", {{"text", "must not be: " + text}}}};
    // The same condition twice is one rule.
    if (std::ranges::find(rules, rule) == rules.end()) rules.push_back(std::move(rule));
    for (const Violation &violation : outcome.violations)
      results.push_back(sarifResult(outcome, violation));
    if (outcome.looked_at == 0)
      results.push_back({{"ruleId", text},
                         {"level", "error"},
                         {"message", {{"text", text + ": nothing that was measured is meant"}}}});
  }
  const nlohmann::json document = {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs",
       {{{"tool", {{"driver", {{"name", "fadeprobe"}, {"version", version}, {"rules", rules}}}}},
         {"results", results}}}}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

} // namespace fade::compare
