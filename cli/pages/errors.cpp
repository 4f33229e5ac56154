#include "pages/errors.h"

#include "base/markup.h"

#include <filesystem>
#include <fmt/format.h>

namespace fade::report {
namespace {

std::string itemOf(const Json &place) {
  if (!place.contains("work_item") || !place.contains("workgroup")) return "";
  const auto item = three(place, "work_item"), group = three(place, "workgroup");
  return fmt::format("work-item {},{},{} of workgroup {},{},{}", item[0], item[1], item[2],
                     group[0], group[1], group[2]);
}

/// Other lines that the compiler has put into the same instruction.
std::string mergedOf(const Json &place) {
  const auto merged = place.find("merged");
  if (merged == place.end() || !merged->is_object()) return "";
  std::string lines;
  const auto list = merged->find("lines");
  if (list == merged->end() || !list->is_array()) return "";
  for (const Json &line : *list)
    if (line.is_number_unsigned())
      lines += fmt::format("{}{}", lines.empty() ? "" : ", ", line.get<uint64_t>());
  if (lines.empty()) return "";
  const char *word = list->size() == 1 ? "line" : "lines";
  return flag(*merged, "of_byte", false)
             ? fmt::format("merged with {} {} into one instruction", word, lines)
             : fmt::format("or {} {}, merged with it into one instruction", word, lines);
}

/// One side of a finding.
Json placeOf(const Json &place, SourceFiles &sources) {
  Json stack = Json::array();
  for (const Json &frame : objects(place, "stack"))
    stack.push_back({{"function", text(frame, "function")},
                     {"file", sources.indexOf(text(frame, "file"))},
                     {"line", smallNumber(frame, "line")}});
  return {{"file", sources.indexOf(text(place, "file"), true)},
          {"line", smallNumber(place, "line")},
          {"column", smallNumber(place, "column")},
          {"function", text(place, "function")},
          {"instruction", text(place, "instruction")},
          {"merged", mergedOf(place)},
          {"item", itemOf(place)},
          {"stack", std::move(stack)}};
}

Json errorOf(const Json &finding, SourceFiles &sources) {
  const std::string check = text(finding, "check");
  Json one = {{"check", check},
              {"problem", text(finding, "problem")},
              {"id", text(finding, "id")},
              {"message", text(finding, "message")},
              {"advice", text(finding, "advice")},
              {"page", text(finding, "page")},
              {"count", number(finding, "count", 1)},
              {"kernel", text(finding, "kernel")},
              {"summary", text(finding, "summary")},
              {"places", Json::array()}};
  if (const auto chain = finding.find("chain"); chain != finding.end()) one["chain"] = *chain;
  // Memory that was not freed has no place in a kernel.
  if (check != "leak")
    one["places"].push_back(placeOf(finding, sources));
  else if (const auto at = finding.find("allocation"); at != finding.end())
    one["places"].push_back(placeOf(*at, sources));
  if (const auto other = finding.find("other"); other != finding.end() && other->is_object()) {
    Json place = placeOf(*other, sources);
    place["kernel"] = text(*other, "kernel");
    one["places"].push_back(std::move(place));
  }
  return one;
}

} // namespace

std::string docsAddress() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = program.parent_path().parent_path() / "share/fade/docs";
  if (error || !fs::exists(folder / "check.md", error)) return "";
  return compare::pathUri(folder.string());
}

Json errorList(const RunLog &log, SourceFiles &sources) {
  if (!log.was_checked) return {};
  Json out = Json::array();
  for (const Json &finding : log.errors) {
    Json one = errorOf(finding, sources);
    one["known"] = flag(finding, "known", false);
    one["details"] = Json::array();
    for (const Json &detail : objects(finding, "details"))
      one["details"].push_back(errorOf(detail, sources));
    out.push_back(std::move(one));
  }
  return out;
}

} // namespace fade::report
