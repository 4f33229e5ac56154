#include "host_trace/run_summary.h"

#include "base/json_text.h"
#include "host_trace/line_file.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace fade::host_trace {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

uint32_t bucketOf(uint64_t ns) {
  if (ns < 4) return static_cast<uint32_t>(ns);
  const auto exponent = static_cast<uint32_t>(std::bit_width(ns) - 1);
  return 4 * (exponent - 1) + static_cast<uint32_t>(ns >> (exponent - 2) & 3);
}

double lowerEnd(uint32_t bucket) {
  if (bucket < 4) return bucket;
  return std::ldexp(4.0 + bucket % 4, static_cast<int>(bucket / 4) - 1);
}

void mergeAll(Distributions &to, const Distributions &from) {
  for (const auto &[name, distribution] : from) to[name].merge(distribution);
}

// ---- as text

void writeClocks(JsonWriter &json, const char *name, const ClockReading &clocks) {
  json.object(name, [&] {
    json.field("monotonic_ns", clocks.monotonic_ns);
    json.field("realtime_ns", clocks.realtime_ns);
    json.field("width_ns", clocks.width_ns);
    json.field("synchronized", clocks.is_synchronized);
    json.field("max_error_ns", clocks.max_error_ns);
    json.field("files_ahead_ns", clocks.files_ahead_ns);
    json.field("files_error_ns", clocks.files_error_ns);
  });
}

void writeHead(JsonWriter &json, const ProcessSummary &summary) {
  const RunProcess &process = summary.process;
  const RunTotals &totals = summary.totals;
  json.object([&] {
    json.field("type", "summary");
    json.field("version", 1);
    json.field("host", process.host);
    json.field("boot_id", process.boot_id);
    json.field("pid", process.pid);
    if (process.rank) json.field("rank", *process.rank);
    if (process.ranks) json.field("ranks", *process.ranks);
    if (!process.job.empty()) json.field("job", process.job);
    if (!process.launch.empty()) json.field("launch", process.launch);
    json.field("command", process.command);
    writeClocks(json, "clocks", process.clocks);
    if (summary.end_clocks) writeClocks(json, "end_clocks", *summary.end_clocks);
    json.field("exited", summary.has_exited);
    if (!summary.about_times.empty()) json.field("times", summary.about_times);
    json.field("start_ns", summary.start_ns);
    json.field("end_ns", summary.end_ns);
    json.field("busy_ns", summary.busy_ns);
    json.field("idle_in_hip_ns", summary.idle_in_hip_ns);
    json.field("idle_elsewhere_ns", summary.idle_elsewhere_ns);
    json.field("idle_in_messages_ns", summary.idle_in_messages_ns);
    json.field("calls", totals.calls);
    json.field("operations", totals.operations);
    json.field("failed_calls", totals.failed_calls);
    json.field("unfinished", totals.unfinished);
    json.field("lost", totals.lost);
    json.field("damaged", totals.damaged);
  });
}

/// The tables of a summary, by the types of their lines.
template <typename Totals, typename F> void forEachTable(Totals &totals, F &&each) {
  each("kernel", totals.kernels);
  each("copy", totals.copies);
  each("call", totals.functions);
  each("range", totals.ranges);
  each("message", totals.messages);
}

void writeLine(JsonWriter &json, const char *type, const std::string &name,
               const Distribution &distribution) {
  json.object([&] {
    json.field("type", type);
    json.field("name", name);
    json.field("count", distribution.count);
    json.field("sum_ns", distribution.sum_ns);
    json.field("min_ns", distribution.min_ns);
    json.field("max_ns", distribution.max_ns);
    if (distribution.bytes != 0) json.field("bytes", distribution.bytes);
    json.list("histogram", [&] {
      for (const auto &entry : distribution.histogram)
        json.list([&] {
          json.value(entry.first);
          json.value(entry.second);
        });
    });
  });
}

// ---- from text: whatever is there, it is somebody else's

ClockReading clocksIn(const Json &json) {
  ClockReading clocks;
  clocks.monotonic_ns = json.value("monotonic_ns", int64_t{0});
  clocks.realtime_ns = json.value("realtime_ns", int64_t{0});
  clocks.width_ns = json.value("width_ns", int64_t{0});
  clocks.is_synchronized = json.value("synchronized", false);
  clocks.max_error_ns = json.value("max_error_ns", int64_t{0});
  clocks.files_ahead_ns = json.value("files_ahead_ns", int64_t{0});
  clocks.files_error_ns = json.value("files_error_ns", int64_t{0});
  return clocks;
}

/// A number, or a text that is one: variables of launchers are texts.
std::optional<uint64_t> numberIn(const Json &json, const char *name) {
  const auto at = json.find(name);
  if (at == json.end()) return std::nullopt;
  if (at->is_number_unsigned()) return at->get<uint64_t>();
  if (!at->is_string()) return std::nullopt;
  const auto &text = at->get_ref<const std::string &>();
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

RunProcess processIn(const Json &json) {
  RunProcess process;
  process.host = json.value("host", "");
  process.boot_id = json.value("boot_id", "");
  process.job = json.value("job", "");
  process.launch = json.value("launch", "");
  process.command = json.value("command", "");
  process.rank = numberIn(json, "rank");
  process.ranks = numberIn(json, "ranks");
  process.pid = json.value("pid", 0U);
  process.clocks = clocksIn(json.value("clocks", Json::object()));
  return process;
}

ProcessSummary summaryIn(const Json &json) {
  ProcessSummary summary;
  summary.process = processIn(json);
  if (json.contains("end_clocks")) summary.end_clocks = clocksIn(json["end_clocks"]);
  summary.has_exited = json.value("exited", false);
  summary.about_times = json.value("times", "");
  const auto number = [&](const char *name) { return json.value(name, uint64_t{0}); };
  summary.start_ns = number("start_ns");
  summary.end_ns = std::max(number("end_ns"), summary.start_ns);
  summary.busy_ns = number("busy_ns");
  summary.idle_in_hip_ns = number("idle_in_hip_ns");
  summary.idle_elsewhere_ns = number("idle_elsewhere_ns");
  summary.idle_in_messages_ns = number("idle_in_messages_ns");
  RunTotals &totals = summary.totals;
  totals.calls = number("calls");
  totals.operations = number("operations");
  totals.failed_calls = number("failed_calls");
  totals.unfinished = number("unfinished");
  totals.lost = number("lost");
  totals.damaged = number("damaged");
  return summary;
}

Distribution distributionIn(const Json &json) {
  constexpr uint32_t buckets = 256;
  Distribution found;
  found.count = json.value("count", uint64_t{0});
  found.sum_ns = json.value("sum_ns", uint64_t{0});
  found.min_ns = json.value("min_ns", UINT64_MAX);
  found.max_ns = json.value("max_ns", uint64_t{0});
  found.bytes = json.value("bytes", uint64_t{0});
  for (const Json &pair : json.value("histogram", Json::array()))
    if (const auto bucket = pair.at(0).get<uint32_t>(); bucket < buckets)
      found.histogram[bucket] += pair.at(1).get<uint64_t>();
  return found;
}

} // namespace

void Distribution::add(uint64_t ns, uint64_t size) {
  ++count;
  sum_ns += ns;
  min_ns = std::min(min_ns, ns);
  max_ns = std::max(max_ns, ns);
  bytes += size;
  ++histogram[bucketOf(ns)];
}

void Distribution::merge(const Distribution &other) {
  count += other.count;
  sum_ns += other.sum_ns;
  min_ns = std::min(min_ns, other.min_ns);
  max_ns = std::max(max_ns, other.max_ns);
  bytes += other.bytes;
  for (const auto &[bucket, number] : other.histogram) histogram[bucket] += number;
}

uint64_t Distribution::quantile(double q) const {
  if (count == 0) return 0;
  if (q >= 1) return max_ns;
  double left = q * static_cast<double>(count);
  for (const auto &[bucket, number] : histogram) {
    left -= static_cast<double>(number);
    if (left > 0) continue;
    const double middle = (lowerEnd(bucket) + lowerEnd(bucket + 1)) / 2;
    return std::clamp(static_cast<uint64_t>(middle), min_ns, max_ns);
  }
  return max_ns;
}

std::string RunProcess::name() const {
  return rank ? fmt::format("rank {}", *rank) : fmt::format("process {} on {}", pid, host);
}

Result<RunProcess> readRunProcess(const std::string &folder) {
  const std::string path = folder + "/process.json";
  std::ifstream file(path);
  if (!file) return Error{path, "", 0, "no such file, or it cannot be read"};
  const Json json = parsedJson(std::string(std::istreambuf_iterator<char>(file), {}));
  try {
    if (json.is_object()) return processIn(json);
  } catch (const Json::exception &) { // a member of another type
  }
  return Error{path, "", 0, "does not describe a process"};
}

void RunTotals::merge(const RunTotals &other) {
  calls += other.calls;
  operations += other.operations;
  failed_calls += other.failed_calls;
  unfinished += other.unfinished;
  lost += other.lost;
  damaged += other.damaged;
  mergeAll(kernels, other.kernels);
  mergeAll(copies, other.copies);
  mergeAll(functions, other.functions);
  mergeAll(ranges, other.ranges);
  mergeAll(messages, other.messages);
}

Status writeSummary(const ProcessSummary &summary, const std::string &path) {
  const std::string fresh = fmt::format("{}.{}.new", path, getpid());
  LineFile file(fresh);
  writeHead(file.json, summary);
  forEachTable(summary.totals, [&](const char *type, const Distributions &table) {
    for (const auto &[name, distribution] : table) {
      writeLine(file.json, type, name, distribution);
      file.lineEnded();
    }
  });
  Status status = file.close();
  std::error_code error;
  if (status) fs::rename(fresh, path, error);
  if (status && !error) return status;
  if (error) status = Error{path, "", 0, error.message()};
  fs::remove(fresh, error);
  return status;
}

Result<std::vector<ProcessSummary>> readSummaries(std::istream &file, const std::string &name) {
  std::vector<ProcessSummary> summaries;
  uint64_t offset = 0;
  for (std::string line; std::getline(file, line); offset += line.size() + 1) {
    if (line.empty()) continue;
    const Error wrong{name, "", offset, "is not a line of a summary"};
    const Json json = parsedJson(line);
    if (!json.is_object()) return wrong;
    try {
      const std::string type = json.value("type", "");
      if (type == "summary") {
        if (json.value("version", 0) != 1)
          return Error{name, "", offset, "was written by another version of FADE"};
        summaries.push_back(summaryIn(json));
        continue;
      }
      if (summaries.empty()) return wrong;
      forEachTable(summaries.back().totals, [&](const char *of, Distributions &table) {
        if (type == of) table[json.at("name").get<std::string>()].merge(distributionIn(json));
      });
    } catch (const Json::exception &) {
      return wrong;
    }
  }
  return summaries;
}

} // namespace fade::host_trace
