#include "host_trace/run_view.h"

#include "host_trace/log_text.h"

#include <fmt/format.h>
#include <map>
#include <span>
#include <tuple>
#include <utility>

namespace fade::host_trace {
namespace {

/// What a part of the time is made of.
using Tables = std::vector<const Distributions RunTotals::*>;

/// The entry in which a unit exceeds the median of all by most.
std::string greatestExcess(const std::vector<Unit> &units, const Unit &unit, const Tables &tables) {
  std::string found;
  uint64_t most = 0;
  for (const auto table : tables)
    for (const auto &entry : unit.totals.*table) {
      if (entry.second.sum_ns <= most) continue;
      const uint64_t median = spreadOf(units, [&](const Unit &one) {
                                return sumOf(one.totals.*table, entry.first);
                              }).median;
      if (entry.second.sum_ns <= median + most) continue;
      most = entry.second.sum_ns - median;
      found = fmt::format("{} {} more", nameCell(entry.first), durationText(most));
    }
  return found;
}

} // namespace

void Unit::add(const RunMember &member) {
  members.push_back(&member);
  const ProcessSummary &summary = member.summary;
  span += summary.span();
  busy += summary.busy_ns;
  idle_in_hip += summary.idle_in_hip_ns;
  idle_elsewhere += summary.idle_elsewhere_ns;
  idle_in_messages += summary.idle_in_messages_ns;
  totals.merge(summary.totals);
}

std::vector<Unit> unitsOf(const Run &run) {
  std::map<std::tuple<std::string, uint64_t, std::string, uint32_t>, Unit> units;
  for (const RunMember &member : run.members) {
    const RunProcess &process = member.summary.process;
    const bool has_rank = process.rank.has_value();
    Unit &unit = units[{has_rank ? process.job : "~", process.rank.value_or(0),
                        has_rank ? "" : process.host, has_rank ? 0 : process.pid}];
    unit.name = process.name();
    unit.add(member);
  }
  std::vector<Unit> all;
  for (auto &[key, unit] : units) all.push_back(std::move(unit));
  return all;
}

Spread Spread::of(std::vector<uint64_t> values) {
  Spread spread;
  spread.of_most = static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
  std::ranges::sort(values);
  spread.least = values.front();
  const uint64_t lower = values[(values.size() - 1) / 2];
  spread.median = lower + (values[values.size() / 2] - lower) / 2;
  spread.most = values.back();
  return spread;
}

uint64_t sumOf(const Distributions &table, std::string_view name) {
  const auto at = table.find(name);
  return at == table.end() ? 0 : at->second.sum_ns;
}

uint64_t countOf(const Distributions &table) {
  uint64_t count = 0;
  for (const auto &[name, distribution] : table) count += distribution.count;
  return count;
}

std::string slowestOf(const std::vector<Unit> &units) {
  if (units.size() < 2) return "";
  const Spread span = spreadOf(units, [](const Unit &unit) { return unit.span; });
  const Unit &unit = units[span.of_most];
  struct Part {
    uint64_t Unit::*time;
    const char *what;
    Tables tables;
  };
  const Part parts[] = {
      {&Unit::busy, "more GPU time", {&RunTotals::kernels, &RunTotals::copies}},
      {&Unit::idle_in_hip, "longer in HIP calls while the GPU is idle", {&RunTotals::functions}},
      {&Unit::idle_elsewhere,
       "longer outside of HIP while the GPU is idle (own code, files, waiting for other ranks)",
       {&RunTotals::messages}}};
  const Part *reason = nullptr;
  uint64_t most = 0;
  for (const Part &part : parts) {
    const Spread spread = spreadOf(units, [&](const Unit &one) { return one.*part.time; });
    if (unit.*part.time <= spread.median + most) continue;
    most = unit.*part.time - spread.median;
    reason = &part;
  }
  std::string text = fmt::format("{}, {} (median {})", cli::printable(unit.name),
                                 durationText(span.most), durationText(span.median));
  if (!reason) return text;
  text += fmt::format(": {} {}", durationText(most), reason->what);
  if (const std::string what = greatestExcess(units, unit, reason->tables); !what.empty())
    text += fmt::format("; {}", what);
  return text;
}

std::vector<Straggler> stragglersOf(const std::vector<Unit> &units, std::size_t most) {
  if (units.size() < 4) return {};
  const auto time = [](const Unit &unit) { return unit.busy; };
  const Spread spread = spreadOf(units, time);
  const auto distance = [&](const Unit &unit) {
    return time(unit) > spread.median ? time(unit) - spread.median : spread.median - time(unit);
  };
  const uint64_t usual = spreadOf(units, distance).median;
  std::vector<Straggler> found;
  for (std::size_t i = 0; i < units.size(); ++i)
    if (time(units[i]) > spread.median &&
        distance(units[i]) > std::max(5 * usual, spread.median / 10))
      found.push_back({i, ""});
  std::ranges::sort(found, [&](const Straggler &a, const Straggler &b) {
    return std::pair(units[b.unit].busy, a.unit) < std::pair(units[a.unit].busy, b.unit);
  });
  for (Straggler &each : std::span(found).first(std::min(most, found.size()))) {
    const Unit &unit = units[each.unit];
    const std::string what = greatestExcess(units, unit, {&RunTotals::kernels, &RunTotals::copies});
    each.text = fmt::format("{}, {} GPU busy (median {}){}", cli::printable(unit.name),
                            durationText(time(unit)), durationText(spread.median),
                            what.empty() ? "" : ": " + what);
  }
  return found;
}

} // namespace fade::host_trace
