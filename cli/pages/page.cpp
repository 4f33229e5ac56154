#include "pages/page.h"

#include "analysis/findings.h"
#include "analysis/sampled.h"
#include "base/json_text.h"
#include "kernels/kernel_facts.h"
#include "kernels/listing.h"
#include "pages/deaths.h"
#include "pages/errors.h"
#include "pages/heat_map.h"
#include "pages/host_side.h"
#include "pages/page_files.h"

#include <algorithm>
#include <fmt/format.h>
#include <ranges>

namespace fade::report {
namespace {

constexpr std::size_t kMostDispatches = 100'000; ///< that are listed

/// Column by column: a hundred thousand dispatches would repeat their keys as often.
Json dispatchColumns(const RunLog &log, uint64_t first_start) {
  Json out;
  for (const char *key :
       {"id",        "kernel", "agent",   "queue",        "start",    "duration",      "grid",
        "workgroup", "lds",    "variant", "instrumented", "complete", "records",       "bytes",
        "dropped",   "needed", "used",    "conflicts",    "executed", "lanes_executed"})
    out[key] = Json::array();
  const std::size_t listed = std::min(log.dispatches.size(), kMostDispatches);
  for (const Dispatch &d : log.dispatches | std::views::take(listed)) {
    out["id"].push_back(d.id);
    out["kernel"].push_back(d.kernel);
    out["agent"].push_back(d.agent);
    out["queue"].push_back(d.queue);
    out["start"].push_back(d.hasTimes() ? Json(*d.start_ns - first_start) : Json());
    out["duration"].push_back(d.hasTimes() ? Json(*d.end_ns - *d.start_ns) : Json());
    out["grid"].push_back(d.grid);
    out["workgroup"].push_back(d.workgroup);
    out["lds"].push_back(d.lds);
    out["variant"].push_back(d.variant);
    out["instrumented"].push_back(d.instrumented ? 1 : 0);
    out["complete"].push_back(d.complete ? 1 : 0);
    out["records"].push_back(d.records);
    out["bytes"].push_back(d.bytes);
    out["dropped"].push_back(d.dropped);
    out["needed"].push_back(d.has_memory ? Json(d.lines_needed) : Json());
    out["used"].push_back(d.has_memory ? Json(d.lines_used) : Json());
    out["conflicts"].push_back(d.has_memory ? Json(d.conflicts) : Json());
    out["executed"].push_back(d.wave_instructions ? Json(*d.wave_instructions) : Json());
    out["lanes_executed"].push_back(d.lane_instructions ? Json(*d.lane_instructions) : Json());
  }
  out["variants"] = log.variants;
  return out;
}

/// Of any access, even one with nothing to gain.
std::string adviceOf(const Access &access) {
  if (!access.advice.empty()) return access.advice;
  if (access.waste() == 0)
    return access.is_lds ? "No bank conflicts: nothing to gain here."
                         : "All used cache lines are needed: nothing to gain here.";
  return "Little is wasted here: see the rows above first.";
}

Json accessList(RunLog &log, SourceFiles &sources) {
  std::ranges::sort(log.accesses, [](const Access &a, const Access &b) {
    if (a.waste() != b.waste()) return a.waste() > b.waste();
    return std::tie(a.kernel, a.file, a.line, a.column, a.op, a.bytes, a.is_lds) <
           std::tie(b.kernel, b.file, b.line, b.column, b.op, b.bytes, b.is_lds);
  });
  Json out = Json::array();
  for (const Access &a : log.accesses) {
    Json strides = Json::array();
    for (const auto &[stride, executions] : a.strides) strides.push_back({stride, executions});
    out.push_back({{"kernel", a.kernel},
                   {"space", a.is_lds ? "lds" : "global"},
                   {"file", sources.indexOf(a.file, true)},
                   {"line", a.line},
                   {"column", a.column},
                   {"op", a.op},
                   {"bytes", a.bytes},
                   {"function", a.function},
                   {"via", a.via},
                   {"executions", a.executions},
                   {"lanes", a.lanes},
                   {"total_bytes", a.total_bytes},
                   {"needed", a.needed},
                   {"used", a.used},
                   {"wasted", a.wasted},
                   {"conflicts", a.conflicts},
                   {"same_address", a.same_address},
                   {"machine", a.machine},
                   {"strides", std::move(strides)},
                   {"other_strides", a.other_strides},
                   {"irregular", a.irregular},
                   {"worst_dispatch", a.worst_dispatch},
                   {"source", a.source},
                   {"advice", adviceOf(a)}});
  }
  return out;
}

Json lineList(const RunLog &log, SourceFiles &sources) {
  // What was counted instruction by instruction is closer than what blocks tell.
  auto lines = log.lines;
  for (const auto &[place, count] : log.counted_lines) lines[place] = count;
  Json out = Json::array();
  for (const auto &[place, count] : lines)
    if (place.second != 0)
      out.push_back({sources.indexOf(place.first), place.second, count.executions, count.lanes,
                     count.slots, count.instructions});
  return out;
}

/// What is worth changing, largest gain first.
Json findingList(const Findings &findings, SourceFiles &sources) {
  Json out = Json::array();
  for (const Finding &f : findings.list) {
    Json places = Json::array();
    for (const FindingPlace &p : f.places)
      places.push_back({{"file", sources.indexOf(p.file, true)},
                        {"line", p.line},
                        {"column", p.column},
                        {"op", p.op},
                        {"cycles", p.cycles}});
    out.push_back({{"cause", nameOf(f.cause)},
                   {"kernel", f.kernel},
                   {"unit", profile::nameOf(f.unit)},
                   {"cycles", f.cycles},
                   {"bytes", f.bytes},
                   {"gain", f.gain},
                   {"run_gain", f.run_gain},
                   {"before_ns", f.before_ns},
                   {"after_ns", f.after_ns},
                   {"together", f.together.empty() ? "" : nameOf(f.together.front())},
                   {"counts", f.counts},
                   {"advice", f.advice},
                   {"places", std::move(places)}});
  }
  return out;
}

/// Of each kernel: how long it keeps each unit busy, by the model.
Json costList(const Findings &findings) {
  Json out = Json::array();
  for (const KernelCost &cost : findings.kernels) {
    Json units = Json::object();
    for (std::size_t u = 0; u < profile::kLimits; ++u)
      units[profile::nameOf(static_cast<profile::Limit>(u))] = cost.cycles[u];
    out.push_back({{"cycles", cost.most()},
                   {"busiest", profile::nameOf(cost.busiest())},
                   {"dispatch_ns", cost.dispatch_ns},
                   {"is_counted", cost.is_counted},
                   {"units", std::move(units)},
                   {"bytes", cost.bytes},
                   {"knows_caches", cost.knows_caches},
                   {"knows_alu", cost.knows_alu}});
  }
  return out;
}

/// Of each kernel: instructions that waves executed.
Json countList(const RunLog &log) {
  Json out = Json::array();
  for (const auto &[kernel, counts] : log.counts) {
    Json mix = Json::array();
    for (const auto &[unit, of] : counts.mix) mix.push_back({unit, of.first, of.second});
    out.push_back({{"kernel", kernel},
                   {"dispatches", counts.dispatches},
                   {"executions", counts.executions},
                   {"mix", std::move(mix)},
                   {"flops", counts.flops},
                   {"bytes", counts.bytes},
                   {"wave_size", counts.wave_size}});
  }
  return out;
}

Json flowList(const RunLog &log, SourceFiles &sources) {
  Json out = Json::array();
  for (const auto &[kernel, flow] : log.flows) {
    // Without `flow` lines a kernel's blocks cannot be told from those of its neighbors, except
    // that they ran.
    const bool knows_own =
        std::ranges::any_of(flow.blocks, [](const auto &b) { return b.second.is_own; });
    Json blocks = Json::array();
    for (const auto &[id, b] : flow.blocks) {
      if (knows_own ? !b.is_own && b.executions == 0 : b.executions == 0) continue;
      Json lines = Json::array();
      for (const auto &[file, line] : b.lines) lines.push_back({sources.indexOf(file), line});
      const auto maybe = [](const std::optional<uint64_t> &n) { return n ? Json(*n) : Json(); };
      blocks.push_back({{"id", id},
                        {"function", b.function},
                        {"lines", std::move(lines)},
                        {"executions", b.executions},
                        {"lanes", b.lanes},
                        {"divergent", maybe(b.divergent)},
                        {"splits", maybe(b.splits)},
                        {"clocks", maybe(log.inSoftware() ? std::nullopt : b.clocks)},
                        {"p50", maybe(log.inSoftware() ? std::nullopt : b.p50)},
                        {"p90", maybe(log.inSoftware() ? std::nullopt : b.p90)},
                        {"p99", maybe(log.inSoftware() ? std::nullopt : b.p99)}});
    }
    if (blocks.empty()) continue;
    Json edges = Json::array();
    for (const Edge &e : flow.edges)
      edges.push_back({e.from ? Json(*e.from) : Json(), e.to, e.executions, e.lanes});
    out.push_back({{"kernel", kernel},
                   {"wave_size", flow.wave_size},
                   {"blocks", std::move(blocks)},
                   {"edges", std::move(edges)}});
  }
  return out;
}

/// Addresses as distances from the lowest: a script's numbers are exact up to 53 bits only.
Json patternList(const RunLog &log, SourceFiles &sources) {
  Json out = Json::array();
  for (const Pattern &p : log.patterns) {
    // Whole lines, so that the drawing can count in lines.
    const uint64_t row = p.is_lds ? p.banks * 4 : p.line_size;
    const uint64_t lowest = std::ranges::min(p.addresses) / row * row;
    Json offsets = Json::array();
    for (const uint64_t address : p.addresses) offsets.push_back(address - lowest);
    Json one = {{"kernel", p.kernel},
                {"space", p.is_lds ? "lds" : "global"},
                {"which", p.which},
                {"file", sources.indexOf(p.file, true)},
                {"line", p.line},
                {"column", p.column},
                {"op", p.op},
                {"bytes", p.bytes},
                {"lane_bytes", p.lane_bytes},
                {"dispatch_id", p.dispatch},
                {"line_size", p.line_size},
                {"banks", p.banks},
                {"lines_needed", p.needed},
                {"lines_used", p.used},
                {"conflicts", p.conflicts},
                {"mask", fmt::format("{:#x}", p.mask)},
                {"base", fmt::format("{:#x}", lowest)},
                {"offsets", std::move(offsets)}};
    if (p.workgroup) one["workgroup"] = *p.workgroup;
    out.push_back(std::move(one));
  }
  return out;
}

Json placementList(const RunLog &log) {
  Json out = Json::array();
  for (const auto &[kernel, units] : log.placements) {
    Json rows = Json::array();
    for (const UnitWaves &u : units) rows.push_back({u.xcc, u.engine, u.array, u.unit, u.waves});
    out.push_back({{"kernel", kernel}, {"units", std::move(rows)}});
  }
  return out;
}

/// What ran where, of each process.
Json runList(const RunLog &log) {
  Json out = Json::array();
  for (const Run &run : log.runs) {
    Json gpus = Json::array();
    for (const Run::Gpu &gpu : run.gpus)
      gpus.push_back({{"target", gpu.target}, {"name", gpu.name}, {"software", gpu.in_software}});
    out.push_back({{"fade", run.fade},
                   {"runtime", run.runtime},
                   {"hip", run.hip},
                   {"command", run.command},
                   {"date", run.date},
                   {"options", run.options},
                   {"gpus", std::move(gpus)}});
  }
  return out;
}

/// Values as text: a script's numbers are exact up to 53 bits only.
Json argumentList(const Kernel &kernel) {
  Json out = Json::array();
  for (const Argument &argument : kernel.arguments) {
    Json values = Json::array();
    for (const auto &[value, count] : argument.values)
      values.push_back(
          {fmt::format("{:#x}", value.first), std::to_string(value.first), value.second, count});
    out.push_back({{"name", argument.name},
                   {"type", argument.type},
                   {"offset", argument.offset},
                   {"bytes", argument.bytes},
                   {"pointer", argument.is_pointer},
                   {"values", std::move(values)},
                   {"others", argument.other_values}});
  }
  return out;
}

Json totals(const RunLog &log) {
  uint64_t records = 0, bytes = 0, dropped = 0, instrumented = 0, incomplete = 0, busy = 0;
  uint64_t executed = 0;
  uint64_t needed = 0, used = 0, wasted = 0, conflicts = 0;
  for (const Dispatch &d : log.dispatches) {
    records += d.records;
    bytes += d.bytes;
    dropped += d.dropped;
    instrumented += d.instrumented ? 1 : 0;
    incomplete += d.complete ? 0 : 1;
    if (d.hasTimes()) busy += *d.end_ns - *d.start_ns;
    executed += d.wave_instructions.value_or(0);
  }
  for (const Access &a : log.accesses) {
    needed += a.needed;
    used += a.used;
    wasted += a.wasted;
    conflicts += a.conflicts;
  }
  return {{"dispatches", log.dispatches.size()},
          {"instrumented", instrumented},
          {"incomplete", incomplete},
          {"records", records},
          {"bytes", bytes},
          {"dropped", dropped},
          {"busy_ns", busy},
          {"executed", executed},
          {"needed", needed},
          {"used", used},
          {"wasted", wasted},
          {"conflicts", conflicts},
          {"cut_off", !log.has_summary}};
}

} // namespace

Json pageData(RunLog &log, const PageOptions &options) {
  SourceFiles sources(options.sources);
  uint64_t first_start = ~uint64_t{0};
  for (const Dispatch &d : log.dispatches)
    if (d.hasTimes()) first_start = std::min(first_start, *d.start_ns);
  Json data;
  data["made_by"] = "fadeprobe " FADE_VERSION;
  data["title"] = options.title;
  data["totals"] = totals(log);
  data["runs"] = runList(log);
  data["software"] = log.inSoftware();
  data["sampled"] = hasEstimates(log);
  data["ended"] = options.end;
  data["deaths"] = deathList(log, sources);
  data["tables"] = log.tables;
  data["texts"] = log.texts;
  data["first_start_ns"] = first_start == ~uint64_t{0} ? "" : std::to_string(first_start);
  data["dispatches"] = dispatchColumns(log, first_start);
  data["accesses"] = accessList(log, sources);
  data["lines"] = lineList(log, sources);
  data["counts"] = countList(log);
  data["flows"] = flowList(log, sources);
  data["patterns"] = patternList(log, sources);
  data["placements"] = placementList(log);
  data["host"] = options.host ? hostData(*options.host, log) : Json();
  data["heat"] = heatMapOf(log);
  data["code"] = codeOf(log, options.code, sources);
  const Assessment assessment =
      options.assess ? options.assess(log) : Assessment{Json(), findingsOf(log)};
  const Findings &findings = assessment.findings;
  data["findings"] = findingList(findings, sources);
  data["costs"] = costList(findings);
  data["errors"] = errorList(log, sources);
  data["checked_dispatches"] = log.checked_dispatches;
  if (!log.errors.empty()) data["docs"] = docsAddress();
  data["profile"] = assessment.profile;
  data["files"] = sources.json();
  if (const auto withheld = sources.withheld(); !withheld.empty()) data["withheld"] = withheld;
  Json &skipped = data["skipped"] = Json::array();
  for (const Skipped &one : log.skipped)
    skipped.push_back({{"kernel", one.kernel}, {"reason", one.reason}, {"count", one.count}});
  Json &kernels = data["kernels"] = Json::array();
  for (const Kernel &k : log.kernels) {
    kernels.push_back({{"name", k.name},
                       {"symbol", k.symbol},
                       {"target", k.target},
                       {"arguments", argumentList(k)},
                       {"peaks", peaksOf(k.target)},
                       {"line_size", k.line_size},
                       {"banks", k.banks}});
    if (!k.module.empty()) kernels.back()["module"] = k.module;
  }
  data["problems"] = log.problems;
  data["notes"] = log.notes;
  if (log.dispatches.size() > kMostDispatches)
    data["notes"].push_back(fmt::format("The first {} of {} dispatches are listed; sums are of all",
                                        kMostDispatches, log.dispatches.size()));
  data["hint"] = log.hint;
  return data;
}

std::string scriptSafe(const Json &data) {
  // Source files may hold any bytes.
  const std::string text = jsonText(data);
  std::string out;
  out.reserve(text.size() + text.size() / 16);
  for (std::size_t i = 0; i < text.size(); ++i) {
    // Outside of strings JSON has none of these characters.
    switch (text[i]) {
    case '<': out += "\\u003c"; break;
    case '>': out += "\\u003e"; break;
    case '&': out += "\\u0026"; break;
    default: out += text[i];
    }
  }
  return out;
}

std::string htmlPage(const Json &data, std::string_view drawn_by) {
  std::string page(kPageHtml);
  const auto insert = [&](std::string_view mark, std::string_view what) {
    page.replace(page.find(mark), mark.size(), what);
  };
  // The data last: nothing in it is ever searched for marks.
  insert("/*STYLE*/", kPageStyle);
  insert("/*SCRIPT*/", drawn_by.empty() ? kPageScript : drawn_by);
  insert("/*DATA*/", scriptSafe(data));
  return page;
}

} // namespace fade::report
