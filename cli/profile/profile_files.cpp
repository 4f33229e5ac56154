// The files of a profile: JSON lines, one object in each.
#include "profile/profile.h"

#include "report/json_fields.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>

namespace fade::profile {
namespace {

using codeobj::NumberType;
using OrderedJson = nlohmann::ordered_json;

constexpr int kVersion = 1;

OrderedJson flopsOf(const Flops &f) {
  return {{"all", f.all()},     {"f64", f.f64},       {"f32", f.f32},
          {"f16", f.f16},       {"bf16", f.bf16},     {"f8", f.f8},
          {"packed", f.packed}, {"matrix", f.matrix}, {"matrix_integer", f.matrix_integer}};
}

OrderedJson bytesOf(const LevelBytes &b) {
  return {
      {"accessed", b.accessed}, {"scalar", b.scalar}, {"lds", b.lds}, {"l1", b.l1}, {"l2", b.l2},
      {"dram", b.dram}};
}

OrderedJson timeFields(const ProfiledKernel &k) {
  OrderedJson time = OrderedJson::object();
  const auto ns = k.dispatchNs();
  time["dispatch_ns"] = ns ? OrderedJson(*ns) : OrderedJson();
  time["all_ns"] = k.allNs();
  time["is"] = !ns ? "unknown" : k.counts.measured_ns ? "measured" : "modeled";
  return time;
}

/// Peaks of a card: operations and bytes per second.
OrderedJson ceilingsOf(const GpuModel &gpu) {
  OrderedJson vectors = OrderedJson::object(), matrices = OrderedJson::object();
  for (const auto &[name, type] :
       {std::pair("f64", NumberType::F64), std::pair("f32", NumberType::F32),
        std::pair("f16", NumberType::F16), std::pair("bf16", NumberType::Bf16),
        std::pair("f8", NumberType::F8)}) {
    if (gpu.vectorPeak(type) > 0) vectors[name] = gpu.vectorPeak(type);
    if (gpu.matrixPeak(type) > 0) matrices[name] = gpu.matrixPeak(type);
  }
  return {{"vector_flops", vectors},
          {"matrix_flops", matrices},
          {"bytes",
           {{"lds", gpu.bytesPeak(gpu.lds_bytes_per_cycle)},
            {"l1", gpu.bytesPeak(gpu.l1_bytes_per_cycle)},
            {"l2", gpu.bytesPeak(gpu.l2_bytes_per_cycle)},
            {"dram", gpu.memory_bytes_per_s}}}};
}

/// Head of each file.
OrderedJson headOf(const char *type, const Profile &profile) {
  OrderedJson gpus = OrderedJson::array();
  for (const auto &[target, gpu] : profile.gpus) {
    if (target.empty()) continue; // a trace does not say on which GPU
    gpus.push_back({{"target", target},
                    {"card", gpu.card},
                    {"rates", gpu.is_measured   ? "measured"
                              : gpu.is_stand_in ? "of another card"
                                                : "table"},
                    {"compute_units", gpu.units},
                    {"clock_hz", gpu.clock_hz},
                    {"launch_ns", gpu.launch_ns},
                    {"ceilings", ceilingsOf(gpu)}});
  }
  return {{"type", type},
          {"version", kVersion},
          {"command", profile.command},
          {"times", profile.in_software ? "modeled" : "measured"},
          {"gpus", gpus},
          {"kernels", profile.kernels.size()}};
}

OrderedJson nameFields(const char *type, const ProfiledKernel &k) {
  return {{"type", type},
          {"kernel", k.counts.name},
          {"symbol", k.counts.symbol},
          {"target", k.counts.target},
          {"counted", k.counts.is_counted},
          {"traced", k.counts.is_traced}};
}

struct Roof {
  const char *type, *unit;
  double flops_per_s;
};

/// Which roof a kernel is under: of the type of most of its operations.
Roof roofOf(const ProfiledKernel &k, const GpuModel &gpu) {
  const Flops &f = k.counts.flops;
  const std::array<std::tuple<const char *, uint64_t, NumberType>, 5> types = {
      {{"f64", f.f64, NumberType::F64},
       {"f32", f.f32, NumberType::F32},
       {"f16", f.f16, NumberType::F16},
       {"bf16", f.bf16, NumberType::Bf16},
       {"f8", f.f8, NumberType::F8}}};
  const auto &[name, count, type] =
      *std::ranges::max_element(types, {}, [](const auto &t) { return std::get<1>(t); });
  const bool by_matrix = 2 * f.matrix > f.all() && gpu.matrixPeak(type) > 0;
  return {name, by_matrix ? "matrix" : "vector",
          by_matrix ? gpu.matrixPeak(type) : gpu.vectorPeak(type)};
}

OrderedJson rooflineOf(const ProfiledKernel &k, const GpuModel &gpu) {
  const KernelProfile &c = k.counts;
  const auto flops = static_cast<double>(c.flops.all());
  OrderedJson intensity = OrderedJson::object(), rates = OrderedJson::object();
  for (const auto &[name, bytes] : {std::pair("lds", c.bytes.lds), std::pair("l1", c.bytes.l1),
                                    std::pair("l2", c.bytes.l2), std::pair("dram", c.bytes.dram)}) {
    intensity[name] = bytes == 0 ? OrderedJson() : OrderedJson(flops / static_cast<double>(bytes));
    rates[name] = k.perSecond(static_cast<double>(bytes));
  }
  const auto [type, unit, roof] = roofOf(k, gpu);
  const double slope =
      c.bytes.dram == 0 ? roof : flops / static_cast<double>(c.bytes.dram) * gpu.memory_bytes_per_s;
  return {{"counted_by", !c.is_counted ? OrderedJson()
                         : c.by_blocks ? "blocks"
                                       : "software GPU"},
          {"exact", c.is_counted && c.doubt.empty()},
          {"doubt", c.doubt},
          {"levels", c.has_levels ? "model" : "accessed"},
          {"flops", flopsOf(c.flops)},
          {"bytes", bytesOf(c.bytes)},
          {"intensity", intensity},
          {"flops_per_s", k.perSecond(flops)},
          {"bytes_per_s", rates},
          {"roof", {{"type", type}, {"unit", unit}, {"flops_per_s", roof}}},
          {"attainable_flops_per_s", std::min(roof, slope)},
          {"bound", c.bytes.dram != 0 && slope < roof ? "memory" : "compute"},
          {"time", timeFields(k)}};
}

OrderedJson classOf(const ProfiledKernel &k) {
  OrderedJson evidence = OrderedJson::array();
  for (const Evidence &e : k.verdict.evidence)
    evidence.push_back({{"name", e.name}, {"value", e.value}, {"unit", e.unit}});
  return {{"class", nameOf(k.verdict.kind)},
          {"limit", k.counts.is_counted ? OrderedJson(nameOf(k.verdict.limit)) : OrderedJson()},
          {"reason", k.verdict.reason},
          {"next", {{"class", nameOf(k.verdict.next)}, {"nearness", k.verdict.nearness}}},
          {"try_first", k.verdict.advice},
          {"evidence", evidence}};
}

OrderedJson occupancyOf(const ModelOccupancy &o) {
  return {{"waves_per_simd", o.resident},
          {"possible", o.possible},
          {"most", o.most},
          {"limit", o.limit},
          {"units", o.units},
          {"rounds", o.rounds}};
}

/// Of the modeled time, how long each unit has something to do.
OrderedJson utilizationOf(const ModelTime &time) {
  OrderedJson out = OrderedJson::object();
  for (std::size_t i = 0; i < kLimits; ++i)
    if (const auto limit = static_cast<Limit>(i); limit != Limit::latency)
      out[nameOf(limit)] = time.total() == 0 ? 0 : time.ns[i] / time.total();
  return out;
}

OrderedJson findingsOf(const ProfiledKernel &k) {
  OrderedJson out = OrderedJson::array();
  for (const report::Finding &f : k.findings) {
    OrderedJson places = OrderedJson::array();
    for (const report::FindingPlace &p : f.places)
      places.push_back({{"file", p.file}, {"line", p.line}, {"column", p.column}, {"op", p.op}});
    out.push_back({{"cause", report::nameOf(f.cause)},
                   {"gain", f.gain},
                   {"cycles", f.cycles},
                   {"bytes", f.bytes},
                   {"counts", f.counts},
                   {"advice", f.advice},
                   {"places", places}});
  }
  return out;
}

/// Sums over the instructions of a line.
struct LineSum {
  uint64_t executions = 0, lanes = 0, flops = 0, bytes = 0;
  double busy = 0, waits = 0;
  std::array<double, codeobj::kUnitCount> by_unit{};
};

/// Cycles of all waves, busy or waiting: what shares are shares of.
struct WaveCycles {
  std::array<double, codeobj::kUnitCount> by_unit{};
  double all = 0;
};

WaveCycles cyclesOf(const ProfiledKernel &k) {
  WaveCycles sum;
  for (std::size_t i = 0; i < k.counts.instructions.size(); ++i) {
    const ProfiledInstruction &one = k.counts.instructions[i];
    const InstructionTime &t = k.time.instructions[i];
    sum.by_unit[static_cast<std::size_t>(one.info.unit)] +=
        static_cast<double>(one.executions) * t.busy;
    sum.all += static_cast<double>(one.executions) * (t.issue + t.waits);
  }
  return sum;
}

double part(double of, double whole) { return whole == 0 ? 0 : of / whole; }

OrderedJson instructionsOf(const ProfiledKernel &k) {
  const WaveCycles all = cyclesOf(k);
  OrderedJson out = OrderedJson::array();
  for (std::size_t i = 0; i < k.counts.instructions.size(); ++i) {
    const ProfiledInstruction &one = k.counts.instructions[i];
    const InstructionTime &t = k.time.instructions[i];
    const auto executions = static_cast<double>(one.executions);
    OrderedJson row = {{"address", one.address},
                       {"text", one.text},
                       {"unit", codeobj::to_string(one.info.unit)},
                       {"file", one.file},
                       {"line", one.line},
                       {"executions", one.executions},
                       {"lanes", one.lanes},
                       {"unit_share", part(executions * t.busy,
                                           all.by_unit[static_cast<std::size_t>(one.info.unit)])},
                       {"time_share", part(executions * (t.issue + t.waits), all.all)}};
    if (t.waits > 0) {
      row["wait_cycles"] = t.waits;
      row["wait_share"] = part(executions * t.waits, all.all);
    }
    if (t.waits_for) row["waits_for"] = k.counts.instructions[*t.waits_for].address;
    out.push_back(std::move(row));
  }
  return out;
}

OrderedJson linesOf(const ProfiledKernel &k) {
  const WaveCycles all = cyclesOf(k);
  std::map<std::pair<std::string, uint32_t>, LineSum> lines;
  for (std::size_t i = 0; i < k.counts.instructions.size(); ++i) {
    const ProfiledInstruction &one = k.counts.instructions[i];
    const InstructionTime &t = k.time.instructions[i];
    if (one.executions == 0) continue;
    LineSum &line = lines[{one.file, one.line}];
    const auto executions = static_cast<double>(one.executions);
    line.executions += one.executions;
    line.lanes += one.lanes;
    line.flops += one.flops;
    line.bytes += one.bytes;
    line.busy += executions * (t.issue + t.waits);
    line.waits += executions * t.waits;
    line.by_unit[static_cast<std::size_t>(one.info.unit)] += executions * t.busy;
  }
  OrderedJson out = OrderedJson::array();
  for (const auto &[place, line] : lines) {
    OrderedJson units = OrderedJson::object();
    for (std::size_t u = 0; u < codeobj::kUnitCount; ++u)
      if (line.by_unit[u] != 0)
        units[std::string(codeobj::to_string(static_cast<codeobj::Unit>(u)))] =
            part(line.by_unit[u], all.by_unit[u]);
    out.push_back({{"file", place.first},
                   {"line", place.second},
                   {"executions", line.executions},
                   {"lanes", line.lanes},
                   {"lane_share", part(static_cast<double>(line.lanes),
                                       static_cast<double>(line.executions) * k.counts.wave_size)},
                   {"flops", line.flops},
                   {"bytes", line.bytes},
                   {"unit_shares", units},
                   {"time_share", part(line.busy, all.all)},
                   {"wait_share", part(line.waits, all.all)}});
  }
  std::sort(out.begin(), out.end(), [](const OrderedJson &a, const OrderedJson &b) {
    const double x = a["time_share"].get<double>(), y = b["time_share"].get<double>();
    return x != y ? x > y : a["line"].get<uint32_t>() < b["line"].get<uint32_t>();
  });
  return out;
}

OrderedJson wavesOf(const ProfiledKernel &k, const GpuModel &gpu) {
  if (!k.counts.is_counted && !k.counts.is_traced) return {};
  OrderedJson moments = OrderedJson::array();
  for (const WavesAt &at :
       k.counts.is_traced ? k.counts.waves_over_time : wavesOverTime(k.counts, gpu, k.time))
    moments.push_back({at.time, at.waves});
  return {{"unit", k.counts.is_traced ? "cycles" : "ns"}, {"moments", moments}};
}

OrderedJson metricsOf(const ProfiledKernel &k, const GpuModel &gpu) {
  const KernelProfile &c = k.counts;
  OrderedJson registers;
  if (c.registers)
    registers = {{"vgprs", c.registers->vgprs},
                 {"agprs", c.registers->agprs},
                 {"sgprs", c.registers->sgprs},
                 {"spilled_vgprs", c.registers->spilled_vgprs},
                 {"spilled_sgprs", c.registers->spilled_sgprs}};
  return {{"dispatches", c.dispatches},
          {"workgroups", c.workgroups},
          {"workgroup_items", c.workgroup_items},
          {"waves", c.waves},
          {"wave_size", c.wave_size},
          {"lds_bytes", c.lds_bytes},
          {"registers", registers},
          {"instructions", c.executions()},
          {"lane_share", c.laneShare()},
          {"lds_turns", c.lds_turns},
          {"lds_conflicts", c.lds_conflicts},
          {"l1_requests", c.l1_requests},
          {"occupancy", occupancyOf(k.time.occupancy)},
          {"waves_over_time", wavesOf(k, gpu)},
          {"utilization", utilizationOf(k.time)},
          {"wave_ns", k.time.wave_ns},
          {"waiting_ns", k.time.waiting_ns}};
}

OrderedJson criticalityOf(const ProfiledKernel &k) {
  if (!k.criticality) return {};
  OrderedJson gains; // null: not computed
  for (std::size_t i = 0; k.criticality->gain_ns && i < kFaster.size(); ++i)
    gains[std::to_string(kFaster[i])] = (*k.criticality->gain_ns)[i];
  return {{"total_ns", k.criticality->total_ns},
          {"critical_ns", k.criticality->critical_ns},
          {"gain_ns", gains}};
}

class File {
public:
  explicit File(const std::string &path) : path_(path), out_(path, std::ios::binary) {}
  void line(const OrderedJson &object) {
    out_ << object.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) << '\n';
  }
  Status close() {
    out_.close();
    if (out_) return Done{};
    return Error::of(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
  }

private:
  std::string path_;
  std::ofstream out_;
};

} // namespace

report::Json pageOf(const Profile &profile) {
  constexpr std::size_t most = 4000; // instructions of a kernel on a page
  const auto is_counted = [](const ProfiledKernel &k) {
    return k.counts.is_counted || k.counts.is_traced;
  };
  if (std::ranges::none_of(profile.kernels, is_counted)) return {};
  OrderedJson page = headOf("profile", profile);
  page["kernels"] = OrderedJson::array();
  for (const ProfiledKernel &k : profile.kernels) {
    OrderedJson one = nameFields("kernel", k);
    one["metrics"] = metricsOf(k, profile.gpuOf(k));
    one["roofline"] = rooflineOf(k, profile.gpuOf(k));
    one["classification"] = classOf(k);
    one["instructions"] =
        k.counts.instructions.size() <= most ? instructionsOf(k) : OrderedJson::array();
    page["kernels"].push_back(std::move(one));
  }
  return page;
}

nlohmann::ordered_json forProposers(const Profile &profile) {
  OrderedJson all = OrderedJson::array();
  for (const ProfiledKernel &k : profile.kernels) {
    if (!k.counts.is_counted) continue;
    OrderedJson one = nameFields("kernel", k);
    one["metrics"] = metricsOf(k, profile.gpuOf(k));
    one["roofline"] = rooflineOf(k, profile.gpuOf(k));
    one["classification"] = classOf(k);
    one["findings"] = findingsOf(k);
    one["lines"] = linesOf(k);
    all.push_back(std::move(one));
  }
  return all;
}

Status writeFiles(const Profile &profile, const std::string &directory) {
  File roofline(directory + "/roofline.json"), analysis(directory + "/analysis.json"),
      whole(directory + "/profile.json");
  roofline.line(headOf("roofline", profile));
  OrderedJson head = headOf("analysis", profile);
  head["thresholds"] = OrderedJson::array();
  for (const Threshold &t : thresholds())
    head["thresholds"].push_back({{"name", t.name}, {"value", t.value}, {"meaning", t.meaning}});
  analysis.line(head);
  whole.line(headOf("profile", profile));
  for (const ProfiledKernel &k : profile.kernels) {
    const GpuModel &gpu = profile.gpuOf(k);
    const OrderedJson coordinates = rooflineOf(k, gpu), verdict = classOf(k);
    OrderedJson line = nameFields("kernel", k);
    line.update(coordinates);
    roofline.line(line);
    line = nameFields("kernel", k);
    line["time"] = timeFields(k);
    line.update(verdict);
    analysis.line(line);
    line = nameFields("kernel", k);
    line["metrics"] = metricsOf(k, gpu);
    line["roofline"] = coordinates;
    line["criticality"] = criticalityOf(k);
    line["classification"] = verdict;
    line["findings"] = findingsOf(k);
    line["lines"] = linesOf(k);
    line["instructions"] = instructionsOf(k);
    whole.line(line);
  }
  for (File *file : {&roofline, &analysis, &whole})
    if (const Status status = file->close(); !status) return status;
  return Done{};
}

} // namespace fade::profile
