// AMD's rocpd databases, of rocprofv3 or of FADE, for fadeprobe log and report. One file may hold
// several sets of tables, each with the guid of a process in its names. Views are not used: those
// of a file from elsewhere may be anything.
#include "host_trace/database.h"
#include "host_trace/nesting.h"
#include "host_trace/rocpd_schema.h"
#include "host_trace/trace_log.h"

#include "base/hip_helpers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <unordered_map>

namespace fade::host_trace {
namespace {

constexpr std::string_view kFirstTable = "rocpd_metadata";
constexpr std::size_t kMostSets = 100'000;

/// Goes into statements.
bool isPlain(std::string_view suffix) {
  return std::ranges::all_of(suffix, [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

/// What follows the names of tables.
std::vector<std::string> suffixesIn(Database &database) {
  std::vector<std::string> suffixes;
  Statement tables(database, "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE "
                             "'rocpd_metadata%' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name");
  while (tables.step() && suffixes.size() < kMostSets) {
    const std::string suffix = tables.text(0).substr(kFirstTable.size());
    if (isPlain(suffix) && database.hasTable("rocpd_kernel_dispatch" + suffix))
      suffixes.push_back(suffix);
  }
  return suffixes;
}

uint64_t numberOf(std::string_view text) {
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  uint64_t value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  return value;
}

bool isMarker(std::string_view category) {
  return category.find("MARKER") != category.npos || category == "MPI" ||
         category.starts_with("RCCL");
}

/// One set of tables.
class RocpdReader {
public:
  RocpdReader(Database &database, std::string suffix, TraceLog &log)
      : database_(database), suffix_(std::move(suffix)), log_(log) {}

  Status read(const std::string &path) {
    for (const char *table : {"string", "info_process", "info_thread", "info_agent", "event",
                              "region", "info_kernel_symbol", "memory_copy"})
      if (!database_.hasTable(fmt::format("rocpd_{}{}", table, suffix_)))
        return Error{path, "", 0,
                     fmt::format("is a rocpd database of another version: it has no rocpd_{}{}",
                                 table, suffix_)};
    if (database_.integer(
            tables("SELECT count(*) FROM pragma_table_info('rocpd_region{0}') WHERE "
                   "name IN ('pid', 'tid', 'start', 'end', 'name_id', 'event_id')")) != 6)
      return Error{path, "", 0, "is a rocpd database of another version than 3"};
    readProcesses();
    readRegions();
    readArguments();
    readKernels();
    readCopies();
    readCounters();
    readSamples();
    if (database_.text(tables("SELECT value FROM `rocpd_metadata{0}` WHERE tag = 'fade::times'")) ==
        kSoftwareTimes)
      log_.in_software = true;
    return Done{};
  }

private:
  std::string tables(std::string_view text) const {
    return fmt::format(fmt::runtime(text), suffix_);
  }

  void readProcesses() {
    Statement rows(database_,
                   tables("SELECT pid, command FROM `rocpd_info_process{0}` ORDER BY id"));
    while (rows.step())
      log_.processes.push_back(
          processLine(static_cast<uint32_t>(rows.integer(0)), rows.text(1), ""));
  }

  void readRegions() {
    Statement rows(
        database_,
        tables("SELECT P.pid, T.tid, R.start, R.end, S.string, C.string, E.id, E.stack_id, "
               "CASE WHEN json_valid(E.extdata) THEN json_extract(E.extdata, '$.message') END, "
               "CASE WHEN json_valid(E.extdata) THEN json_extract(E.extdata, '$.state') END FROM "
               "`rocpd_region{0}` R JOIN `rocpd_string{0}` S ON S.id = R.name_id LEFT JOIN "
               "`rocpd_event{0}` E ON E.id = R.event_id LEFT JOIN `rocpd_string{0}` C ON C.id = "
               "E.category_id LEFT JOIN `rocpd_info_process{0}` P ON P.id = R.pid LEFT JOIN "
               "`rocpd_info_thread{0}` T ON T.id = R.tid ORDER BY R.start, R.id"));
    while (rows.step()) {
      const auto pid = static_cast<uint32_t>(rows.integer(0)),
                 tid = static_cast<uint32_t>(rows.integer(1));
      const auto start = static_cast<uint64_t>(rows.integer(2)),
                 end = std::max(start, static_cast<uint64_t>(rows.integer(3)));
      if (isMarker(rows.text(5))) {
        const std::string message = rows.text(8);
        log_.ranges.push_back({log_.texts.keep(message.empty() ? rows.text(4) : message), pid, tid,
                               start, end, true});
        continue;
      }
      by_event_[rows.integer(6)] = log_.calls.size();
      // Of calls with one number, the first is the outer one, and kernels belong to the last.
      if (const int64_t stack = rows.integer(7); stack != 0) by_stack_[stack] = log_.calls.size();
      LoggedCall &call = log_.calls.emplace_back();
      call.function = log_.texts.keep(rows.text(4));
      call.error = "hipSuccess";
      call.pid = pid;
      call.tid = tid;
      call.start_ns = start;
      call.end_ns = end;
      const std::string state = rows.text(9);
      call.is_name_only = state == rocpd::kPartial;
      call.has_returned = !call.is_name_only && state != rocpd::kOpen;
    }
  }

  void readArguments() {
    if (!database_.hasTable("rocpd_arg" + suffix_)) return;
    Statement rows(database_,
                   tables("SELECT event_id, name, value FROM `rocpd_arg{0}` WHERE name IN "
                          "('result', 'stream', 'hStream', 'size', 'sizeBytes', 'ptr', "
                          "'dst', 'src', 'graph', 'graphExec')"));
    while (rows.step()) {
      const auto at = by_event_.find(rows.integer(0));
      if (at == by_event_.end()) continue;
      LoggedCall &call = log_.calls[at->second];
      const std::string name = rows.text(1), value = rows.text(2);
      if (name == "result")
        call.error = log_.texts.keep(value);
      else if (name == "stream" || name == "hStream")
        call.stream = numberOf(value);
      else if (name == "size" || name == "sizeBytes")
        call.bytes = numberOf(value);
      else if (name == "ptr" || name == "dst")
        call.to = numberOf(value);
      else if (name == "src")
        call.from = numberOf(value);
      else if (name == "graph")
        call.graph = numberOf(value);
      else
        call.graph_exec = numberOf(value);
    }
  }

  /// What both kinds of operations have in their first columns.
  LoggedOperation &addOperation(const Statement &rows) {
    LoggedOperation &operation = log_.operations.emplace_back();
    operation.pid = static_cast<uint32_t>(rows.integer(0));
    operation.start_ns = static_cast<uint64_t>(rows.integer(1));
    operation.end_ns = static_cast<uint64_t>(rows.integer(2));
    operation.has_times = operation.end_ns >= operation.start_ns;
    operation.gpu = static_cast<uint32_t>(std::max<int64_t>(rows.integer(3), 0));
    operation.queue = static_cast<uint32_t>(rows.integer(4));
    if (const auto call = by_stack_.find(rows.integer(5)); call != by_stack_.end()) {
      operation.call = call->second;
      markCause(log_, call->second);
    }
    return operation;
  }

  void readKernels() {
    Statement rows(
        database_,
        tables(
            "SELECT P.pid, K.start, K.end, A.type_index, K.queue_id, E.stack_id, "
            "coalesce(S.display_name, S.kernel_name), CASE WHEN json_valid(K.extdata) THEN "
            "json_extract(K.extdata, '$.bytes') END, CASE WHEN json_valid(K.extdata) THEN "
            "json_extract(K.extdata, '$.direction') END FROM `rocpd_kernel_dispatch{0}` K LEFT "
            "JOIN `rocpd_info_kernel_symbol{0}` S ON S.id = K.kernel_id LEFT JOIN "
            "`rocpd_info_agent{0}` A ON A.id = K.agent_id LEFT JOIN `rocpd_event{0}` E ON E.id = "
            "K.event_id LEFT JOIN `rocpd_info_process{0}` P ON P.id = K.pid ORDER BY K.start, "
            "K.id"));
    while (rows.step()) {
      LoggedOperation &operation = addOperation(rows);
      operation.kernel = log_.texts.keep(rows.text(6));
      if (isHipHelper(operation.kernel)) {
        if (operation.kernel.find("fill") != operation.kernel.npos)
          operation.purpose = Purpose::fill;
        else if (operation.kernel.find("copy") != operation.kernel.npos)
          operation.purpose = Purpose::copy;
        operation.bytes = static_cast<uint64_t>(rows.integer(7));
        operation.direction = log_.texts.keep(rows.text(8));
      }
      if (operation.call && operation.purpose == Purpose::kernel)
        if (LoggedCall &call = log_.calls[*operation.call]; call.kernel.empty())
          call.kernel = operation.kernel;
    }
  }

  void readCopies() {
    Statement rows(
        database_,
        tables("SELECT P.pid, M.start, M.end, max(coalesce(CASE WHEN D.type = 'GPU' THEN "
               "D.type_index END, -1), coalesce(CASE WHEN F.type = 'GPU' THEN F.type_index END, "
               "-1)), M.queue_id, E.stack_id, M.size, S.string FROM `rocpd_memory_copy{0}` M LEFT "
               "JOIN `rocpd_string{0}` S ON S.id = M.name_id LEFT JOIN `rocpd_info_agent{0}` D ON "
               "D.id = M.dst_agent_id LEFT JOIN `rocpd_info_agent{0}` F ON F.id = M.src_agent_id "
               "LEFT JOIN `rocpd_event{0}` E ON E.id = M.event_id LEFT JOIN "
               "`rocpd_info_process{0}` P ON P.id = M.pid ORDER BY M.start, M.id"));
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> names = {
        {{"HOST_TO_DEVICE", "host_to_device"},
         {"DEVICE_TO_HOST", "device_to_host"},
         {"DEVICE_TO_DEVICE", "device_to_device"},
         {"HOST_TO_HOST", "host_to_host"}}};
    while (rows.step()) {
      LoggedOperation &operation = addOperation(rows);
      operation.purpose = Purpose::copy;
      operation.bytes = static_cast<uint64_t>(rows.integer(6));
      const std::string name = rows.text(7);
      for (const auto &[part, direction] : names)
        if (name.ends_with(part)) operation.direction = direction;
    }
  }

  void readCounters() {
    for (const char *table : {"rocpd_pmc_event", "rocpd_info_pmc"})
      if (!database_.hasTable(table + suffix_)) return;
    // A counter has a row for each of its instances; they add up to that of a dispatch.
    Statement rows(
        database_,
        tables("SELECT kernel, counter, count(*), sum(value), min(value), max(value) FROM (SELECT "
               "coalesce(S.display_name, S.kernel_name) AS kernel, I.name AS counter, sum(E.value) "
               "AS value FROM `rocpd_pmc_event{0}` E JOIN `rocpd_info_pmc{0}` I ON I.id = E.pmc_id "
               "JOIN `rocpd_kernel_dispatch{0}` K ON K.event_id = E.event_id LEFT JOIN "
               "`rocpd_info_kernel_symbol{0}` S ON S.id = K.kernel_id GROUP BY K.id, I.name) GROUP "
               "BY kernel, counter ORDER BY kernel, counter"));
    while (rows.step()) {
      LoggedCounter &counter = log_.counters[{rows.text(0), rows.text(1)}];
      const double least = rows.real(4);
      counter.least = counter.dispatches == 0 ? least : std::min(counter.least, least);
      counter.dispatches += static_cast<uint64_t>(rows.integer(2));
      counter.sum += rows.real(3);
      counter.largest = std::max(counter.largest, rows.real(5));
    }
  }

  bool hasColumn(const char *table, const char *column) {
    return database_.integer(
               fmt::format("SELECT count(*) FROM pragma_table_info('{}{}') WHERE name = '{}'",
                           table, suffix_, column)) != 0;
  }

  /// Version 3 of the schema has no table for samples of the program counter; files of 3.0.4 do.
  void readSamples() {
    for (const char *column : {"dispatch_id", "instruction", "instruction_comment"})
      if (!hasColumn("rocpd_pc_sampling", column)) return;
    constexpr std::size_t most = 100'000; // places, those with most samples first
    const bool has_stalls = hasColumn("rocpd_pc_sampling", "stall_reason") &&
                            hasColumn("rocpd_pc_sampling", "wave_issued_instruction");
    Statement rows(
        database_,
        tables(fmt::format(
            "SELECT coalesce(S.display_name, S.kernel_name, ''), coalesce(X.instruction_comment, "
            "''), coalesce(X.instruction, ''), {} AS stall, count(*) FROM "
            "`rocpd_pc_sampling{{0}}` X LEFT JOIN `rocpd_kernel_dispatch{{0}}` K ON K.dispatch_id "
            "= X.dispatch_id LEFT JOIN `rocpd_info_kernel_symbol{{0}}` S ON S.id = K.kernel_id "
            "GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC LIMIT {}",
            has_stalls ? "CASE WHEN X.wave_issued_instruction = 0 THEN coalesce(X.stall_reason, "
                         "'') ELSE '' END"
                       : "''",
            most)));
    while (rows.step()) {
      std::string stall = rows.text(3);
      constexpr std::string_view prefix = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_";
      if (stall.starts_with(prefix)) stall.erase(0, prefix.size());
      log_.samples[{rows.text(0), rows.text(1), rows.text(2), std::move(stall)}] +=
          static_cast<uint64_t>(rows.integer(4));
    }
  }

  Database &database_;
  const std::string suffix_;
  TraceLog &log_;
  std::unordered_map<int64_t, std::size_t> by_event_, by_stack_;
};

/// Sets were read one after the other; a log is in order of time.
void sortByTime(TraceLog &log) {
  std::vector<std::size_t> order(log.calls.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(log.calls[i].start_ns, i); });
  std::vector<std::size_t> place(order.size());
  std::vector<LoggedCall> calls;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    calls.push_back(log.calls[order[i]]);
  }
  log.calls = std::move(calls);
  for (LoggedOperation &operation : log.operations)
    if (operation.call) operation.call = place[*operation.call];
  std::ranges::sort(log.operations, {}, [](const LoggedOperation &one) {
    return std::tuple(one.start_ns, one.end_ns, one.queue, one.kernel);
  });
  std::ranges::sort(log.ranges, {}, [](const LoggedRange &range) {
    return std::tuple(range.start_ns, ~range.end_ns, range.tid, range.text);
  });
}

} // namespace

bool isRocpd(const std::string &path) {
  auto opened = Database::open(path, Database::Access::read);
  return opened && !suffixesIn(**opened).empty();
}

Result<TraceLog> readRocpdLog(const std::string &path) {
  auto opened = Database::open(path, Database::Access::read);
  if (!opened) return std::move(opened).error();
  Database &database = **opened;
  TraceLog log;
  for (const std::string &suffix : suffixesIn(database))
    if (Status status = RocpdReader(database, suffix, log).read(path); !status)
      return std::move(status).error();
  if (Status status = database.status(); !status) return std::move(status).error();
  sortByTime(log);
  findParents(log);
  return log;
}

} // namespace fade::host_trace
