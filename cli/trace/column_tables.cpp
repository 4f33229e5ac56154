#include "trace/column_tables.h"

#include "parquet/writer.h"
#include "trace/trace_log.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

namespace fade::host_trace {
namespace {

namespace fs = std::filesystem;
using parquet::Column;
using parquet::ColumnInfo;
using parquet::ColumnType;

/// A column: what it is called, and what it has of a row.
template <class Row> struct TableColumn {
  ColumnInfo info;
  std::function<void(Column &, const Row &)> add;
};

template <class T> void addOr(Column &column, const std::optional<T> &value) {
  if (value)
    column.add(static_cast<int64_t>(*value));
  else
    column.addNull();
}

void addOr(Column &column, std::string_view text) {
  if (text.empty())
    column.addNull();
  else
    column.add(text);
}

/// Calls are counted from 1, as in JSON lines.
std::optional<std::size_t> idOf(const std::optional<std::size_t> &index) {
  return index ? std::optional(*index + 1) : std::nullopt;
}

/// Where the files of this process go, and when its clock began.
class Folder {
public:
  Folder(const HostEvents &events, std::string path, std::string partition)
      : events_(events), path_(std::move(path)), partition_(std::move(partition)),
        to_unix_(events.realtime_ns - events.monotonic_ns) {
    const Process *first = nullptr;
    for (const auto &[pid, process] : events.processes)
      if (!first || process.start_ns < first->start_ns) {
        first = &process;
        pid_ = pid;
      }
  }

  int64_t unixTime(uint64_t ns) const { return static_cast<int64_t>(ns) + to_unix_; }

  /// Rows in order of their first column's numbers.
  template <class Row>
  Status write(const std::string &table, const std::vector<Row> &rows,
               const std::vector<TableColumn<Row>> &columns) const {
    const fs::path folder = fs::path(path_) / table / partition_;
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return Error{folder, "", 0, error.message()};
    const fs::path file = folder / fmt::format("{}.parquet", pid_);
    const std::string fresh = file.string() + ".new";
    Status status = fill(fresh, rows, columns);
    if (status) fs::rename(fresh, file, error);
    if (status && !error) return status;
    if (error) status = Error{file, "", 0, error.message()};
    fs::remove(fresh, error);
    return status;
  }

private:
  template <class Row>
  Status fill(const std::string &path, const std::vector<Row> &rows,
              const std::vector<TableColumn<Row>> &columns) const {
    std::vector<ColumnInfo> infos;
    for (const auto &column : columns) infos.push_back(column.info);
    auto writer = parquet::Writer::create(
        path, std::move(infos), 0,
        {{"fade.tables", "1"}, {"fade.times", std::string(events_.aboutTimes())}});
    if (!writer) return std::move(writer).error();
    for (const Row &row : rows) {
      for (std::size_t i = 0; i < columns.size(); ++i) columns[i].add(writer->column(i), row);
      if (Status status = writer->endRow(); !status) return status;
    }
    return writer->close();
  }

  const HostEvents &events_;
  const std::string path_, partition_;
  const int64_t to_unix_; ///< from CLOCK_MONOTONIC to the time since 1970
  uint32_t pid_ = 0;
};

constexpr auto kInt32 = ColumnType::int32;
constexpr auto kInt64 = ColumnType::int64;
constexpr auto kText = ColumnType::text;

Status writeCalls(const Folder &folder, const TraceLog &log) {
  using Columns = std::vector<TableColumn<LoggedCall>>;
  const Columns columns = {
      {{"start_ns", kInt64},
       [&](Column &to, const LoggedCall &call) { to.add(folder.unixTime(call.start_ns)); }},
      {{"duration_ns", kInt64, true},
       [](Column &to, const LoggedCall &call) {
         const bool has_end = call.has_returned || call.is_name_only;
         addOr(to, has_end ? std::optional(call.end_ns - call.start_ns) : std::nullopt);
       }},
      {{"id", kInt64},
       [&](Column &to, const LoggedCall &call) { to.add(int64_t{&call - log.calls.data()} + 1); }},
      {{"parent", kInt64, true},
       [](Column &to, const LoggedCall &call) { addOr(to, idOf(call.parent)); }},
      {{"pid", kInt32}, [](Column &to, const LoggedCall &call) { to.add(int64_t{call.pid}); }},
      {{"tid", kInt32}, [](Column &to, const LoggedCall &call) { to.add(int64_t{call.tid}); }},
      {{"function", kText}, [](Column &to, const LoggedCall &call) { to.add(call.function); }},
      {{"error", kText, true}, [](Column &to, const LoggedCall &call) { addOr(to, call.error); }},
      {{"kernel", kText, true}, [](Column &to, const LoggedCall &call) { addOr(to, call.kernel); }},
      {{"bytes", kInt64, true}, [](Column &to, const LoggedCall &call) { addOr(to, call.bytes); }},
      {{"stream", kInt64, true},
       [](Column &to, const LoggedCall &call) {
         addOr(to, call.stream != 0 ? std::optional(call.stream) : std::nullopt);
       }},
  };
  return folder.write("calls", log.calls, columns);
}

std::string_view wordFor(Purpose purpose) {
  return purpose == Purpose::kernel ? "kernel" : purpose == Purpose::copy ? "copy" : "fill";
}

Status writeOperations(const Folder &folder, const TraceLog &log) {
  using Columns = std::vector<TableColumn<LoggedOperation>>;
  const Columns columns = {
      {{"start_ns", kInt64},
       [&](Column &to, const LoggedOperation &one) { to.add(folder.unixTime(one.start_ns)); }},
      {{"duration_ns", kInt64, true},
       [](Column &to, const LoggedOperation &one) {
         addOr(to, one.has_times && one.has_ended ? std::optional(one.duration()) : std::nullopt);
       }},
      {{"call", kInt64, true},
       [](Column &to, const LoggedOperation &one) { addOr(to, idOf(one.call)); }},
      {{"pid", kInt32}, [](Column &to, const LoggedOperation &one) { to.add(int64_t{one.pid}); }},
      {{"gpu", kInt32}, [](Column &to, const LoggedOperation &one) { to.add(int64_t{one.gpu}); }},
      {{"queue", kInt32},
       [](Column &to, const LoggedOperation &one) { to.add(int64_t{one.queue}); }},
      {{"kind", kText},
       [](Column &to, const LoggedOperation &one) { to.add(wordFor(one.purpose)); }},
      {{"kernel", kText, true},
       [](Column &to, const LoggedOperation &one) { addOr(to, one.kernel); }},
      {{"direction", kText, true},
       [](Column &to, const LoggedOperation &one) { addOr(to, one.direction); }},
      {{"bytes", kInt64, true},
       [](Column &to, const LoggedOperation &one) {
         addOr(to, one.purpose != Purpose::kernel ? std::optional(one.bytes) : std::nullopt);
       }},
  };
  return folder.write("operations", log.operations, columns);
}

Status writeRanges(const Folder &folder, const TraceLog &log) {
  using Columns = std::vector<TableColumn<LoggedRange>>;
  const Columns columns = {
      {{"start_ns", kInt64},
       [&](Column &to, const LoggedRange &range) { to.add(folder.unixTime(range.start_ns)); }},
      {{"duration_ns", kInt64},
       [](Column &to, const LoggedRange &range) {
         to.add(static_cast<int64_t>(range.end_ns - range.start_ns));
       }},
      {{"pid", kInt32}, [](Column &to, const LoggedRange &range) { to.add(int64_t{range.pid}); }},
      {{"tid", kInt32}, [](Column &to, const LoggedRange &range) { to.add(int64_t{range.tid}); }},
      {{"text", kText}, [](Column &to, const LoggedRange &range) { to.add(range.text); }},
  };
  return folder.write("ranges", log.ranges, columns);
}

struct ProcessRow {
  uint32_t pid;
  const Process *process;
};

Status writeProcesses(const Folder &folder, const HostEvents &events) {
  std::vector<ProcessRow> rows;
  for (const auto &[pid, process] : events.processes) rows.push_back({pid, &process});
  std::ranges::sort(rows, {}, [](const ProcessRow &row) { return row.process->start_ns; });
  using Columns = std::vector<TableColumn<ProcessRow>>;
  const Columns columns = {
      {{"start_ns", kInt64},
       [&](Column &to, const ProcessRow &row) { to.add(folder.unixTime(row.process->start_ns)); }},
      {{"pid", kInt32}, [](Column &to, const ProcessRow &row) { to.add(int64_t{row.pid}); }},
      {{"parent_pid", kInt32},
       [](Column &to, const ProcessRow &row) { to.add(int64_t{row.process->parent_pid}); }},
      {{"program", kText, true},
       [](Column &to, const ProcessRow &row) { addOr(to, row.process->program); }},
      {{"hip_library", kText, true},
       [](Column &to, const ProcessRow &row) { addOr(to, row.process->hip_library); }},
  };
  return folder.write("processes", rows, columns);
}

} // namespace

Status writeColumnTables(const HostEvents &events, const std::string &path,
                         const std::string &partition) {
  const Folder folder(events, path, partition);
  TraceLog log = TraceLog::of(events);
  // Of ranges that begin together, the outer one first.
  std::ranges::sort(log.ranges, {}, [](const LoggedRange &range) {
    return std::tuple(range.start_ns, ~range.end_ns, range.tid, range.text);
  });
  for (const auto &write : {writeCalls, writeOperations, writeRanges})
    if (Status status = write(folder, log); !status) return status;
  return writeProcesses(folder, events);
}

} // namespace fade::host_trace
