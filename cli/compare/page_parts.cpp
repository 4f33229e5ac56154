#include "compare/page_parts.h"

#include "base/markup.h"
#include "base/source_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>

namespace fade::compare {
namespace {

using profile::ModeledKernel;

/// The kernel in both runs; nothing unless the model knows both.
std::optional<std::pair<const ModeledKernel *, const ModeledKernel *>>
bothOf(const Pair &kernel, const ModeledRuns &runs) {
  if (!kernel.before || !kernel.after || kernel.before->index >= runs.before.size() ||
      kernel.after->index >= runs.after.size())
    return std::nullopt;
  const ModeledKernel &a = runs.before[kernel.before->index], &b = runs.after[kernel.after->index];
  if (!a.isKnown() || !b.isKnown()) return std::nullopt;
  return std::pair(&a, &b);
}

/// A kernel in the picture: operations per byte of memory, and per second.
struct Point {
  double intensity = 0, rate = 0;

  static std::optional<Point> of(const ModeledKernel &kernel) {
    const auto flops = static_cast<double>(kernel.counts.flops.all());
    const auto bytes = static_cast<double>(kernel.counts.bytes.dram);
    const double seconds = kernel.allNs() / 1e9;
    if (flops <= 0 || bytes <= 0 || seconds <= 0) return std::nullopt;
    return Point{flops / bytes, flops / seconds};
  }
};

/// Both axes are logarithmic.
class Picture {
public:
  Picture(double left, double right, double low, double high)
      : left_(std::log10(left)), right_(std::log10(right)), low_(std::log10(low)),
        high_(std::log10(high)) {}
  double x(double value) const {
    return kBorder + (std::log10(value) - left_) / (right_ - left_) * (kWidth - kBorder - 10);
  }
  double y(double value) const {
    return 10 + (high_ - std::log10(value)) / (high_ - low_) * (kHeight - kBorder - 10);
  }
  static constexpr double kWidth = 640, kHeight = 320, kBorder = 60;

private:
  double left_, right_, low_, high_;
};

std::string ratePrefix(double rate) {
  for (const auto &[unit, name] : {std::pair(1e12, "T"), std::pair(1e9, "G"), std::pair(1e6, "M")})
    if (rate >= unit) return fmt::format("{:.3g} {}flop/s", rate / unit, name);
  return fmt::format("{:.3g} flop/s", rate);
}

std::string changesText(const Pair &pair) {
  std::string text;
  for (const Change *change : pair.worthALine(false))
    text += fmt::format("{}<span class={}>{} {} &rarr; {}</span>", text.empty() ? "" : "; ",
                        verdictName(change->verdict), infoOf(change->metric).name,
                        valueText(change->metric, change->before),
                        valueText(change->metric, change->after));
  return text;
}

} // namespace

std::string unitTable(const Pair &kernel, const ModeledRuns &runs) {
  const auto both = bothOf(kernel, runs);
  if (!both) return "";
  const auto &[a, b] = *both;
  std::string rows;
  const auto add = [&](const char *name, double before, double after) {
    if (before > 0 || after > 0)
      rows +=
          fmt::format("<tr><td>{}</td><td class=n>{}</td><td class=n>{}</td></tr>\n", name,
                      valueText(Metric::model_time, before), valueText(Metric::model_time, after));
  };
  for (std::size_t i = 0; i < profile::kLimits; ++i)
    add(profile::nameOf(static_cast<profile::Limit>(i)), a->time.ns[i], b->time.ns[i]);
  add("start and end", a->time.launch_ns, b->time.launch_ns);
  return fmt::format(
      "<details open><summary>Modeled time of a dispatch: the longest of these, plus "
      "start and end</summary>\n<div class=scroll><table class=units><tr>"
      "<th>busy<th class=n>before<th class=n>after</tr>\n{}</table></div></details>\n",
      rows);
}

std::string rooflines(const Pair &kernel, const ModeledRuns &runs) {
  const auto both = bothOf(kernel, runs);
  if (!both) return "";
  const auto a = Point::of(*both->first), b = Point::of(*both->second);
  if (!a || !b) return "";
  const profile::GpuModel &gpu = both->second->gpu;
  const double peak = gpu.plainPeak(codeobj::NumberType::F32), bytes = gpu.memory_bytes_per_s;
  const double knee = peak / bytes;
  const double left = std::min({a->intensity, b->intensity, knee}) / 4;
  const double right = std::max({a->intensity, b->intensity, knee}) * 4;
  const double low = std::min({a->rate, b->rate, left * bytes}) / 2;
  const Picture p(left, right, low, peak * 2);
  std::string svg = fmt::format(
      "<svg class=roofline viewBox=\"0 0 {:.0f} {:.0f}\" role=img aria-label=\"roofline, before "
      "and "
      "after\">\n<path fill=none stroke=currentColor d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} "
      "{:.1f}\"/>\n",
      Picture::kWidth, Picture::kHeight, p.x(left), p.y(left * bytes), p.x(knee), p.y(peak),
      p.x(right), p.y(peak));
  for (const auto &[point, name, color] :
       {std::tuple(*a, "before", "--soft"), std::tuple(*b, "after", "--good")}) {
    const double roof = std::min(point.intensity * bytes, peak);
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=6 style=\"fill:var({})\"><title>{}: "
                       "{:.3g} flop/byte, {}, {:.3g} % of the roof</title></circle>\n"
                       "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                       p.x(point.intensity), p.y(point.rate), color, name, point.intensity,
                       ratePrefix(point.rate), 100 * point.rate / roof, p.x(point.intensity) + 9,
                       p.y(point.rate) + 4, name);
  }
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=end>flop/byte</text>\n</svg>\n",
                     p.x(right), Picture::kHeight - 20);
  const auto line = [](const char *name, const Point &point) {
    return fmt::format("{} {:.3g} flop/byte, {}", name, point.intensity, ratePrefix(point.rate));
  };
  return fmt::format("<details open><summary>Roofline of {} by the model: {}; {}</summary>\n{}"
                     "</details>\n",
                     escapeMarkup(gpu.card), line("before", *a), line("after", *b), svg);
}

std::string sourceOf(const Difference &difference, const Pair &kernel) {
  constexpr uint32_t kAround = 3, kMostLines = 500;
  constexpr std::size_t kLongest = 1000;
  if (!kernel.after || kernel.after->file.empty()) return "";
  const std::string &file = kernel.after->file;
  std::error_code error;
  const auto here = std::filesystem::current_path(error);
  if (error || !cli::isSourceFile(file, {here.string()})) return "";
  std::map<uint32_t, std::string> notes;
  for (const Pair &pair : difference.pairs) {
    if (pair.any().is_kernel || !pair.after || pair.after->kernel != kernel.after->kernel ||
        pair.after->file != file || pair.after->line == 0)
      continue;
    std::string &note = notes[pair.after->line];
    const std::string said = pair.before ? changesText(pair) : "new";
    note += (note.empty() || said.empty() ? "" : "; ") + said;
  }
  if (notes.empty()) return "";
  const uint32_t first = notes.begin()->first > kAround ? notes.begin()->first - kAround : 1;
  const uint32_t last = std::min(notes.rbegin()->first + kAround, first + kMostLines);
  std::ifstream in(file);
  std::string rows, line;
  for (uint32_t number = 1; number <= last && std::getline(in, line); ++number) {
    if (number < first) continue;
    std::ranges::replace(line, '\t', ' ');
    const auto note = notes.find(number);
    rows += fmt::format(
        "<tr><td class=\"number n\">{}</td><td class=code>{}</td><td>{}</td></tr>\n", number,
        escapeMarkup(line.substr(0, kLongest)), note == notes.end() ? "" : note->second);
  }
  if (rows.empty()) return "";
  return fmt::format(
      "<details><summary>Source: {}</summary><div class=scroll><table class=source>{}"
      "</table></div></details>\n",
      escapeMarkup(file), rows);
}

} // namespace fade::compare
