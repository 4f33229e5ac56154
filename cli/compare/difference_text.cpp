#include "compare/difference_text.h"

#include "base/json_shapes.h"
#include "fade/json_writer.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace fade::compare {
namespace {

constexpr std::size_t kPlaceColumns = 34;

const char *unitOf(const Change &change, const Subject &subject) {
  const MetricInfo &info = infoOf(change.metric);
  return subject.is_kernel ? info.of_kernel : info.of_access;
}

std::string byHowMuch(const Change &change) {
  const std::string text = changeText(change);
  return text.empty() ? "" : ", " + text;
}

/// "32 -> 2 cache lines per execution, -93.8 %".
std::string sentence(const Change &change, const Subject &subject) {
  std::string text = fmt::format("{} -> {} {}{}", valueText(change.metric, change.before),
                                 valueText(change.metric, change.after), unitOf(change, subject),
                                 byHowMuch(change));
  if (change.metric != Metric::time || change.verdict == Verdict::same) return text;
  if (!change.chance) return text + ", too few dispatches to tell";
  if (change.verdict == Verdict::unclear)
    return text + fmt::format(", may be chance (p {:.2g})", *change.chance);
  return text + fmt::format(" (p {:.2g})", *change.chance);
}

const char *colorOf(Verdict verdict) {
  return verdict == Verdict::better ? "32" : verdict == Verdict::worse ? "31" : "0";
}

std::string onlyIn(const Pair &pair, const Names &names) {
  return fmt::format("only in {}", pair.before ? names.before : names.after);
}

} // namespace

std::string changeText(const Change &change) {
  if (change.before == 0 || infoOf(change.metric).is_share) return "";
  constexpr double many = 10;
  if (1 + change.ratio() >= many) return fmt::format("{:.3g} times", 1 + change.ratio());
  return fmt::format("{:+.3g} %", 100 * change.ratio());
}

std::string differenceText(const Comparing &runs, const report::Terminal &terminal, bool all) {
  const Difference &difference = runs.difference;
  const Names &names = runs.names;
  const auto paint = [&](const char *code, const std::string &text) {
    return terminal.has_color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  };
  std::string text, heading;
  if (!difference.isEmpty())
    text = paint(colorOf(runs.cost.cost.verdict), verdictLine(runs.cost, runs.models)) + '\n';
  for (const Pair &pair : difference.pairs) {
    const Subject &subject = pair.any();
    if (subject.is_kernel) heading = paint("1", pair.kernel(false)) + '\n';
    std::string lines;
    const std::string place = subject.is_kernel ? "" : subject.place();
    if (!pair.before || !pair.after)
      lines = fmt::format("  {:<{}}  {}\n", place, kPlaceColumns, onlyIn(pair, names));
    for (const Change *change : pair.worthALine(all))
      lines += fmt::format(
          "  {:<{}}  {}  {}\n", place, kPlaceColumns,
          paint(colorOf(change->verdict), fmt::format("{:<7}", verdictName(change->verdict))),
          sentence(*change, subject));
    if (lines.empty()) continue;
    text += std::exchange(heading, "") + lines;
  }
  return text + fmt::format("{} better, {} worse, {} the same\n", difference.better,
                            difference.worse, difference.same);
}

std::string differenceJson(const Comparing &runs) {
  const Difference &difference = runs.difference;
  const Names &names = runs.names;
  JsonWriter json;
  std::size_t only_before = 0, only_after = 0;
  for (const Pair &pair : difference.pairs) {
    only_before += pair.after ? 0 : 1;
    only_after += pair.before ? 0 : 1;
    json.object([&] {
      const Subject &subject = pair.any();
      json.field("type", "difference");
      json.field("version", 1);
      json.field("kernel", subject.kernel);
      cli::putUnlessNone(json, "module", subject.module);
      if (pair.before && pair.after && pair.before->module != subject.module)
        cli::putUnlessNone(json, "module_before", pair.before->module);
      if (!subject.is_kernel) {
        json.field("file", subject.file);
        json.field("line", subject.line);
        json.field("column", subject.column);
        json.field("op", subject.op);
        json.field("space", subject.is_lds ? "lds" : "global");
        if (pair.before && pair.after) json.field("line_before", pair.before->line);
      }
      json.field("in", !pair.before ? "after" : !pair.after ? "before" : "both");
      json.list("changes", [&] {
        for (const Change &change : pair.changes)
          json.object([&] {
            json.field("metric", infoOf(change.metric).name);
            json.field("before", change.before);
            json.field("after", change.after);
            json.field("verdict", verdictName(change.verdict));
            if (change.chance) json.field("chance", *change.chance);
          });
      });
    });
  }
  json.object([&] {
    json.field("type", "difference_summary");
    json.field("version", 1);
    json.field("before", names.before);
    json.field("after", names.after);
    json.field("better", difference.better);
    json.field("worse", difference.worse);
    json.field("same", difference.same);
    json.field("only_before", only_before);
    json.field("only_after", only_after);
    const Cost &cost = runs.cost.cost;
    if (cost.kind == CostKind::none) return;
    json.field("verdict", verdictName(cost.verdict));
    constexpr std::array kinds = {"none", "measured", "modeled", "instructions"};
    json.field("cost", kinds[static_cast<std::size_t>(cost.kind)]);
    json.field("cost_before", cost.before);
    json.field("cost_after", cost.after);
    json.field("is_estimated", cost.kind == CostKind::modeled && !runs.models.is_counted);
    json.field("because", runs.cost.because);
    json.field("left_out", runs.cost.left_out);
  });
  return json.take();
}

} // namespace fade::compare
