#include "check/finding_sarif_junit.h"

#include "base/json_text.h"
#include "base/markup.h"
#include "check/advice.h"
#include "check/finding_message.h"
#include "check/finding_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fade::cli {
namespace {

using Sarif = nlohmann::json;
using checks::Check;

/// What is wrong with each check's findings, for the list of rules.
constexpr std::array<const char *, static_cast<std::size_t>(Check::count)> kRules = {
    "out-of-bounds access, or access to freed memory",
    "read of uninitialized memory",
    "data race",
    "barrier that not all work-items reach",
    "register used before its load has completed (missing s_waitcnt)",
    "missing wait states between two instructions",
    "device memory that is never freed",
    "hang: waves wait for an event that never happens",
    "NaN or infinity that is computed and stored",
    "lost value: overflow in a conversion, or a denormal flushed to 0",
    "synchronization that depends on the wave size",
    "result that depends on the order of waves and workgroups"};
static_assert(kRules.back() != nullptr);

Sarif locationOf(const FoundFrame &frame) {
  Sarif place = {{"artifactLocation", {{"uri", compare::fileUri(frame.file)}}}};
  place["region"] = {{"startLine", frame.line}};
  if (frame.column != 0) place["region"]["startColumn"] = frame.column;
  return {{"physicalLocation", std::move(place)}};
}

Sarif resultOf(const FoundFinding &f, bool has_baseline) {
  const bool is_leak = static_cast<Check>(f.raw.check) == Check::leak;
  const FoundFrame &at = is_leak ? f.allocation.caller : f.place.shown;
  Sarif result = {{"ruleId", checks::nameOf(static_cast<Check>(f.raw.check))},
                  {"ruleIndex", f.raw.check},
                  {"level", "error"},
                  {"message", {{"text", fmt::format("{}; {}", messageOf(f), adviceOf(f))}}},
                  {"partialFingerprints", {{"fade/v1", f.id}}}};
  if (has_baseline) result["baselineState"] = f.is_known ? "unchanged" : "new";
  if (at.line != 0) result["locations"] = Sarif::array({locationOf(at)});
  Sarif related = Sarif::array();
  const auto relate = [&](const FoundFrame &frame, const std::string &what) {
    if (frame.line == 0) return;
    Sarif one = locationOf(frame);
    one["id"] = related.size();
    one["message"] = {{"text", what}};
    related.push_back(std::move(one));
  };
  if (f.raw.other.pc || !f.other_api.empty()) relate(f.other.shown, secondPlaceName(f));
  for (const FoundFinding &detail : f.details) relate(detail.place.shown, messageOf(detail));
  if (!related.empty()) result["relatedLocations"] = std::move(related);
  return result;
}

} // namespace

std::string findingsSarif(const std::vector<FoundFinding> &findings, const std::string &version,
                          bool has_baseline) {
  Sarif rules = Sarif::array(), results = Sarif::array();
  for (std::size_t i = 0; i < kRules.size(); ++i)
    rules.push_back({{"id", checks::nameOf(static_cast<Check>(i))},
                     {"shortDescription", {{"text", kRules[i]}}}});
  for (const FoundFinding &f : findings) results.push_back(resultOf(f, has_baseline));
  const Sarif document = {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs",
       {{{"tool", {{"driver", {{"name", "fadeprobe"}, {"version", version}, {"rules", rules}}}}},
         {"results", results}}}}};
  return jsonText(document, 2) + '\n';
}

std::string findingsJunit(const std::vector<FoundFinding> &findings, const checks::Options &made) {
  std::size_t tests = 0, failures = 0;
  std::string cases;
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    const auto check = static_cast<Check>(i);
    if (!made.has(check)) continue;
    std::string text, first;
    for (const FoundFinding &f : findings) {
      if (f.raw.check != i || f.is_known) continue;
      if (first.empty()) first = messageOf(f);
      text += fmt::format("{} {}\n", f.id, findingText(f));
    }
    ++tests;
    cases += fmt::format("  <testcase classname=\"fadeprobe.check\" name=\"{}\" time=\"0\"",
                         checks::nameOf(check));
    if (text.empty()) {
      cases += "/>\n";
      continue;
    }
    ++failures;
    cases +=
        fmt::format(">\n    <failure type=\"finding\" message=\"{}\">{}</failure>\n  </testcase>\n",
                    compare::escapeMarkup(first), compare::escapeMarkup(text));
  }
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                     "<testsuite name=\"fadeprobe check\" tests=\"{}\" failures=\"{}\" "
                     "errors=\"0\" time=\"0\">\n{}</testsuite>\n",
                     tests, failures, cases);
}

} // namespace fade::cli
