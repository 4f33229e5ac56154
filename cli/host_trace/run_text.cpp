#include "host_trace/run_text.h"

#include "host_trace/collectives.h"
#include "host_trace/log_text.h"
#include "host_trace/run_clocks.h"
#include "host_trace/run_view.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>

namespace fade::host_trace {
namespace {

const char *plural(std::size_t count) { return count == 1 ? "" : "s"; }

class RunText {
public:
  RunText(const Run &run, std::size_t rows) : run_(run), rows_(rows), units_(unitsOf(run)) {
    for (const Unit &unit : units_) totals_.merge(unit.totals);
  }

  std::string write() {
    std::string text = head() + states() + processes() + slowestLine() + stragglerText();
    text += table("kernel", totals_.kernels, &RunTotals::kernels);
    text += table("copy", totals_.copies, &RunTotals::copies);
    text += table("HIP call", totals_.functions, &RunTotals::functions);
    text += table("message", totals_.messages, &RunTotals::messages);
    text += collectives();
    text += table("marker", totals_.ranges, &RunTotals::ranges);
    const auto line = [&](uint64_t count, const char *what) {
      if (count != 0) text += fmt::format("\n{} {}\n", count, what);
    };
    line(totals_.failed_calls, "calls failed");
    line(totals_.unfinished, "kernels or copies had not ended when their process did");
    line(totals_.lost, "events were not recorded: no space for them");
    line(totals_.damaged, "blocks are damaged or cut off; the rest of each was skipped");
    return text;
  }

private:
  /// Some launchers do not name the job (MPICH): then a rank that was started twice tells.
  std::size_t jobs() const {
    std::set<std::string> named, others;
    std::map<uint64_t, std::set<std::string>> launches; // of each rank
    for (const RunMember &member : run_.members) {
      const RunProcess &process = member.summary.process;
      if (!process.job.empty())
        named.insert(process.job);
      else if (process.rank)
        launches[*process.rank].insert(process.launch);
      else
        others.insert(process.launch);
    }
    std::size_t most = 0;
    for (const auto &[rank, of_rank] : launches) most = std::max(most, of_rank.size());
    return named.size() + others.size() + most;
  }

  std::string head() const {
    std::set<std::string> hosts, times;
    std::set<uint64_t> ranks;
    uint64_t expected = 0;
    for (const RunMember &member : run_.members) {
      const RunProcess &process = member.summary.process;
      hosts.insert(process.host);
      times.insert(member.summary.about_times);
      if (process.rank) ranks.insert(*process.rank);
      expected = std::max(expected, process.ranks.value_or(0));
    }
    std::string text = fmt::format(
        "{}: {} process{} on {} host{}{}{}\n", run_.path, run_.members.size(),
        run_.members.size() == 1 ? "" : "es", hosts.size(), plural(hosts.size()),
        ranks.empty() ? "" : fmt::format(", rank{} ", plural(ranks.size())), rankList(ranks));
    text += fmt::format("{} calls, {} kernels and copies\n", totals_.calls, totals_.operations);
    for (const std::string &about : times)
      if (!about.empty()) text += about + '\n';
    if (!ranks.empty() && ranks.size() < expected)
      text += fmt::format("{} of the job's {} ranks {} not in this view\n", expected - ranks.size(),
                          expected, expected - ranks.size() == 1 ? "is" : "are");
    if (const std::size_t number = jobs(); number > 1)
      text += fmt::format("{} jobs have written into this folder; what follows is of all of them\n",
                          number);
    const CommonClock clock = commonClock(run_);
    text += fmt::format("clocks: {}\n", clock.text);
    for (const std::string &warning : clock.warnings) text += fmt::format("clocks: {}\n", warning);
    return text;
  }

  /// Processes that are not as they should be.
  std::string states() const {
    std::vector<std::string> lines;
    for (const RunMember &member : run_.members) {
      const RunProcess &process = member.summary.process;
      const char *state =
          member.is_running            ? "is still running; counted up to now"
          : member.wasCutOff()         ? "was not recorded to its end: no space for more events"
          : !member.summary.has_exited ? "did not exit by itself; counted up to its end"
                                       : nullptr;
      if (state) lines.push_back(fmt::format("{} (pid {}) {}", process.name(), process.pid, state));
    }
    for (const std::string &problem : run_.problems) lines.push_back("skipped: " + problem);
    std::string text;
    for (std::size_t i = 0; i < std::min(rows_, lines.size()); ++i)
      text += cli::printable(lines[i]) + '\n';
    if (lines.size() > rows_) text += fmt::format("... and {} more\n", lines.size() - rows_);
    return text;
  }

  /// The longest first.
  std::string processes() const {
    std::vector<const Unit *> order;
    for (const Unit &unit : units_) order.push_back(&unit);
    std::ranges::sort(order, [](const Unit *a, const Unit *b) {
      return std::pair(b->span, a) < std::pair(a->span, b);
    });
    std::size_t width = 7;
    for (const Unit *unit : order) width = std::max(width, unit->name.size());
    std::string text = fmt::format(
        "\n{:<{}}  {:>10}  {:>10}  {:>11}  {:>14}  {:>8}  {:>8}  {:>8}\n", "slowest", width, "time",
        "GPU busy", "idle in HIP", "idle elsewhere", "kernels", "copies", "calls");
    for (std::size_t i = 0; i < std::min(rows_, order.size()); ++i) {
      const Unit &unit = *order[i];
      text += fmt::format("{:<{}}  {:>10}  {:>10}  {:>11}  {:>14}  {:>8}  {:>8}  {:>8}\n",
                          cli::printable(unit.name), width, durationText(unit.span),
                          durationText(unit.busy), durationText(unit.idle_in_hip),
                          durationText(unit.idle_elsewhere), countOf(unit.totals.kernels),
                          countOf(unit.totals.copies), unit.totals.calls);
    }
    if (order.size() > rows_) text += fmt::format("... and {} more\n", order.size() - rows_);
    return text;
  }

  std::string slowestLine() const {
    const std::string line = slowestOf(units_);
    return line.empty() ? "" : fmt::format("\nslowest: {}\n", line);
  }

  std::string stragglerText() const {
    const std::vector<Straggler> found = stragglersOf(units_, rows_);
    std::string text;
    for (std::size_t i = 0; i < std::min(rows_, found.size()); ++i)
      text += fmt::format("straggler: {}\n", found[i].text);
    if (found.size() > rows_) text += fmt::format("... and {} more\n", found.size() - rows_);
    return text;
  }

  std::string table(const char *title, const Distributions &all,
                    const Distributions RunTotals::*of) const {
    if (all.empty()) return "";
    std::vector<std::pair<std::string_view, const Distribution *>> order;
    for (const auto &[name, distribution] : all) order.emplace_back(name, &distribution);
    std::ranges::sort(order, [](const auto &a, const auto &b) {
      return std::pair(b.second->sum_ns, a.first) < std::pair(a.second->sum_ns, b.first);
    });
    constexpr std::size_t widest = 40;
    std::size_t width = std::string_view(title).size();
    for (std::size_t i = 0; i < std::min(rows_, order.size()); ++i)
      width = std::max(width, nameCell(order[i].first, widest).size());
    const bool is_one = units_.size() == 1;
    std::string text = fmt::format("\n{:<{}}  {:>8}  {:>10}  {:>10}  {:>10}", title, width, "count",
                                   "total", "median", "99%");
    if (!is_one)
      text += fmt::format("  | {:>10}  {:>10}  {:>10}  {:>8}  by", "rank least", "median", "most",
                          "most/med");
    text += '\n';
    for (std::size_t i = 0; i < std::min(rows_, order.size()); ++i) {
      const auto &[name, distribution] = order[i];
      text += fmt::format("{:<{}}  {:>8}  {:>10}  {:>10}  {:>10}", nameCell(name, widest), width,
                          distribution->count, durationText(distribution->sum_ns),
                          durationText(distribution->quantile(0.5)),
                          durationText(distribution->quantile(0.99)));
      if (!is_one) text += spreadText(name, of);
      text += '\n';
    }
    if (order.size() > rows_) text += fmt::format("... and {} more\n", order.size() - rows_);
    return text;
  }

  /// Who is waited for in collective calls, and what decides how long the run takes.
  std::string collectives() const {
    if (totals_.messages.empty() || units_.size() < 2) return "";
    const Collectives all = Collectives::of(run_, units_);
    std::string text;
    if (!all.rows.empty())
      text += fmt::format("\n{:<24}  {:>8}  {:>10}  {:>10}  {:>7}  {:>12}  last most often\n",
                          "collective", "count", "time in it", "waiting", "share", "latest after");
    for (std::size_t i = 0; i < std::min(rows_, all.rows.size()); ++i) {
      const CollectiveRow &row = all.rows[i];
      const double share =
          row.time_ns == 0 ? 0
                           : static_cast<double>(row.waiting_ns) / static_cast<double>(row.time_ns);
      text += fmt::format("{:<24}  {:>8}  {:>10}  {:>10}  {:>6.0f}%  {:>12}  {} ({} of {})\n",
                          nameCell(row.name), row.count, durationText(row.time_ns),
                          durationText(row.waiting_ns), 100 * share, durationText(row.longest_ns),
                          cli::printable(units_[row.last].name), row.last_count, row.count);
    }
    if (all.rows.size() > rows_) text += fmt::format("... and {} more\n", all.rows.size() - rows_);
    if (const std::string path = all.pathText(units_); !path.empty())
      text += fmt::format("\ncritical path across ranks, {}\n", path);
    if (all.incomplete != 0)
      text += fmt::format("{} collective calls are not shown: not all of their ranks were recorded "
                          "or are in this view\n",
                          all.incomplete);
    return text;
  }

  /// Sums of the units.
  std::string spreadText(std::string_view name, const Distributions RunTotals::*of) const {
    const Spread spread =
        spreadOf(units_, [&](const Unit &unit) { return sumOf(unit.totals.*of, name); });
    const std::string ratio = spread.median == 0
                                  ? "-"
                                  : fmt::format("{:.2f}", static_cast<double>(spread.most) /
                                                              static_cast<double>(spread.median));
    return fmt::format("  | {:>10}  {:>10}  {:>10}  {:>8}  {}", durationText(spread.least),
                       durationText(spread.median), durationText(spread.most), ratio,
                       cli::printable(units_[spread.of_most].name));
  }

  const Run &run_;
  const std::size_t rows_;
  const std::vector<Unit> units_;
  RunTotals totals_;
};

/// "-12.5%"; "new" and "gone" where one of them is 0.
std::string changeText(uint64_t before, uint64_t after) {
  if (before == 0) return after == 0 ? "" : "new";
  if (after == 0) return "gone";
  return fmt::format("{:+.1f}%",
                     (static_cast<double>(after) / static_cast<double>(before) - 1) * 100);
}

class RunDifference {
public:
  RunDifference(const Run &before, const Run &after, double least, std::size_t rows)
      : least_(least), rows_(rows), before_(unitsOf(before)), after_(unitsOf(after)) {
    for (const Unit &unit : before_) totals_before_.merge(unit.totals);
    for (const Unit &unit : after_) totals_after_.merge(unit.totals);
  }

  std::string write() const {
    std::string text =
        fmt::format("{:<22}  {:>10}  {:>10}  {:>8}\n", "", "before", "after", "change");
    const auto line = [&](const char *what, uint64_t before, uint64_t after, bool is_time) {
      text += fmt::format("{:<22}  {:>10}  {:>10}  {:>8}\n", what,
                          is_time ? durationText(before) : std::to_string(before),
                          is_time ? durationText(after) : std::to_string(after),
                          changeText(before, after));
    };
    line("ranks or processes", before_.size(), after_.size(), false);
    line("HIP calls", totals_before_.calls, totals_after_.calls, false);
    line("kernels and copies", totals_before_.operations, totals_after_.operations, false);
    line("time, slowest rank", spanOf(before_).most, spanOf(after_).most, true);
    line("time, median rank", spanOf(before_).median, spanOf(after_).median, true);
    line("GPU busy, most", busyOf(before_).most, busyOf(after_).most, true);
    line("GPU busy, median rank", busyOf(before_).median, busyOf(after_).median, true);
    text += table("kernel", &RunTotals::kernels);
    text += table("copy", &RunTotals::copies);
    text += table("HIP call", &RunTotals::functions);
    return text;
  }

private:
  static Spread spanOf(const std::vector<Unit> &units) {
    return spreadOf(units, [](const Unit &unit) { return unit.span; });
  }
  static Spread busyOf(const std::vector<Unit> &units) {
    return spreadOf(units, [](const Unit &unit) { return unit.busy; });
  }

  struct Line {
    std::string name;
    uint64_t counts[2] = {0, 0}, sums[2] = {0, 0}, most[2] = {0, 0}; ///< before and after

    uint64_t change() const { return sums[1] > sums[0] ? sums[1] - sums[0] : sums[0] - sums[1]; }
    bool isWithin(double least) const {
      return counts[0] == counts[1] &&
             static_cast<double>(change()) <= least * static_cast<double>(sums[0]);
    }
  };

  std::vector<Line> linesOf(const Distributions RunTotals::*of) const {
    std::map<std::string, Line, std::less<>> lines;
    const auto add = [&](const RunTotals &totals, const std::vector<Unit> &units, int at) {
      for (const auto &entry : totals.*of) {
        Line &line = lines[entry.first];
        line.name = entry.first;
        line.counts[at] = entry.second.count;
        line.sums[at] = entry.second.sum_ns;
        line.most[at] = spreadOf(units, [&](const Unit &unit) {
                          return sumOf(unit.totals.*of, entry.first);
                        }).most;
      }
    };
    add(totals_before_, before_, 0);
    add(totals_after_, after_, 1);
    std::vector<Line> found;
    for (auto &entry : lines)
      if (!entry.second.isWithin(least_)) found.push_back(std::move(entry.second));
    std::ranges::sort(found, [](const Line &a, const Line &b) {
      return std::pair(b.change(), std::string_view(a.name)) <
             std::pair(a.change(), std::string_view(b.name));
    });
    return found;
  }

  std::string table(const char *title, const Distributions RunTotals::*of) const {
    const std::vector<Line> lines = linesOf(of);
    if (lines.empty()) return "";
    constexpr std::size_t widest = 40;
    std::size_t width = std::string_view(title).size();
    for (std::size_t i = 0; i < std::min(rows_, lines.size()); ++i)
      width = std::max(width, nameCell(lines[i].name, widest).size());
    std::string text = fmt::format(
        "\n{:<{}}  {:>8}  {:>8}  {:>10}  {:>10}  {:>8}  {:>10}  {:>10}  {:>8}\n", title, width,
        "count", "after", "total", "after", "change", "rank most", "after", "change");
    for (std::size_t i = 0; i < std::min(rows_, lines.size()); ++i) {
      const Line &line = lines[i];
      text += fmt::format("{:<{}}  {:>8}  {:>8}  {:>10}  {:>10}  {:>8}  {:>10}  {:>10}  {:>8}\n",
                          nameCell(line.name, widest), width, line.counts[0], line.counts[1],
                          durationText(line.sums[0]), durationText(line.sums[1]),
                          changeText(line.sums[0], line.sums[1]), durationText(line.most[0]),
                          durationText(line.most[1]), changeText(line.most[0], line.most[1]));
    }
    if (lines.size() > rows_) text += fmt::format("... and {} more\n", lines.size() - rows_);
    return text;
  }

  const double least_;
  const std::size_t rows_;
  const std::vector<Unit> before_, after_;
  RunTotals totals_before_, totals_after_;
};

} // namespace

std::string compareRuns(const Run &before, const Run &after, double least, std::size_t rows) {
  return RunDifference(before, after, least, rows).write();
}

std::string describeRun(const Run &run, std::size_t rows) { return RunText(run, rows).write(); }

} // namespace fade::host_trace
