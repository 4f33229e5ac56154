#include "optimize/patch.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <string_view>
#include <vector>

namespace fade::cli {
namespace {

constexpr std::ptrdiff_t kAround = 3; ///< lines that stay the same, on both sides

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

std::string line(char mark, std::string_view text) {
  return mark + std::string(text) +
         (text.ends_with('\n') ? "" : "\n\\ No newline at end of file\n");
}

std::string range(std::size_t first, std::size_t count) {
  return fmt::format("{},{}", count == 0 ? first : first + 1, count);
}

/// A line of the first text (-), of the second (+) or of both ( ).
struct Step {
  char mark;
  std::size_t was, is; ///< lines before it
};

/// The fewest lines that have to be taken out and put in, between what is the same at both ends.
std::vector<Step> stepsBetween(const std::vector<std::string_view> &was,
                               const std::vector<std::string_view> &is) {
  std::size_t front = 0, back = 0;
  const std::size_t shorter = std::min(was.size(), is.size());
  while (front < shorter && was[front] == is[front]) ++front;
  while (back < shorter - front && was[was.size() - 1 - back] == is[is.size() - 1 - back]) ++back;
  const std::size_t n = was.size() - front - back, m = is.size() - front - back;
  constexpr std::size_t most = 4'000'000; // beyond that the middle is exchanged as a whole
  // common[i][j]: lines that the rests of both texts have in common, in order.
  std::vector<uint32_t> common;
  if (n * m <= most) {
    common.assign((n + 1) * (m + 1), 0);
    for (std::size_t i = n; i-- > 0;)
      for (std::size_t j = m; j-- > 0;)
        common[i * (m + 1) + j] =
            was[front + i] == is[front + j]
                ? common[(i + 1) * (m + 1) + j + 1] + 1
                : std::max(common[(i + 1) * (m + 1) + j], common[i * (m + 1) + j + 1]);
  }
  std::vector<Step> steps;
  for (std::size_t i = 0; i < front; ++i) steps.push_back({' ', i, i});
  for (std::size_t i = 0, j = 0; i < n || j < m;) {
    const bool knows = !common.empty();
    if (knows && i < n && j < m && was[front + i] == is[front + j])
      steps.push_back({' ', front + i++, front + j++});
    else if (i < n &&
             (j == m || !knows || common[(i + 1) * (m + 1) + j] >= common[i * (m + 1) + j + 1]))
      steps.push_back({'-', front + i++, front + j});
    else
      steps.push_back({'+', front + i, front + j++});
  }
  for (std::size_t i = 0; i < back; ++i)
    steps.push_back({' ', was.size() - back + i, is.size() - back + i});
  return steps;
}

/// Lines [first, end) of a text, and what they become.
struct Change {
  std::size_t first, end;
  std::string text;
};

std::vector<Change> changesBetween(std::string_view before, std::string_view after) {
  const auto was = linesOf(before), is = linesOf(after);
  std::vector<Change> changes;
  bool goes_on = false;
  for (const Step &step : stepsBetween(was, is)) {
    if (step.mark != ' ' && !goes_on) changes.push_back({step.was, step.was, ""});
    goes_on = step.mark != ' ';
    if (step.mark == '-') changes.back().end = step.was + 1;
    if (step.mark == '+') changes.back().text += is[step.is];
  }
  return changes;
}

} // namespace

std::optional<std::string> merged(const std::string &before, const std::string &after,
                                  const std::string &other) {
  std::vector<Change> changes = changesBetween(before, after);
  for (Change &change : changesBetween(before, other)) changes.push_back(std::move(change));
  std::ranges::sort(changes, {}, &Change::first);
  const auto lines = linesOf(before);
  std::string text;
  std::size_t at = 0;
  for (const Change &change : changes) {
    if (&change != &changes.front() && change.first <= at) return std::nullopt;
    for (; at < change.first; ++at) text += lines[at];
    text += change.text;
    at = change.end;
  }
  for (; at < lines.size(); ++at) text += lines[at];
  return text;
}

std::string patchOf(const std::string &file, const std::string &before, const std::string &after) {
  if (before == after) return "";
  const std::string name = file.substr(std::min(file.find_first_not_of('/'), file.size()));
  const auto was = linesOf(before), is = linesOf(after);
  const std::vector<Step> steps = stepsBetween(was, is);
  std::string text = fmt::format("--- a/{0}\n+++ b/{0}\n", name);
  const auto isChange = [](const Step &step) { return step.mark != ' '; };
  for (auto at = std::ranges::find_if(steps, isChange); at != steps.end();) {
    // A hunk goes on until there are more lines between changes than it has around it.
    const auto first = at - std::min<std::ptrdiff_t>(at - steps.begin(), kAround);
    auto last = at;
    for (auto next = at; next != steps.end() && next - last <= std::ptrdiff_t{2 * kAround} + 1;
         next = std::find_if(next + 1, steps.end(), isChange))
      last = next;
    const auto end = last + std::min<std::ptrdiff_t>(steps.end() - last, kAround + 1);
    const auto count = [&](char mark) {
      return static_cast<std::size_t>(std::count_if(
          first, end, [&](const Step &s) { return s.mark == ' ' || s.mark == mark; }));
    };
    text +=
        fmt::format("@@ -{} +{} @@\n", range(first->was, count('-')), range(first->is, count('+')));
    for (auto step = first; step != end; ++step)
      text += line(step->mark, step->mark == '+' ? is[step->is] : was[step->was]);
    at = std::find_if(end, steps.end(), isChange);
  }
  return text;
}

} // namespace fade::cli
