#include "host_trace/column_tables.h"

#include "codeobj/demangle.h"
#include "host_trace/trace_log.h"
#include "parquet/writer.h"

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

/// Rows that wait for earlier ones when a group is written.
constexpr std::size_t kWaiting = parquet::kRowsOfGroup / 4;
/// Of a file: what describes it is in memory until it is complete.
constexpr std::size_t kRowsOfFile = 64 * parquet::kRowsOfGroup;
/// Names of kernels whose launch has no row yet.
constexpr std::size_t kMostLaunches = 4 * parquet::kRowsOfGroup;

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

std::optional<uint64_t> unlessZero(uint64_t value) {
  return value != 0 ? std::optional(value) : std::nullopt;
}

/// Where the files of this process go, and when its clock began.
class Folder {
public:
  Folder(const EventStream &stream, std::string path, std::string partition,
         std::optional<int64_t> to_unix_ns)
      : stream_(stream), path_(std::move(path)), partition_(std::move(partition)),
        to_unix_(to_unix_ns.value_or(stream.facts().realtime_ns - stream.facts().monotonic_ns)) {}

  int64_t unixTime(uint64_t ns) const { return static_cast<int64_t>(ns) + to_unix_; }
  std::string_view aboutTimes() const { return stream_.aboutTimes(); }
  const HostEvents &facts() const { return stream_.facts(); }

  /// The file of a table, or its part with this number. Folders are made, and files of an earlier
  /// process of the same number removed.
  Result<std::string> file(const std::string &table, std::size_t part) const {
    const fs::path folder = fs::path(path_) / table / partition_;
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return Error{folder, "", 0, error.message()};
    const std::string pid = std::to_string(firstProcess());
    if (part == 0)
      for (std::size_t old = 1; fs::remove(folder / name(pid, old), error); ++old) {
      }
    return (folder / name(pid, part)).string();
  }

private:
  static std::string name(const std::string &pid, std::size_t part) {
    return part == 0 ? pid + ".parquet" : fmt::format("{}.{}.parquet", pid, part);
  }

  uint32_t firstProcess() const {
    uint32_t pid = 0;
    uint64_t earliest = UINT64_MAX;
    for (const auto &[number, process] : facts().processes)
      if (process.start_ns < earliest) {
        earliest = process.start_ns;
        pid = number;
      }
    return pid;
  }

  const EventStream &stream_;
  const std::string path_, partition_;
  const int64_t to_unix_; ///< from CLOCK_MONOTONIC to the time since 1970
};

/// One table, of rows that are added in about their order.
template <class Row> class Table {
public:
  /// `order`: what its rows are sorted by; the first column is the first of it.
  Table(const Folder &folder, std::string name, std::vector<TableColumn<Row>> columns,
        std::function<bool(const Row &, const Row &)> order)
      : folder_(folder), name_(std::move(name)), columns_(std::move(columns)),
        order_(std::move(order)) {}
  ~Table() {
    std::error_code ignored;
    if (writer_) fs::remove(fresh(), ignored);
  }
  Table(const Table &) = delete;
  Table &operator=(const Table &) = delete;

  void add(Row row) { waiting_.push_back(std::move(row)); }

  /// Groups that are full.
  Status writeFull() {
    if (waiting_.size() < parquet::kRowsOfGroup + kWaiting) return Done{};
    std::ranges::sort(waiting_, order_);
    std::size_t written = 0;
    while (waiting_.size() - written >= parquet::kRowsOfGroup + kWaiting) {
      if (Status status = write(written, written + parquet::kRowsOfGroup); !status) return status;
      written += parquet::kRowsOfGroup;
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(written));
    return writer_->rows() >= kRowsOfFile ? complete() : Done{};
  }

  /// All rows, and the file is there. `is_last`: also one without rows, if there is none.
  Status writeAll(bool is_last) {
    std::ranges::sort(waiting_, order_);
    if (!waiting_.empty() || (is_last && part_ == 0 && !writer_))
      if (Status status = write(0, waiting_.size()); !status) return status;
    waiting_.clear();
    return writer_ ? complete() : Done{};
  }

private:
  std::string fresh() const { return file_ + ".new"; }

  Status begin() {
    auto file = folder_.file(name_, part_);
    if (!file) return std::move(file).error();
    file_ = *std::move(file);
    std::vector<ColumnInfo> infos;
    for (const auto &column : columns_) infos.push_back(column.info);
    auto writer = parquet::Writer::create(fresh(), std::move(infos), 0);
    if (!writer) return std::move(writer).error();
    writer_.emplace(*std::move(writer));
    return Done{};
  }

  Status write(std::size_t from, std::size_t to) {
    if (!writer_)
      if (Status status = begin(); !status) return status;
    for (std::size_t at = from; at < to; ++at) {
      for (std::size_t i = 0; i < columns_.size(); ++i)
        columns_[i].add(writer_->column(i), waiting_[at]);
      if (Status status = writer_->endRow(); !status) return status;
    }
    return Done{};
  }

  Status complete() {
    Status status =
        writer_->close({{"fade.tables", "1"}, {"fade.times", std::string(folder_.aboutTimes())}});
    writer_.reset();
    std::error_code error;
    if (status) fs::rename(fresh(), file_, error);
    if (status && !error) {
      ++part_;
      return status;
    }
    if (error) status = Error{file_, "", 0, error.message()};
    fs::remove(fresh(), error);
    return status;
  }

  const Folder &folder_;
  const std::string name_;
  const std::vector<TableColumn<Row>> columns_;
  const std::function<bool(const Row &, const Row &)> order_;
  std::vector<Row> waiting_;
  std::optional<parquet::Writer> writer_;
  std::string file_;
  std::size_t part_ = 0;
};

constexpr auto kInt32 = ColumnType::int32;
constexpr auto kInt64 = ColumnType::int64;
constexpr auto kText = ColumnType::text;

/// `kernelOf`: of a launch.
std::vector<TableColumn<CallRow>>
callColumns(const Folder &folder,
            const std::function<std::string_view(const CallRow &)> &kernelOf) {
  return {
      {{"start_ns", kInt64},
       [&folder](Column &to, const CallRow &call) { to.add(folder.unixTime(call.start_ns)); }},
      {{"duration_ns", kInt64, true},
       [](Column &to, const CallRow &call) {
         const bool has_end = call.has_returned || call.is_name_only;
         addOr(to, has_end ? std::optional(call.end_ns - call.start_ns) : std::nullopt);
       }},
      {{"id", kInt64},
       [](Column &to, const CallRow &call) { to.add(static_cast<int64_t>(call.id)); }},
      {{"parent", kInt64, true},
       [](Column &to, const CallRow &call) { addOr(to, unlessZero(call.parent)); }},
      {{"pid", kInt32}, [](Column &to, const CallRow &call) { to.add(int64_t{call.pid}); }},
      {{"tid", kInt32}, [](Column &to, const CallRow &call) { to.add(int64_t{call.tid}); }},
      {{"function", kText}, [](Column &to, const CallRow &call) { to.add(call.function); }},
      {{"error", kText, true}, [](Column &to, const CallRow &call) { addOr(to, call.error); }},
      {{"kernel", kText, true},
       [kernelOf](Column &to, const CallRow &call) { addOr(to, kernelOf(call)); }},
      {{"bytes", kInt64, true}, [](Column &to, const CallRow &call) { addOr(to, call.bytes); }},
      {{"stream", kInt64, true},
       [](Column &to, const CallRow &call) { addOr(to, unlessZero(call.stream)); }},
  };
}

std::string_view wordFor(Purpose purpose) {
  return purpose == Purpose::kernel ? "kernel" : purpose == Purpose::copy ? "copy" : "fill";
}

std::vector<TableColumn<OperationRow>> operationColumns(const Folder &folder) {
  return {
      {{"start_ns", kInt64},
       [&folder](Column &to, const OperationRow &one) {
         to.add(folder.unixTime(one.what.start_ns));
       }},
      {{"duration_ns", kInt64, true},
       [](Column &to, const OperationRow &one) {
         const bool has_end = one.what.has_times && one.what.has_ended;
         addOr(to, has_end ? std::optional(one.what.duration()) : std::nullopt);
       }},
      {{"call", kInt64, true},
       [](Column &to, const OperationRow &one) { addOr(to, unlessZero(one.call)); }},
      {{"pid", kInt32}, [](Column &to, const OperationRow &one) { to.add(int64_t{one.what.pid}); }},
      {{"gpu", kInt32}, [](Column &to, const OperationRow &one) { to.add(int64_t{one.what.gpu}); }},
      {{"queue", kInt32},
       [](Column &to, const OperationRow &one) { to.add(int64_t{one.what.queue}); }},
      {{"kind", kText},
       [](Column &to, const OperationRow &one) { to.add(wordFor(one.what.purpose)); }},
      {{"kernel", kText, true},
       [](Column &to, const OperationRow &one) { addOr(to, one.what.kernel); }},
      {{"direction", kText, true},
       [](Column &to, const OperationRow &one) { addOr(to, one.what.direction); }},
      {{"bytes", kInt64, true},
       [](Column &to, const OperationRow &one) {
         const bool is_kernel = one.what.purpose == Purpose::kernel;
         addOr(to, is_kernel ? std::nullopt : std::optional(one.what.bytes));
       }},
  };
}

std::vector<TableColumn<RangeRow>> rangeColumns(const Folder &folder) {
  return {
      {{"start_ns", kInt64},
       [&folder](Column &to, const RangeRow &range) { to.add(folder.unixTime(range.start_ns)); }},
      {{"duration_ns", kInt64},
       [](Column &to, const RangeRow &range) {
         to.add(static_cast<int64_t>(range.end_ns - range.start_ns));
       }},
      {{"pid", kInt32}, [](Column &to, const RangeRow &range) { to.add(int64_t{range.pid}); }},
      {{"tid", kInt32}, [](Column &to, const RangeRow &range) { to.add(int64_t{range.tid}); }},
      {{"text", kText}, [](Column &to, const RangeRow &range) { to.add(range.text); }},
  };
}

struct ProcessRow {
  uint32_t pid;
  const Process *process;
};

std::vector<TableColumn<ProcessRow>> processColumns(const Folder &folder) {
  return {
      {{"start_ns", kInt64},
       [&folder](Column &to, const ProcessRow &row) {
         to.add(folder.unixTime(row.process->start_ns));
       }},
      {{"pid", kInt32}, [](Column &to, const ProcessRow &row) { to.add(int64_t{row.pid}); }},
      {{"parent_pid", kInt32},
       [](Column &to, const ProcessRow &row) { to.add(int64_t{row.process->parent_pid}); }},
      {{"program", kText, true},
       [](Column &to, const ProcessRow &row) { addOr(to, row.process->program); }},
      {{"hip_library", kText, true},
       [](Column &to, const ProcessRow &row) { addOr(to, row.process->hip_library); }},
  };
}

/// Of ranges that begin together, the outer one first.
bool isBefore(const RangeRow &a, const RangeRow &b) {
  const auto key = [](const RangeRow &range) {
    return std::tuple(range.start_ns, ~range.end_ns, range.tid, std::string_view(range.text));
  };
  return key(a) < key(b);
}

} // namespace

class ColumnTables::Tables final : public RowSink {
public:
  Tables(const EventStream &stream, const std::string &path, const std::string &partition,
         std::optional<int64_t> to_unix_ns)
      : folder_(stream, path, partition, to_unix_ns),
        calls_(folder_, "calls",
               callColumns(folder_, [this](const CallRow &call) { return kernelOf(call); }),
               [](const CallRow &a, const CallRow &b) {
                 return std::tuple(a.start_ns, a.id) < std::tuple(b.start_ns, b.id);
               }),
        operations_(folder_, "operations", operationColumns(folder_),
                    [](const OperationRow &a, const OperationRow &b) {
                      return std::tuple(a.what.start_ns, a.call) <
                             std::tuple(b.what.start_ns, b.call);
                    }),
        ranges_(folder_, "ranges", rangeColumns(folder_), isBefore) {}

  void add(CallRow row) override { calls_.add(row); }
  void add(OperationRow row) override { operations_.add(row); }
  void add(RangeRow row) override { ranges_.add(std::move(row)); }
  void add(const Usage &) override {}
  void launched(uint64_t call, std::string_view kernel) override {
    if (launches_.size() >= kMostLaunches) launches_.clear(); // their calls were written long ago
    launches_.try_emplace(call, kernel);
  }

  Status progress(const RowProgress &) override {
    if (Status status = calls_.writeFull(); !status) return status;
    if (Status status = operations_.writeFull(); !status) return status;
    return ranges_.writeFull();
  }

  Status writeAll(bool is_last) {
    if (Status status = calls_.writeAll(is_last); !status) return status;
    if (Status status = operations_.writeAll(is_last); !status) return status;
    if (Status status = ranges_.writeAll(is_last); !status) return status;
    return writeProcesses();
  }

private:
  std::string_view kernelOf(const CallRow &call) {
    const auto at = launches_.find(call.id);
    const std::string_view kernel = at == launches_.end() ? std::string_view() : at->second;
    if (at != launches_.end()) launches_.erase(at);
    if (call.launches == 0) return {};
    if (!kernel.empty()) return kernel;
    const std::string_view symbol = folder_.facts().functionAt(call.pid, call.launches);
    return symbol.empty() ? symbol : texts_.keep(codeobj::demangle(std::string(symbol)));
  }

  /// Few, and the same file each time.
  Status writeProcesses() {
    Table<ProcessRow> table(folder_, "processes", processColumns(folder_),
                            [](const ProcessRow &a, const ProcessRow &b) {
                              return a.process->start_ns < b.process->start_ns;
                            });
    for (const auto &[pid, process] : folder_.facts().processes) table.add({pid, &process});
    return table.writeAll(true);
  }

  const Folder folder_;
  std::unordered_map<uint64_t, std::string_view> launches_; ///< by call: the kernel
  Texts texts_;
  Table<CallRow> calls_;
  Table<OperationRow> operations_;
  Table<RangeRow> ranges_;
};

ColumnTables::ColumnTables(std::unique_ptr<EventStream> stream, const std::string &folder,
                           const std::string &partition, std::optional<int64_t> to_unix_ns)
    : stream_(std::move(stream)),
      tables_(std::make_unique<Tables>(*stream_, folder, partition, to_unix_ns)),
      rows_(*stream_, *tables_) {}
ColumnTables::~ColumnTables() = default;

Result<std::unique_ptr<ColumnTables>> ColumnTables::open(const std::string &events,
                                                         const std::string &folder,
                                                         const std::string &partition,
                                                         std::optional<int64_t> to_unix_ns) {
  auto stream = EventStream::open(events);
  if (!stream) return std::move(stream).error();
  return std::unique_ptr<ColumnTables>(
      new ColumnTables(*std::move(stream), folder, partition, to_unix_ns));
}

Status ColumnTables::read() { return stream_->read(rows_, false); }

Status ColumnTables::flush() {
  if (Status status = read(); !status) return status;
  return tables_->writeAll(false);
}

Status ColumnTables::finish() {
  if (Status status = stream_->read(rows_, true); !status) return status;
  return tables_->writeAll(true);
}

Status writeColumnTables(const std::string &events, const std::string &folder,
                         const std::string &partition, std::optional<int64_t> to_unix_ns) {
  auto tables = ColumnTables::open(events, folder, partition, to_unix_ns);
  if (!tables) return std::move(tables).error();
  return (*tables)->finish();
}

} // namespace fade::host_trace
