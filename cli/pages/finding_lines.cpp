#include "pages/finding_lines.h"

#include "base/json_text.h"

namespace fade::report {
namespace {

/// Cycles come from a model: no more digits than it deserves.
Json rounded(double cycles) { return static_cast<uint64_t>(cycles + 0.5); }

Json kernelOf(const RunLog &log, uint32_t index, const char *type) {
  const Kernel &kernel = log.kernels[index];
  Json line = {{"type", type},
               {"version", 1},
               {"kernel", kernel.name},
               {"symbol", kernel.symbol},
               {"target", kernel.target}};
  if (!kernel.module.empty()) line["module"] = kernel.module;
  return line;
}

Json placeList(const Finding &finding) {
  Json out = Json::array();
  for (const FindingPlace &place : finding.places)
    out.push_back({{"file", place.file},
                   {"line", place.line},
                   {"column", place.column},
                   {"op", place.op},
                   {"cycles", rounded(place.cycles)}});
  return out;
}

Json causesOf(const std::vector<Finding::Cause> &causes) {
  Json out = Json::array();
  for (const Finding::Cause cause : causes) out.push_back(nameOf(cause));
  return out;
}

std::string lineOf(const Json &object) { return jsonText(object) + '\n'; }

} // namespace

std::string findingLines(const RunLog &log, const Findings &findings) {
  std::string text;
  for (std::size_t i = 0; i < findings.list.size(); ++i) {
    const Finding &f = findings.list[i];
    Json object = kernelOf(log, f.kernel, "finding");
    object["rank"] = i + 1;
    object["cause"] = nameOf(f.cause);
    object["unit"] = profile::nameOf(f.unit);
    object["cycles"] = rounded(f.cycles);
    object["bytes"] = f.bytes;
    object["gain"] = f.gain;
    object["run_gain"] = f.run_gain;
    object["before_ns"] = rounded(f.before_ns);
    object["after_ns"] = rounded(f.after_ns);
    object["together"] = causesOf(f.together);
    object["counts"] = f.counts;
    object["advice"] = f.advice;
    object["places"] = placeList(f);
    text += lineOf(object);
  }
  for (uint32_t k = 0; k < findings.kernels.size(); ++k) {
    const KernelCost &cost = findings.kernels[k];
    if (cost.most() <= 0) continue;
    Json object = kernelOf(log, k, "cost");
    object["cycles"] = rounded(cost.most());
    object["busiest"] = profile::nameOf(cost.busiest());
    Json &units = object["units"] = Json::object();
    for (std::size_t u = 0; u < profile::kLimits; ++u)
      units[profile::nameOf(static_cast<profile::Limit>(u))] = rounded(cost.cycles[u]);
    object["dispatch_ns"] = rounded(cost.dispatch_ns);
    object["all_ns"] = rounded(cost.all_ns);
    object["is"] = cost.is_counted ? "modeled" : "estimated";
    object["bytes"] = cost.bytes;
    object["knows_caches"] = cost.knows_caches;
    object["knows_alu"] = cost.knows_alu;
    text += lineOf(object);
  }
  return text;
}

std::string codeLines(const RunLog &log) {
  std::string text;
  for (const auto &[kernel, counts] : log.counts) {
    if (!counts.by_blocks) continue;
    Json object = kernelOf(log, kernel, "hotspots");
    object["by_blocks"] = true;
    if (!counts.doubt.empty()) object["doubt"] = counts.doubt;
    object["wave_size"] = counts.wave_size;
    object["dispatches"] = counts.dispatches;
    object["executions"] = counts.executions;
    object["flops"] = counts.flops;
    object["bytes"] = counts.bytes;
    Json &mix = object["mix"] = Json::array();
    for (const auto &[unit, sums] : counts.mix)
      mix.push_back({{"unit", unit}, {"executions", sums.first}, {"lanes", sums.second}});
    Json &instructions = object["instructions"] = Json::array();
    for (const auto &[address, one] : counts.instructions) {
      Json entry = {{"address", address}, {"text", one.text},     {"file", one.file},
                    {"line", one.line},   {"column", one.column}, {"executions", one.executions},
                    {"lanes", one.lanes}};
      if (one.flops != 0) entry["flops"] = one.flops;
      if (one.bytes != 0) entry["bytes"] = one.bytes;
      instructions.push_back(std::move(entry));
    }
    text += lineOf(object);
  }
  for (const auto &[kernel, code] : log.code) {
    Json object = kernelOf(log, kernel, "code");
    object["vgprs"] = code.vgprs;
    object["agprs"] = code.agprs;
    object["sgprs"] = code.sgprs;
    object["lds"] = code.lds;
    object["scratch"] = code.scratch;
    object["spilled"] = code.spilled;
    text += lineOf(object);
  }
  return text;
}

} // namespace fade::report
