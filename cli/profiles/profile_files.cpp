// The files of a profile: one JSON document each.
#include "profiles/profile.h"

#include "analysis/json_fields.h"
#include "base/json_text.h"
#include "profiles/json_document.h"

#include <algorithm>
#include <fmt/format.h>

namespace fade::profile {
namespace {

using codeobj::NumberType;
using OrderedJson = nlohmann::ordered_json;

constexpr int kVersion = 2;

/// null where nobody has counted: a number would be an invention.
template <typename T> OrderedJson ifKnown(bool is_known, const T &value) {
  return is_known ? OrderedJson(value) : OrderedJson();
}

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
          {"gpus", gpus}};
}

OrderedJson nameFields(const ProfiledKernel &k) {
  return {{"kernel", k.counts.name},
          {"module", ifKnown(!k.counts.module.empty(), k.counts.module)},
          {"symbol", k.counts.symbol},
          {"target", ifKnown(!k.counts.target.empty(), k.counts.target)},
          {"counted", k.counts.is_counted},
          {"traced", k.counts.is_traced}};
}

struct Roof {
  const char *type, *unit;
  double packed_share = 0; ///< of its vector operations, by packed or dual instructions
  double plain = 0, packed = 0;
  /// What its own instructions reach, each at its rate.
  double flops_per_s = 0;
};

/// Of the operations of vectors on a type, those of instructions that make two at a time.
double packedShareOf(const KernelProfile &c, NumberType type) {
  double all = 0, packed = 0;
  for (const ProfiledInstruction &one : c.instructions) {
    if (one.info.unit != codeobj::Unit::Valu || one.info.flop_type != type) continue;
    const bool is_dual = one.text.find(" :: ") != one.text.npos;
    all += static_cast<double>(one.flops);
    if (one.info.is_packed || is_dual) packed += static_cast<double>(one.flops);
  }
  return all == 0 ? 0 : packed / all;
}

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
  Roof roof{name, "vector", 0, gpu.plainPeak(type), gpu.vectorPeak(type), 0};
  roof.packed_share = packedShareOf(k.counts, type);
  if (roof.plain > 0 && roof.packed > 0)
    roof.flops_per_s = 1 / (roof.packed_share / roof.packed + (1 - roof.packed_share) / roof.plain);
  if (f.matrix == 0 || gpu.matrixPeak(type) <= 0) return roof;
  // The matrix unit works beside the vector ALU: whichever takes longer decides.
  const double share = static_cast<double>(f.matrix) / static_cast<double>(f.all());
  const double by_matrix = gpu.matrixPeak(type) / share;
  if (2 * share > 1) roof.unit = "matrix";
  roof.flops_per_s = share >= 1 || roof.flops_per_s <= 0
                         ? by_matrix
                         : std::min(by_matrix, roof.flops_per_s / (1 - share));
  return roof;
}

OrderedJson roofFields(const Roof &roof) {
  OrderedJson fields = {
      {"type", roof.type}, {"unit", roof.unit}, {"flops_per_s", roof.flops_per_s}};
  if (std::string_view(roof.unit) == "vector") {
    fields["packed_share"] = roof.packed_share;
    fields["plain_flops_per_s"] = roof.plain;
    fields["packed_flops_per_s"] = roof.packed;
  }
  return fields;
}

OrderedJson rooflineOf(const ProfiledKernel &k, const GpuModel &gpu) {
  const KernelProfile &c = k.counts;
  const bool is_known = c.is_counted;
  const auto flops = static_cast<double>(c.flops.all());
  OrderedJson intensity = OrderedJson::object(), rates = OrderedJson::object();
  for (const auto &[name, bytes] : {std::pair("lds", c.bytes.lds), std::pair("l1", c.bytes.l1),
                                    std::pair("l2", c.bytes.l2), std::pair("dram", c.bytes.dram)}) {
    intensity[name] = bytes == 0 ? OrderedJson() : OrderedJson(flops / static_cast<double>(bytes));
    rates[name] = ifKnown(is_known, k.perSecond(static_cast<double>(bytes)));
  }
  const Roof roof = roofOf(k, gpu);
  const double slope = c.bytes.dram == 0
                           ? roof.flops_per_s
                           : flops / static_cast<double>(c.bytes.dram) * gpu.memory_bytes_per_s;
  const char *bound = c.bytes.dram != 0 && slope < roof.flops_per_s ? "memory" : "compute";
  return {{"counted_by", ifKnown(is_known, c.by_blocks ? "blocks" : "software GPU")},
          {"exact", ifKnown(is_known, c.doubt.empty())},
          {"doubt", c.doubt},
          {"levels", ifKnown(is_known, c.has_levels ? "model" : "accessed")},
          {"flops", ifKnown(is_known, flopsOf(c.flops))},
          {"bytes", ifKnown(is_known, bytesOf(c.bytes))},
          {"intensity", intensity},
          {"flops_per_s", ifKnown(is_known, k.perSecond(flops))},
          {"bytes_per_s", rates},
          {"roof", ifKnown(is_known, roofFields(roof))},
          {"attainable_flops_per_s", ifKnown(is_known, std::min(roof.flops_per_s, slope))},
          {"bound", ifKnown(is_known, bound)},
          {"time", timeFields(k)}};
}

OrderedJson classOf(const ProfiledKernel &k) {
  OrderedJson evidence = OrderedJson::array();
  for (const Evidence &e : k.verdict.evidence)
    evidence.push_back({{"name", e.name}, {"value", e.value}, {"unit", e.unit}});
  return {{"class", nameOf(k.verdict.kind)},
          {"limit", ifKnown(k.verdict.kind != KernelClass::unknown, nameOf(k.verdict.limit))},
          {"reason", k.verdict.reason},
          {"next",
           {{"class", nameOf(k.verdict.next)},
            {"nearness", ifKnown(k.verdict.next != KernelClass::unknown, k.verdict.nearness)}}},
          {"try_first", k.findings.empty() ? k.verdict.advice : k.findings.front().advice},
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

/// What a thread trace says of it: the units that are not there are not in the trace.
OrderedJson tracedUtilizationOf(const TraceTotals &t) {
  OrderedJson out = OrderedJson::object();
  for (std::size_t i = 0; i < kLimits; ++i)
    if (const auto limit = static_cast<Limit>(i); limit != Limit::latency)
      out[nameOf(limit)] = OrderedJson();
  if (t.simd_cycles <= 0) return out;
  out[nameOf(Limit::valu)] = t.valu_cycles / t.simd_cycles;
  out[nameOf(Limit::matrix)] = t.matrix_cycles / t.simd_cycles;
  out[nameOf(Limit::scalar)] = t.scalar_cycles / t.simd_cycles;
  return out;
}

OrderedJson tracedOccupancyOf(const TraceTotals &t) {
  return {{"waves_per_simd", ifKnown(t.simd_cycles > 0, t.wavesPerSimd())},
          {"possible", OrderedJson()},
          {"most", OrderedJson()},
          {"limit", OrderedJson()},
          {"units", OrderedJson()},
          {"rounds", OrderedJson()}};
}

OrderedJson findingsOf(const ProfiledKernel &k) {
  OrderedJson out = OrderedJson::array();
  for (const report::Finding &f : k.findings) {
    OrderedJson places = OrderedJson::array();
    for (const report::FindingPlace &p : f.places)
      places.push_back({{"file", p.file}, {"line", p.line}, {"column", p.column}, {"op", p.op}});
    out.push_back({{"cause", report::nameOf(f.cause)},
                   {"gain", f.gain},
                   {"run_gain", f.run_gain},
                   {"before_ns", f.before_ns},
                   {"after_ns", f.after_ns},
                   {"together", f.together.empty() ? "" : report::nameOf(f.together.front())},
                   {"unit", nameOf(f.unit)},
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
                       {"lanes", ifKnown(k.counts.is_counted, one.lanes)},
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
  const bool is_known = k.counts.is_counted;
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
                   {"lanes", ifKnown(is_known, line.lanes)},
                   {"lane_share", ifKnown(is_known, part(static_cast<double>(line.lanes),
                                                         static_cast<double>(line.executions) *
                                                             k.counts.wave_size))},
                   {"flops", ifKnown(is_known, line.flops)},
                   {"bytes", ifKnown(is_known, line.bytes)},
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
  const bool is_known = c.is_counted;
  OrderedJson registers;
  if (c.registers)
    registers = {{"vgprs", c.registers->vgprs},
                 {"agprs", c.registers->agprs},
                 {"sgprs", c.registers->sgprs},
                 {"spilled_vgprs", c.registers->spilled_vgprs},
                 {"spilled_sgprs", c.registers->spilled_sgprs}};
  return {{"dispatches", ifKnown(is_known || c.dispatches != 0, c.dispatches)},
          {"workgroups", ifKnown(is_known, c.workgroups)},
          {"workgroup_items", ifKnown(is_known, c.workgroup_items)},
          {"waves", ifKnown(is_known || c.waves != 0, c.waves)},
          {"wave_size", ifKnown(is_known, c.wave_size)},
          {"lds_bytes", ifKnown(is_known, c.lds_bytes)},
          {"registers", registers},
          {"instructions", ifKnown(is_known || c.is_traced, c.executions())},
          {"lane_share", ifKnown(is_known, c.laneShare())},
          {"lds_turns", ifKnown(is_known, c.lds_turns)},
          {"lds_conflicts", ifKnown(is_known, c.lds_conflicts)},
          {"l1_requests", ifKnown(is_known, c.l1_requests)},
          {"occupancy", c.trace ? tracedOccupancyOf(*c.trace)
                                : ifKnown(is_known, occupancyOf(k.time.occupancy))},
          {"waves_over_time", wavesOf(k, gpu)},
          {"utilization",
           c.trace ? tracedUtilizationOf(*c.trace) : ifKnown(is_known, utilizationOf(k.time))},
          {"wave_ns", ifKnown(is_known, k.time.wave_ns)},
          {"waiting_ns", ifKnown(is_known, k.time.waiting_ns)}};
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

std::string textOf(const OrderedJson &object) { return jsonText(object); }

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
    OrderedJson one = nameFields(k);
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
    OrderedJson one = nameFields(k);
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
  OrderedJson head = headOf("analysis", profile);
  head["thresholds"] = OrderedJson::array();
  for (const Threshold &t : thresholds())
    head["thresholds"].push_back({{"name", t.name}, {"value", t.value}, {"meaning", t.meaning}});
  JsonDocument roofline(directory + "/roofline.json", textOf(headOf("roofline", profile)));
  JsonDocument analysis(directory + "/analysis.json", textOf(head));
  JsonDocument whole(directory + "/profile.json", textOf(headOf("profile", profile)));
  for (JsonDocument *file : {&roofline, &analysis, &whole}) file->list("kernels");
  for (const ProfiledKernel &k : profile.kernels) {
    const GpuModel &gpu = profile.gpuOf(k);
    const OrderedJson coordinates = rooflineOf(k, gpu), verdict = classOf(k);
    OrderedJson one = nameFields(k);
    one.update(coordinates);
    roofline.entry(textOf(one));
    one = nameFields(k);
    one["time"] = timeFields(k);
    one.update(verdict);
    analysis.entry(textOf(one));
    one = nameFields(k);
    one["metrics"] = metricsOf(k, gpu);
    one["roofline"] = coordinates;
    one["criticality"] = criticalityOf(k);
    one["classification"] = verdict;
    one["findings"] = findingsOf(k);
    one["lines"] = linesOf(k);
    one["instructions"] = instructionsOf(k);
    whole.entry(textOf(one));
  }
  for (JsonDocument *file : {&roofline, &analysis, &whole})
    if (const Status status = file->close(); !status) return status;
  return Done{};
}

} // namespace fade::profile
