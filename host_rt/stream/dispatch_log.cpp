#include "stream/dispatch_log.h"

#include "base/diagnostics.h"
#include "base/hip_helpers.h"
#include "fade/csv_writer.h"
#include "fade/json_writer.h"
#include "fade/kernel_name.h"
#include "stream/output.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <string_view>
#include <vector>

namespace fade {
namespace {

std::string humanTime(uint64_t ns) {
  if (ns < 10'000) return fmt::format("{} ns", ns);
  if (ns < 10'000'000) return fmt::format("{:.1f} us", static_cast<double>(ns) / 1e3);
  if (ns < 10'000'000'000) return fmt::format("{:.1f} ms", static_cast<double>(ns) / 1e6);
  return fmt::format("{:.1f} s", static_cast<double>(ns) / 1e9);
}

std::string humanCount(uint64_t n) {
  const auto value = static_cast<double>(n);
  if (n < 100'000) return std::to_string(n);
  if (n < 100'000'000) return fmt::format("{:.1f} k", value / 1e3);
  if (n < 100'000'000'000) return fmt::format("{:.1f} M", value / 1e6);
  return fmt::format("{:.1f} G", value / 1e9);
}

// The columns of the table before the kernel's name.
constexpr auto kRow = "{:>7} {:>9} {:>9} {:>9} {:>9}  {:<12} {}";
constexpr std::size_t kBeforeVariant = 7 + 4 * 10 + 2, kVariantWidth = 12;
constexpr std::size_t kLongestName = 400; // where nobody says how much fits

std::string bold(const std::string &line, bool has_color) {
  return has_color ? fmt::format("\033[1m{}\033[0m\n", line) : line + '\n';
}

/// Of a version from a file, as much of its name as fits.
std::string variantName(const std::string &path) {
  std::string name = printable(path.substr(path.rfind('/') + 1));
  if (name.ends_with(".hsaco")) name.resize(name.size() - 6);
  return name.substr(0, kVariantWidth);
}

bool has(const fade_dispatch &d, uint32_t flag) { return (d.flags & flag) != 0; }

void writeKernel(JsonWriter &json, std::string_view name, std::string_view module) {
  json.field("kernel", name);
  if (!module.empty()) json.field("module", module);
}

void writeArguments(JsonWriter &json, const fade_dispatch &d) {
  json.list("arguments", [&] {
    for (uint32_t i = 0; i < d.argument_count; ++i)
      json.object([&] {
        const fade_argument &one = d.arguments[i];
        if (*one.name) json.field("name", one.name);
        if (*one.type) json.field("argument_type", one.type);
        json.field("offset", one.offset);
        json.field("bytes", one.size);
        json.field("value", one.value);
        if (one.flags & FADE_ARGUMENT_POINTER) json.field("allocation", one.allocation);
      });
  });
}

void writeJson(Output &output, const fade_dispatch &d, const WorkgroupCounts &workgroups) {
  JsonWriter json;
  json.object([&] {
    json.field("type", "dispatch");
    json.field("version", FADE_REPORT_VERSION);
    writeKernel(json, d.kernel->name, d.kernel->module);
    json.field("dispatch_id", d.id);
    json.field("agent", d.agent);
    json.field("queue", d.queue);
    const bool timed = has(d, FADE_DISPATCH_HAS_TIMES);
    if (timed) {
      json.field("start_ns", d.start_ns);
      json.field("end_ns", d.end_ns);
    } else {
      json.field("start_ns", nullptr);
      json.field("end_ns", nullptr);
    }
    json.list("grid", [&] {
      for (const auto n : d.grid) json.value(n);
    });
    json.list("workgroup", [&] {
      for (const auto n : d.workgroup) json.value(n);
    });
    json.field("workgroups", workgroups.all);
    json.field("workgroups_recorded", workgroups.recorded);
    json.field("lds", d.group_segment);
    json.field("software", has(d, FADE_DISPATCH_IN_SOFTWARE));
    if (has(d, FADE_DISPATCH_HAS_INSTRUCTIONS)) {
      json.field("wave_instructions", d.wave_instructions);
      json.field("lane_instructions", d.lane_instructions);
    }
    if (d.argument_count != 0) writeArguments(json, d);
    json.field("instrumented", has(d, FADE_DISPATCH_INSTRUMENTED));
    json.field("variant", d.variant);
    json.field("complete", !has(d, FADE_DISPATCH_INCOMPLETE));
    json.field("host_bound", has(d, FADE_DISPATCH_HOST_BOUND));
    json.field("records", d.records);
    json.field("bytes", d.bytes);
    json.field("dropped", d.dropped);
  });
  output.write(json.text());
}

void writeCsv(Output &output, const fade_dispatch &d, bool header) {
  CsvWriter csv;
  if (header)
    csv.row("type", "version", "kernel", "dispatch_id", "agent", "queue", "start_ns", "end_ns",
            "grid_x", "grid_y", "grid_z", "workgroup_x", "workgroup_y", "workgroup_z", "lds",
            "instrumented", "variant", "complete", "records", "bytes", "dropped");
  const auto time = [&](uint64_t ns) { // what is not known is empty, and null in JSON
    return has(d, FADE_DISPATCH_HAS_TIMES) ? std::to_string(ns) : std::string();
  };
  csv.row("dispatch", FADE_REPORT_VERSION, d.kernel->name, d.id, d.agent, d.queue, time(d.start_ns),
          time(d.end_ns), d.grid[0], d.grid[1], d.grid[2], d.workgroup[0], d.workgroup[1],
          d.workgroup[2], d.group_segment, has(d, FADE_DISPATCH_INSTRUMENTED) ? "true" : "false",
          d.variant, has(d, FADE_DISPATCH_INCOMPLETE) ? "false" : "true", d.records, d.bytes,
          d.dropped);
  output.write(csv.take());
}

} // namespace

void DispatchLog::Amounts::add(uint64_t amount) {
  ++count;
  total += amount;
  least = std::min(least, amount);
  most = std::max(most, amount);
}

void DispatchLog::Durations::add(const fade_dispatch &d) {
  ++count;
  in_software = in_software || has(d, FADE_DISPATCH_IN_SOFTWARE);
  if (has(d, FADE_DISPATCH_HAS_TIMES)) times.add(d.end_ns - d.start_ns);
  if (has(d, FADE_DISPATCH_HAS_INSTRUCTIONS)) instructions.add(d.wave_instructions);
}

void DispatchLog::setRun(RunFacts facts) {
  if (output_.format() == Format::json) output_.write(facts.json());
  if (output_.format() == Format::csv) output_.write(facts.csv());
  run_ = std::move(facts);
}

void DispatchLog::dispatch(const DispatchRecord &dispatch) {
  const fade_dispatch &d = dispatch.view;
  ++dispatches_;
  WorkgroupCounts workgroups;
  {
    const std::lock_guard lock(mutex_);
    WorkgroupFilter filter = filter_;
    if (dispatch.sample != 0) filter.sample = dispatch.sample;
    workgroups = countWorkgroups(d, filter);
  }
  if (!has(d, FADE_DISPATCH_INSTRUMENTED)) {
    workgroups.recorded = 0;
    if (dispatch.was_passed_over) {
      ++passed_over_;
      workgroups_.all += workgroups.all;
    }
  } else {
    ++instrumented_;
    workgroups_.all += workgroups.all;
    workgroups_.recorded += workgroups.recorded;
  }
  if (has(d, FADE_DISPATCH_INCOMPLETE)) ++incomplete_;
  if (has(d, FADE_DISPATCH_HOST_BOUND)) ++host_bound_;
  records_ += d.records;
  bytes_ += d.bytes;
  dropped_ += d.dropped;
  durations_[{d.kernel->name, d.kernel->module, d.variant}].add(d);
  if (output_.format() == Format::json) writeJson(output_, d, workgroups);
  if (output_.format() == Format::csv) writeCsv(output_, d, !std::exchange(csv_header_, true));
}

void DispatchLog::skipped(const std::string &kernel, const std::string &reason) {
  const std::lock_guard lock(mutex_);
  ++skipped_[{kernel, reason}];
}

std::optional<std::string> DispatchLog::hint() const {
  // Who has not seen everything cannot say that there was nothing.
  if (!wishes_ || wishes_->dispatched() != dispatches_) return std::nullopt;
  Outcome outcome;
  outcome.instrumented = instrumented_;
  // Kernels of the HIP runtime are nobody's wish.
  for (const auto &[key, durations] : durations_)
    if (!isHipHelper(key.kernel) &&
        (outcome.kernels.empty() || outcome.kernels.back() != key.kernel))
      outcome.kernels.push_back(key.kernel);
  outcome.lacks_twins = std::ranges::any_of(
      skipped_, [](const auto &entry) { return entry.first.second.starts_with(kNoTwin); });
  return hintFor(*wishes_, outcome);
}

void DispatchLog::report() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> notes;
  if (instrumented_ != 0)
    notes = filter_.automatic != 0
                ? automaticNotes({instrumented_ + passed_over_, instrumented_}, workgroups_)
                : samplingNotes(filter_, workgroups_);
  uint64_t observed = 0; // the variant's name where the software GPU was asked to watch
  for (const auto &[key, durations] : durations_)
    if (key.variant == "observed") observed += durations.count;
  if (observed != 0)
    notes.push_back(fmt::format(
        "{} observed by the software GPU, as compiled: accesses are those of "
        "the machine's instructions",
        observed == 1 ? "1 dispatch was" : fmt::format("{} dispatches were", observed)));
  const auto hint_line = hint();
  switch (output_.format()) {
  case Format::text: reportText(notes); break;
  case Format::json: reportJson(notes, hint_line.value_or("")); break;
  case Format::csv: reportCsv(); break;
  }
  output_.flush();
  if (hint_line) sayLine(*hint_line);
}

std::string DispatchLog::durationsText() const {
  std::vector<const decltype(durations_)::value_type *> rows;
  rows.reserve(durations_.size());
  for (const auto &row : durations_) rows.push_back(&row);
  std::ranges::sort(rows, [](const auto *a, const auto *b) {
    const Amounts &x = a->second.shown(), &y = b->second.shown();
    if (x.total != y.total) return x.total > y.total;
    return a->first < b->first;
  });
  if (rows.empty()) return "";
  const bool in_software =
      std::ranges::any_of(rows, [](const auto *row) { return row->second.in_software; });
  // Times would be this machine's.
  std::string text = in_software ? "instructions executed, counted once per wave:\n" : "";
  const auto [least, most] =
      in_software ? std::pair("least", "most") : std::pair("shortest", "longest");
  text += bold(fmt::format(kRow, "count", "total", "mean", least, most, "variant", "kernel"),
               output_.hasColor());
  const unsigned columns = output_.terminalColumns();
  std::map<std::string_view, std::set<std::string_view>> modules; // of a name
  for (const auto *row : rows) modules[row->first.kernel].insert(row->first.module);
  const auto labelOf = [&](const Version &version, std::size_t room) {
    if (modules[version.kernel].size() < 2) return shortKernelName(version.kernel, room);
    const std::string module = fmt::format(" (module {})", version.module);
    return shortKernelName(version.kernel, room - std::min(room, module.size())) + module;
  };
  for (const auto *row : rows) {
    const auto &key = row->first;
    const Amounts &d = row->second.shown();
    const auto amount = [&](uint64_t n) {
      return d.count == 0 ? "-" : row->second.in_software ? humanCount(n) : humanTime(n);
    };
    const std::string variant = variantName(key.variant);
    const std::size_t room =
        columns == 0 ? kLongestName
                     : columns - std::min<std::size_t>(columns, kBeforeVariant + kVariantWidth + 1);
    text += fmt::format(kRow, row->second.count, amount(d.total),
                        amount(d.total / std::max<uint64_t>(d.count, 1)), amount(d.least),
                        amount(d.most), variant, labelOf(key, room)) +
            '\n';
  }
  return text;
}

void DispatchLog::reportText(const std::vector<std::string> &notes) {
  const unsigned columns = output_.terminalColumns();
  std::string text = run_ ? run_->text(columns == 0 ? 100 : std::clamp(columns, 60u, 100u)) : "";
  text += durationsText();
  text += bold(fmt::format("{} {}, {} instrumented, {} records, {} bytes, {} dropped", dispatches_,
                           dispatches_ == 1 ? "dispatch" : "dispatches", instrumented_, records_,
                           bytes_, dropped_),
               output_.hasColor());
  for (const std::string &one : notes) text += one + '\n';
  if (incomplete_ != 0)
    text += fmt::format("{} {} had not ended when the report was made\n", incomplete_,
                        incomplete_ == 1 ? "dispatch" : "dispatches");
  if (host_bound_ != 0)
    text += fmt::format("{} {} waited most of the time for the host to read the records: -k, "
                        "--workgroups and --sample\nrecord less, --memory makes room for more\n",
                        host_bound_, host_bound_ == 1 ? "dispatch" : "dispatches");
  for (const auto &[key, count] : skipped_)
    text += fmt::format("not instrumented: {} ({}){}\n", printable(key.first),
                        printable(key.second), count > 1 ? fmt::format(", {} times", count) : "");
  output_.write(text);
}

void DispatchLog::reportJson(const std::vector<std::string> &notes, const std::string &hint_line) {
  JsonWriter json;
  json.object([&] {
    json.field("type", "summary");
    json.field("version", FADE_REPORT_VERSION);
    json.field("records", records_);
    json.field("bytes", bytes_);
    json.field("dropped", dropped_);
    json.field("dispatches", dispatches_);
    json.field("instrumented", instrumented_);
    json.field("incomplete", incomplete_);
    json.field("host_bound", host_bound_);
    json.field("workgroups", workgroups_.all);
    json.field("workgroups_recorded", workgroups_.recorded);
    json.field("sample", std::max(1u, filter_.sample));
    json.field("sample_executions", std::max(1u, filter_.sample_executions));
    if (filter_.automatic != 0) json.field("sample_automatic", true);
    json.list("notes", [&] {
      for (const std::string &one : notes) json.value(one);
    });
    json.field("hint", hint_line);
    json.list("durations", [&] {
      for (const auto &row : durations_)
        json.object([&] {
          const auto &[key, d] = row;
          writeKernel(json, key.kernel, key.module);
          json.field("variant", key.variant);
          json.field("count", d.count);
          json.field("total_ns", d.times.total);
          json.field("shortest_ns", d.times.count ? d.times.least : 0);
          json.field("longest_ns", d.times.most);
          json.field("software", d.in_software);
          if (d.instructions.count != 0) {
            json.field("total_instructions", d.instructions.total);
            json.field("least_instructions", d.instructions.least);
            json.field("most_instructions", d.instructions.most);
          }
        });
    });
    json.list("skipped", [&] {
      for (const auto &row : skipped_)
        json.object([&] {
          const auto &[key, count] = row;
          json.field("kernel", key.first);
          json.field("reason", key.second);
          json.field("count", count);
        });
    });
  });
  output_.write(json.text());
}

void DispatchLog::reportCsv() {
  CsvWriter csv;
  csv.row("type", "version", "records", "bytes", "dropped", "dispatches", "instrumented",
          "incomplete", "workgroups", "workgroups_recorded", "sample", "sample_executions");
  csv.row("summary", FADE_REPORT_VERSION, records_, bytes_, dropped_, dispatches_, instrumented_,
          incomplete_, workgroups_.all, workgroups_.recorded, std::max(1u, filter_.sample),
          std::max(1u, filter_.sample_executions));
  if (!skipped_.empty()) csv.row("type", "version", "kernel", "reason", "count");
  for (const auto &[key, count] : skipped_)
    csv.row("skipped", FADE_REPORT_VERSION, key.first, key.second, count);
  output_.write(csv.take());
}

} // namespace fade
