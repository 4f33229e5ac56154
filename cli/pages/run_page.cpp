#include "pages/run_page.h"

#include "base/json_text.h"
#include "base/run_folder.h"
#include "host_trace/collectives.h"
#include "host_trace/run_clocks.h"
#include "host_trace/run_view.h"
#include "pages/page.h"
#include "pages/page_files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/ranges.h>
#include <fstream>
#include <map>
#include <tuple>
#include <utility>

namespace fade::report {
namespace {

namespace fs = std::filesystem;
using host_trace::Distribution;
using host_trace::Distributions;
using host_trace::RunTotals;
using host_trace::Spread;
using host_trace::Unit;

// What bounds the page, however many ranks and kernels there are.
constexpr std::size_t kMostStripColumns = 1024; ///< of a strip; more ranks than that share columns
constexpr std::size_t kMostRankRows = 1024;     ///< rows of the table of ranks: the slowest
constexpr std::size_t kMostTableRows = 40, kMostAdvice = 100;
constexpr double kSteps = 999; ///< of a strip's colors and lengths

/// A number of each rank, or the greatest of those that share a column, in parts of the greatest.
Json stripOf(const std::vector<uint64_t> &values) {
  const std::size_t share = (values.size() + kMostStripColumns - 1) / kMostStripColumns;
  const uint64_t most = *std::ranges::max_element(values);
  Json strip = Json::array();
  for (std::size_t i = 0; i < values.size(); i += share) {
    const auto end =
        values.begin() + static_cast<std::ptrdiff_t>(std::min(i + share, values.size()));
    const uint64_t value = *std::max_element(values.begin() + static_cast<std::ptrdiff_t>(i), end);
    strip.push_back(
        most == 0 ? 0
                  : std::lround(kSteps * static_cast<double>(value) / static_cast<double>(most)));
  }
  return strip;
}

Json spreadJson(const Spread &spread) {
  return {{"least", spread.least},
          {"median", spread.median},
          {"most", spread.most},
          {"by", spread.of_most}};
}

/// What takes most time, with the part of each rank.
Json tableOf(const char *title, const std::vector<Unit> &units, const RunTotals &totals,
             const Distributions RunTotals::*of) {
  std::vector<std::pair<std::string_view, const Distribution *>> order;
  for (const auto &[name, distribution] : totals.*of) order.emplace_back(name, &distribution);
  std::ranges::sort(order, [](const auto &a, const auto &b) {
    return std::pair(b.second->sum_ns, a.first) < std::pair(a.second->sum_ns, b.first);
  });
  Json rows = Json::array();
  for (std::size_t i = 0; i < std::min(kMostTableRows, order.size()); ++i) {
    const auto &[name, all] = order[i];
    std::vector<uint64_t> values;
    for (const Unit &unit : units) values.push_back(sumOf(unit.totals.*of, name));
    Json row = {{"name", name},
                {"count", all->count},
                {"total", all->sum_ns},
                {"middle", all->quantile(0.5)},
                {"late", all->quantile(0.99)},
                {"strip", stripOf(values)}};
    row.update(spreadJson(Spread::of(std::move(values))));
    rows.push_back(std::move(row));
  }
  return {{"title", title}, {"rows", rows}, {"more", order.size() - rows.size()}};
}

/// The page of one of its processes; empty if there is none yet.
std::string pageOf(const Unit &unit, const std::string &beside) {
  std::error_code ignored;
  for (const host_trace::RunMember *member : unit.members)
    if (fs::exists(member->folder + "/report.html", ignored))
      return fs::absolute(member->folder).lexically_proximate(beside).string() + "/report.html";
  return "";
}

Json ranksOf(const std::vector<Unit> &units, const std::string &beside) {
  std::vector<std::size_t> order(units.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::pair(units[b].span, a) < std::pair(units[a].span, b);
  });
  order.resize(std::min(order.size(), kMostRankRows));
  Json rows = Json::array();
  for (const std::size_t i : order) {
    const Unit &unit = units[i];
    std::set<std::string> hosts;
    for (const auto *member : unit.members) hosts.insert(member->summary.process.host);
    rows.push_back({i, *hosts.begin(), unit.span, unit.busy, unit.idle_in_hip, unit.idle_elsewhere,
                    countOf(unit.totals.kernels), countOf(unit.totals.copies), unit.totals.calls,
                    pageOf(unit, beside)});
  }
  return rows;
}

/// Names of ranks by number; left out where they are "rank N" with N as the index.
Json namesOf(const std::vector<Unit> &units) {
  bool is_plain = true;
  for (std::size_t i = 0; i < units.size(); ++i)
    is_plain = is_plain && units[i].name == fmt::format("rank {}", i);
  if (is_plain) return nullptr;
  Json names = Json::array();
  for (const Unit &unit : units) names.push_back(unit.name);
  return names;
}

/// Hosts of the stragglers, if they are few and no other rank is on them: then the host is slow.
std::string hostsOf(const std::vector<host_trace::Straggler> &found,
                    const std::vector<Unit> &units) {
  constexpr std::size_t most = 20;
  std::set<std::size_t> slow;
  std::set<std::string> hosts, others;
  for (const host_trace::Straggler &each : found) slow.insert(each.unit);
  for (std::size_t i = 0; i < units.size(); ++i)
    for (const auto *member : units[i].members)
      (slow.contains(i) ? hosts : others).insert(member->summary.process.host);
  const bool is_shared =
      std::ranges::any_of(hosts, [&](const std::string &host) { return others.contains(host); });
  if (hosts.empty() || hosts.size() > most || is_shared) return "";
  return fmt::format("{}, with all ranks there", fmt::join(hosts, ", "));
}

} // namespace

std::vector<RunAdvice> adviceOf(const host_trace::Run &run) {
  std::map<std::pair<std::string, std::string>, RunAdvice> found;
  for (const host_trace::RunMember &member : run.members) {
    std::ifstream file(member.folder + "/advice.jsonl");
    for (std::string line; std::getline(file, line);) {
      const Json json = parsedJson(line);
      if (!json.is_object() || json.value("type", "") != "finding") continue;
      const std::string kernel = json.value("kernel", ""), cause = json.value("cause", "");
      const double gain = json.value("run_gain", 0.0);
      const auto [at, is_new] = found.try_emplace({kernel, cause});
      RunAdvice &advice = at->second;
      if (is_new) {
        advice.kernel = kernel;
        advice.cause = cause;
        advice.advice = json.value("advice", "");
        advice.least_gain = gain;
        if (const auto places = json.find("places");
            places != json.end() && places->is_array() && !places->empty())
          advice.place = fmt::format("{}:{}", places->front().value("file", ""),
                                     places->front().value("line", 0));
      }
      advice.least_gain = std::min(advice.least_gain, gain);
      advice.most_gain = std::max(advice.most_gain, gain);
      if (const auto rank = member.summary.process.rank) advice.ranks.insert(*rank);
      advice.processes.insert(member.folder);
    }
  }
  std::vector<RunAdvice> all;
  for (auto &[key, advice] : found) all.push_back(std::move(advice));
  std::ranges::sort(all, [](const RunAdvice &a, const RunAdvice &b) {
    return std::tuple(b.most_gain, a.kernel, a.cause) < std::tuple(a.most_gain, b.kernel, b.cause);
  });
  return all;
}

std::string adviceText(const host_trace::Run &run) {
  constexpr std::size_t most = 5;
  const std::vector<RunAdvice> all = adviceOf(run);
  std::string text;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i)
    text += fmt::format("  {}: {}, up to {:.1f}%{}{}\n", all[i].kernel, all[i].cause,
                        100 * all[i].most_gain, all[i].ranks.empty() ? "" : ", ranks ",
                        rankList(all[i].ranks));
  return text.empty() ? "" : "\nwhat to change\n" + text;
}

Json runPageData(const host_trace::Run &run, const std::string &title, const std::string &beside) {
  const std::vector<Unit> units = unitsOf(run);
  RunTotals totals;
  std::set<std::string> hosts, notes;
  std::set<uint64_t> ranks;
  for (const Unit &unit : units) totals.merge(unit.totals);
  for (const host_trace::RunMember &member : run.members) {
    hosts.insert(member.summary.process.host);
    if (member.summary.process.rank) ranks.insert(*member.summary.process.rank);
    if (!member.summary.about_times.empty()) notes.insert(member.summary.about_times);
  }
  const host_trace::CommonClock clock = commonClock(run);
  Json data;
  data["made_by"] = "fadeprobe " FADE_VERSION;
  data["title"] = title;
  data["run"] = run.path;
  data["processes"] = run.members.size();
  data["hosts"] = hosts.size();
  data["ranks"] = rankList(ranks);
  data["units"] = units.size();
  data["calls"] = totals.calls;
  data["operations"] = totals.operations;
  data["clocks"] = clock.text;
  data["problems"] = clock.warnings;
  for (const std::string &problem : run.problems) data["problems"].push_back("skipped: " + problem);
  data["notes"] = notes;
  data["slowest"] = slowestOf(units);
  Json &stragglers = data["stragglers"] = Json::array();
  constexpr std::size_t most = 3;
  const std::vector<host_trace::Straggler> found = stragglersOf(units, most);
  data["straggler_count"] = found.size();
  data["straggler_hosts"] = hostsOf(found, units);
  for (std::size_t i = 0; i < std::min(most, found.size()); ++i)
    stragglers.push_back(found[i].text);
  data["names"] = namesOf(units);
  data["rows"] = ranksOf(units, beside);
  data["per_column"] = (units.size() + kMostStripColumns - 1) / kMostStripColumns;
  const auto part = [&](const char *name, uint64_t Unit::*time) {
    std::vector<uint64_t> values;
    for (const Unit &unit : units) values.push_back(unit.*time);
    data["parts"][name] = spreadJson(Spread::of(values));
    data["parts"][name]["strip"] = stripOf(values);
    uint64_t sum = 0;
    for (const uint64_t value : values) sum += value;
    data["parts"][name]["mean"] = sum / values.size();
  };
  part("span", &Unit::span);
  part("busy", &Unit::busy);
  part("in_hip", &Unit::idle_in_hip);
  part("elsewhere", &Unit::idle_elsewhere);
  data["tables"] = {tableOf("Kernels", units, totals, &RunTotals::kernels),
                    tableOf("Copies", units, totals, &RunTotals::copies),
                    tableOf("HIP calls", units, totals, &RunTotals::functions),
                    tableOf("Messages", units, totals, &RunTotals::messages),
                    tableOf("Markers", units, totals, &RunTotals::ranges)};
  const host_trace::Collectives collectives =
      totals.messages.empty() ? host_trace::Collectives() : host_trace::Collectives::of(run, units);
  data["path"] = collectives.pathText(units);
  Json &rows = data["collectives"] = Json::array();
  for (const host_trace::CollectiveRow &row : collectives.rows)
    if (rows.size() < kMostTableRows)
      rows.push_back({row.name, row.count, row.time_ns, row.waiting_ns, row.longest_ns, row.last,
                      row.last_count});
  Json &advice = data["advice"] = Json::array();
  for (const RunAdvice &each : adviceOf(run))
    if (advice.size() < kMostAdvice)
      advice.push_back({{"kernel", each.kernel},
                        {"cause", each.cause},
                        {"advice", each.advice},
                        {"place", each.place},
                        {"least", each.least_gain},
                        {"most", each.most_gain},
                        {"processes", each.processes.size()},
                        {"ranks", rankList(each.ranks)}});
  // What the parts that this page shares with that of one process look for.
  data["kernels"] = data["files"] = Json::array();
  data["software"] = false;
  data["dispatches"] = {{"kernel", Json::array()}, {"duration", Json::array()}};
  return data;
}

std::string runHtmlPage(const Json &data) { return htmlPage(data, kRunPageScript); }

} // namespace fade::report
