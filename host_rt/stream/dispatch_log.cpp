#include "stream/dispatch_log.h"

#include "base/diagnostics.h"
#include "fade/csv_writer.h"
#include "fade/json_writer.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

namespace fade {
namespace {

std::string humanTime(uint64_t ns) {
  if (ns < 10'000) return fmt::format("{} ns", ns);
  if (ns < 10'000'000) return fmt::format("{:.1f} us", static_cast<double>(ns) / 1e3);
  if (ns < 10'000'000'000) return fmt::format("{:.1f} ms", static_cast<double>(ns) / 1e6);
  return fmt::format("{:.1f} s", static_cast<double>(ns) / 1e9);
}

// The columns of the table before the kernel's name.
constexpr auto kRow = "{:>7} {:>9} {:>9} {:>9} {:>9}  {:<12} {}";
constexpr std::size_t kBeforeVariant = 7 + 4 * 10 + 2, kVariantWidth = 12;

/// Names come from files of others: what would move the cursor is left out.
std::string printable(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return name;
}

/// A name that fits into so many characters, its parameters left out first.
std::string cutName(const std::string &full, std::size_t room) {
  std::string name = printable(full);
  if (name.size() <= room) return name;
  const auto parameters = name.find('(');
  if (parameters != name.npos && parameters + 5 <= room)
    return name.substr(0, parameters) + "(...)";
  return name.substr(0, room - 3) + "...";
}

bool has(const fade_dispatch &d, uint32_t flag) { return (d.flags & flag) != 0; }

void writeJson(Output &output, const fade_dispatch &d, const WorkgroupCounts &workgroups) {
  JsonWriter json;
  json.object([&] {
    json.field("type", "dispatch");
    json.field("version", FADE_REPORT_VERSION);
    json.field("kernel", d.kernel->name);
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

void DispatchLog::Durations::add(const fade_dispatch &d) {
  ++count;
  if (!has(d, FADE_DISPATCH_HAS_TIMES)) return;
  const uint64_t duration = d.end_ns - d.start_ns;
  ++timed;
  total += duration;
  shortest = std::min(shortest, duration);
  longest = std::max(longest, duration);
}

void DispatchLog::dispatch(const DispatchRecord &dispatch) {
  const fade_dispatch &d = dispatch.view;
  ++dispatches_;
  WorkgroupCounts workgroups;
  {
    const std::lock_guard lock(mutex_);
    workgroups = countWorkgroups(d, filter_);
  }
  if (!has(d, FADE_DISPATCH_INSTRUMENTED)) {
    workgroups.recorded = 0;
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
  durations_[{d.kernel->name, d.variant}].add(d);
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
    if (!key.first.starts_with("__amd_rocclr_") &&
        (outcome.kernels.empty() || outcome.kernels.back() != key.first))
      outcome.kernels.push_back(key.first);
  outcome.lacks_twins = std::ranges::any_of(
      skipped_, [](const auto &entry) { return entry.first.second.starts_with(kNoTwin); });
  return hintFor(*wishes_, outcome);
}

void DispatchLog::report() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> notes;
  if (instrumented_ != 0) notes = samplingNotes(filter_, workgroups_);
  uint64_t observed = 0; // the variant's name where the software GPU was asked to watch
  for (const auto &[key, durations] : durations_)
    if (key.second == "observed") observed += durations.count;
  if (observed != 0)
    notes.push_back(fmt::format("{} seen by the software GPU, as compiled: accesses are those of "
                                "the machine's instructions",
                                observed == 1 ? "1 dispatch was"
                                              : fmt::format("{} dispatches were", observed)));
  const auto hint_line = hint();
  switch (output_.format()) {
  case Format::text: reportText(notes); break;
  case Format::json: reportJson(notes, hint_line.value_or("")); break;
  case Format::csv: reportCsv(); break;
  }
  output_.flush();
  if (hint_line) sayLine(*hint_line);
}

void DispatchLog::reportText(const std::vector<std::string> &notes) {
  std::vector<const decltype(durations_)::value_type *> rows;
  rows.reserve(durations_.size());
  for (const auto &row : durations_) rows.push_back(&row);
  std::ranges::sort(rows, [](const auto *a, const auto *b) {
    if (a->second.total != b->second.total) return a->second.total > b->second.total;
    return a->first < b->first;
  });

  const auto bold = [color = output_.hasColor()](const std::string &line) {
    return color ? fmt::format("\033[1m{}\033[0m\n", line) : line + '\n';
  };
  const unsigned columns = output_.terminalColumns();
  std::string text;
  if (!rows.empty())
    text += bold(
        fmt::format(kRow, "count", "total", "mean", "shortest", "longest", "variant", "kernel"));
  for (const auto *row : rows) {
    const auto &key = row->first;
    const auto &d = row->second;
    const auto time = [&](uint64_t ns) { return d.timed != 0 ? humanTime(ns) : "-"; };
    const std::size_t before = kBeforeVariant + std::max(key.second.size(), kVariantWidth) + 1;
    const std::size_t room =
        columns == 0 ? SIZE_MAX : columns - std::min<std::size_t>(columns, before);
    text +=
        fmt::format(kRow, d.count, time(d.total), time(d.total / std::max<uint64_t>(d.timed, 1)),
                    time(d.shortest), time(d.longest), printable(key.second),
                    cutName(key.first, std::max<std::size_t>(room, 8))) +
        '\n';
  }
  text += bold(fmt::format("{} {}, {} instrumented, {} records, {} bytes, {} dropped", dispatches_,
                           dispatches_ == 1 ? "dispatch" : "dispatches", instrumented_, records_,
                           bytes_, dropped_));
  for (const std::string &one : notes) text += one + '\n';
  if (incomplete_ != 0)
    text += fmt::format("{} dispatches had not ended when the report was made\n", incomplete_);
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
    json.list("notes", [&] {
      for (const std::string &one : notes) json.value(one);
    });
    json.field("hint", hint_line);
    json.list("durations", [&] {
      for (const auto &row : durations_)
        json.object([&] {
          const auto &[key, d] = row;
          json.field("kernel", key.first);
          json.field("variant", key.second);
          json.field("count", d.count);
          json.field("total_ns", d.total);
          json.field("shortest_ns", d.timed ? d.shortest : 0);
          json.field("longest_ns", d.longest);
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
