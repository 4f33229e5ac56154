#include "check/finding_text.h"

#include "base/run_folder.h"
#include "base/text_layout.h"
#include "check/advice.h"
#include "check/finding_message.h"
#include "check/hang_text.h"
#include "checks/options.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <set>
#include <vector>

namespace fade::cli {
namespace {

using namespace fade::checks;

std::string itemText(const Place &p) {
  return fmt::format("work-item {},{},{} of workgroup {},{},{}", p.item[0], p.item[1], p.item[2],
                     p.group[0], p.group[1], p.group[2]);
}

/// Names and source are whatever somebody wrote; they are not to command the terminal.
std::string row(const char *label, std::string text) {
  std::ranges::replace(text, '\t', ' ');
  return fmt::format("  {:<10} {}\n", label, printable(text));
}

/// Calls that were inlined around the line that is shown, from the inside.
std::string callersText(const FoundPlace &place) {
  std::string text;
  auto at = std::ranges::find(place.stack, place.shown);
  constexpr int most = 4;
  for (int shown = 0; at != place.stack.end() && ++at != place.stack.end() && shown < most; ++shown)
    if (at->line != 0)
      text += row("", fmt::format("in {}, called at {}", std::prev(at)->function, shortPlace(*at)));
  return text;
}

/// Other lines that the compiler has put into the same instruction.
std::string mergedText(const FoundPlace &place) {
  if (place.merged.empty()) return "";
  std::string lines;
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < std::min(most, place.merged.size()); ++i)
    lines += fmt::format("{}{}", i ? ", " : "", place.merged[i]);
  if (place.merged.size() > most) lines += ", ...";
  const char *word = place.merged.size() == 1 ? "line" : "lines";
  return row("", place.is_of_byte
                     ? fmt::format("merged with {} {} into one instruction", word, lines)
                     : fmt::format("or {} {}, merged with it into one instruction", word, lines));
}

std::string detailOfPlace(const char *label, const FoundPlace &place, const FoundFinding &f) {
  std::string text = row(label, placeText(place, f.kernel));
  if (!place.source.empty()) text += row("", place.source);
  if (!place.instruction.empty()) text += row("", place.instruction);
  text += mergedText(place);
  return text + callersText(place) + row("", itemText(place.raw));
}

/// Where else: lines of details that are not yet said, and other kernels.
std::string alsoText(const FoundFinding &f) {
  const auto linesOf = [](const FoundFinding &one) {
    std::string text = one.place.shown.line != 0 ? shortPlace(one.place.shown)
                                                 : fmt::format("{:#x}", one.place.raw.address);
    const auto check = static_cast<Check>(one.raw.check);
    if ((check == Check::race || check == Check::wave) &&
        (one.raw.other.pc || !one.other_api.empty()) && one.other.shown.line != 0 &&
        one.other.shown != one.place.shown)
      text += " with " + (one.other.shown.file == one.place.shown.file
                              ? std::to_string(one.other.shown.line)
                              : shortPlace(one.other.shown));
    return text;
  };
  constexpr std::size_t most = 6;
  std::set<std::string> seen{linesOf(f)}, kernels{f.kernel};
  std::vector<std::string> places;
  for (const FoundFinding &detail : f.details) {
    kernels.insert(detail.kernel);
    const std::string check{nameOf(static_cast<Check>(detail.raw.check))}, at = linesOf(detail);
    if (seen.insert(at).second)
      places.push_back(detail.raw.check == f.raw.check ? at : fmt::format("{} ({})", at, check));
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(most, places.size()); ++i)
    text += (i ? ", " : "") + places[i];
  if (places.size() > most) text += fmt::format(" and {} more", places.size() - most);
  text = text.empty() ? "" : row("also at", text);
  if (kernels.size() > 1)
    text +=
        row("also in", fmt::format("{} other kernel{} or instance{} of it", kernels.size() - 1,
                                   kernels.size() == 2 ? "" : "s", kernels.size() == 2 ? "" : "s"));
  return text;
}

} // namespace

const char *secondPlaceName(const FoundFinding &f) {
  if (!f.other_api.empty()) return "called at";
  switch (static_cast<Check>(f.raw.check)) {
  case Check::sync:
    return static_cast<Problem>(f.raw.problem) == Problem::inactive_lane ? "used at" : "ended at";
  case Check::wait: return "loaded at";
  case Check::hazard: return "after";
  case Check::init: return "used at";
  case Check::nan:
  case Check::precision: return "stored at";
  case Check::hang:
    return static_cast<Problem>(f.raw.problem) == Problem::polls ? "written at" : "others at";
  default: return "other at";
  }
}

namespace {

std::string ranksText(const FoundFinding &f) {
  return f.ranks.empty() ? "" : row("ranks", rankList(f.ranks));
}

/// The other side, if it is the host's.
std::string otherCallText(const FoundFinding &f) {
  if (f.other_api.empty()) return "";
  const FoundFrame &at = f.other.shown;
  if (at.line == 0) return row(secondPlaceName(f), f.other_api + " (no line information)");
  return row(secondPlaceName(f), fmt::format("{}:{}", at.file, at.line)) +
         (f.other.source.empty() ? "" : row("", f.other.source));
}

/// All places at which waves are, with those who could let them go on.
std::string hangText(const FoundFinding &f) {
  std::string text = fmt::format("hang: {}\n", f.rule) + row("kernel", f.kernel);
  const auto add = [&](const FoundFinding &wait) {
    text += row("waits", waitText(wait, memoryText(wait)));
    text += detailOfPlace("at", wait.place, wait);
    if (const std::string waker = wakerText(wait); !waker.empty()) text += row("for", waker);
  };
  add(f);
  for (const FoundFinding &detail : f.details) add(detail);
  text += ranksText(f);
  text += row("picture", chainText(waitChain(f)));
  return text + row("help", fmt::format("{} ({})", adviceOf(f), pageOf(f)));
}

} // namespace

std::string findingText(const FoundFinding &f) {
  const auto check = static_cast<Check>(f.raw.check);
  if (check == Check::hang) return hangText(f);
  std::string text = fmt::format("{}: {}", nameOf(check), messageOf(f));
  const std::string help = row("help", fmt::format("{} ({})", adviceOf(f), pageOf(f)));
  if (check == Check::leak || check == Check::schedules) return text + "\n" + ranksText(f) + help;
  text += f.raw.count > 1 ? fmt::format(" ({} times)\n", grouped(f.raw.count)) : "\n";
  if (isOfHost(f)) {
    text += row("at", placeText(f.place, f.kernel));
    if (!f.place.source.empty()) text += row("", f.place.source);
    return text + otherCallText(f) + alsoText(f) + ranksText(f) + help;
  }
  text += row("kernel", f.kernel);
  text += detailOfPlace("at", f.place, f);
  if (check == Check::init && f.raw.between.pc)
    text += row("copied at", placeText(f.between, f.kernel));
  if (!f.other_kernel.empty()) text += row("other", f.other_kernel);
  if (f.raw.other.pc) text += detailOfPlace(secondPlaceName(f), f.other, f);
  text += otherCallText(f);
  return text + alsoText(f) + ranksText(f) + help;
}

} // namespace fade::cli
