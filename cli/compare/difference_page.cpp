#include "compare/difference_text.h"

#include "base/markup.h"
#include "compare/page_parts.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace fade::compare {
namespace {

constexpr const char *kStyle = R"(
:root { color-scheme: light; --ink: #1b1f24; --paper: #fff; --line: #d8dee4; --soft: #57606a; --good: #1a7f37; --bad: #cf222e; }
:root[data-theme=dark] { color-scheme: dark; --ink: #e6edf3; --paper: #0d1117; --line: #30363d; --soft: #8b949e; --good: #3fb950; --bad: #f85149; }
.tools { display: flex; gap: .6rem; float: right; } td pre { margin: 0; color: var(--soft); font: 12px ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; overflow-wrap: anywhere; margin-top: 2rem; }
p.sum { font-size: 1.1rem; } .soft { color: var(--soft); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .7rem; border-bottom: 1px solid var(--line); white-space: nowrap; } td.n, th.n { text-align: right; }
td.where { width: 50%; white-space: normal; } .better { color: var(--good); } .worse { color: var(--bad); }
details { margin: .8rem 0; } svg { display: block; width: 100%; max-width: 40rem; height: auto; color: var(--ink); } svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
td.code { white-space: pre; font: 13px ui-monospace, monospace; width: 70%; } tr.place td.number { color: var(--soft); text-align: right; }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: auto 1fr; gap: .1rem 1rem; margin: 0; } dt { color: var(--soft); } dd { margin: 0; }
)";

/// The theme, and a field that leaves only kernels and places with what was typed.
constexpr const char *kScript = R"js(
const root = document.documentElement, theme = document.getElementById("theme"), field = document.getElementById("search");
const set = (dark) => { root.dataset.theme = dark ? "dark" : "light"; theme.textContent = dark ? "Light" : "Dark"; };
set(matchMedia("(prefers-color-scheme: dark)").matches);
theme.onclick = () => set(root.dataset.theme !== "dark");
field.oninput = () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean), has = (text) => words.every((word) => text.toLowerCase().includes(word));
  for (const kernel of document.querySelectorAll("section")) {
    const name = kernel.querySelector("h2").textContent, rows = [...kernel.querySelectorAll("tr.place")];
    for (const row of rows) row.hidden = !has(name + " " + row.textContent);
    kernel.hidden = rows.length ? rows.every((row) => row.hidden) : !has(name);
  }
};
addEventListener("keydown", (event) => { if (event.key === "/" && event.target !== field) { field.focus(); event.preventDefault(); } });
)js";

/// Where, with the line of source if it is known.
std::string placeCell(const Subject &subject) {
  if (subject.is_kernel) return "the kernel";
  std::string source = subject.source.substr(
      std::min(subject.source.find_first_not_of(" \t"), subject.source.size()));
  const std::string place = escapeMarkup(subject.place());
  return source.empty() ? place : fmt::format("{}<pre>{}</pre>", place, escapeMarkup(source));
}

std::string row(const Pair &pair, const Change &change) {
  const Subject &subject = pair.any();
  const MetricInfo &info = infoOf(change.metric);
  std::string verdict = verdictName(change.verdict);
  if (change.chance) verdict += fmt::format(" (p {:.2g})", *change.chance);
  return fmt::format(
      "<tr class=place><td class=where>{}</td><td>{}</td><td class=n>{}</td><td class=n>{}</td>"
      "<td class=n>{}</td><td class={}>{}</td></tr>\n",
      placeCell(subject), escapeMarkup(subject.is_kernel ? info.of_kernel : info.of_access),
      valueText(change.metric, change.before), valueText(change.metric, change.after),
      changeText(change), verdictName(change.verdict), verdict);
}

/// A name that is too long to be read is whole on a click.
std::string heading(const Pair &pair) {
  const std::string whole = pair.kernel(true), brief = pair.kernel(false);
  const std::string name = fmt::format("<code>{}</code>", escapeMarkup(brief));
  if (whole == brief) return fmt::format("<h2>{}</h2>", name);
  return fmt::format("<h2><details><summary>{}</summary><code>{}</code></details></h2>", name,
                     escapeMarkup(whole));
}

} // namespace

std::string differencePage(const Comparing &runs) {
  const Difference &difference = runs.difference;
  const Names &names = runs.names;
  std::string body, behind;
  bool is_open = false;
  const auto close = [&] {
    if (is_open) body += "</table></div>" + std::exchange(behind, "") + "</section>\n";
    is_open = false;
  };
  for (const Pair &pair : difference.pairs) {
    const Subject &subject = pair.any();
    if (subject.is_kernel) {
      close();
      body += fmt::format("<section>{}\n<div class=scroll><table><tr><th>place<th>what"
                          "<th class=n>before<th class=n>after<th class=n>change<th></tr>\n",
                          heading(pair));
      is_open = true;
      behind =
          unitTable(pair, runs.models) + rooflines(pair, runs.models) + sourceOf(difference, pair);
    }
    if (!pair.before || !pair.after)
      body +=
          fmt::format("<tr class=place><td>{}</td><td class=\"what soft\" colspan=5>only in {}"
                      "</td></tr>\n",
                      placeCell(subject), escapeMarkup(pair.before ? names.before : names.after));
    for (const Change *change : pair.worthALine(false)) body += row(pair, *change);
  }
  close();
  return fmt::format(
      "<!doctype html>\n<html lang=en><meta charset=utf-8>"
      "<meta name=viewport content=\"width=device-width\"><title>Before and after</title>"
      "<style>{}</style>\n<div class=tools><input id=search type=search placeholder=\"search  /\" "
      "aria-label=\"search kernels and places\"><button id=theme type=button aria-label=\"switch "
      "between light and dark\">Dark</button></div>\n<h1>Before and after</h1>\n"
      "<dl><dt>before</dt><dd><code>{}</code></dd><dt>after</dt><dd><code>{}</code></dd></dl>\n"
      "<p class=\"sum {}\" id=verdict>{}</p>\n<p><span class=better>{} better</span>, <span "
      "class=worse>{} worse</span>, {} the "
      "same</p>\n{}<script>{}</script></html>\n",
      kStyle, escapeMarkup(names.before), escapeMarkup(names.after),
      verdictName(runs.cost.cost.verdict), escapeMarkup(verdictLine(runs.cost, runs.models)),
      difference.better, difference.worse, difference.same, body, kScript);
}

} // namespace fade::compare
