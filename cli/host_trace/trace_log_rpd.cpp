// RPD files, of FADE or of RPD itself, for fadeprobe log.
#include "host_trace/database.h"
#include "host_trace/nesting.h"
#include "host_trace/trace_log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <unordered_map>

namespace fade::host_trace {
namespace {

uint64_t numberIn(std::string_view text) {
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  uint64_t value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  return value;
}

/// "a=1 | b=2" or "a = 1 | b = 2".
class Arguments {
public:
  explicit Arguments(std::string_view text) : text_(text) {}

  std::string_view operator[](std::string_view wanted) const {
    for (std::string_view rest = text_; !rest.empty();) {
      const auto end = std::min(rest.find(" | "), rest.size());
      const std::string_view item = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 3, rest.size()));
      const auto sign = item.find('=');
      if (sign == item.npos) continue;
      if (trimmed(item.substr(0, sign)) == wanted) return trimmed(item.substr(sign + 1));
    }
    return {};
  }

private:
  static std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
  }
  std::string_view text_;
};

/// Of HIP or what is below it; other names are those of ranges (rpd_rangePush).
bool isFunction(std::string_view name) {
  for (const char *begin : {"hip", "__hip", "hsa_", "rocprof", "cuda", "__cuda"})
    if (name.starts_with(begin)) return true;
  return name.size() > 2 && name.starts_with("cu") && name[2] >= 'A' && name[2] <= 'Z';
}

/// The number that tools and FADE give to ranges that may overlap others of their thread.
constexpr uint32_t kFirstOwnThread = 9'000'000;

class RpdLogReader {
public:
  explicit RpdLogReader(Database &database) : database_(database) {}

  void read() {
    Statement processes(database_, "SELECT value FROM rocpd_metadata WHERE tag = 'fade::process'");
    while (processes.step()) log.processes.push_back(processes.text(0));
    readCalls();
    findParents(log);
    readStacks();
    readOperations();
  }

  TraceLog log;

private:
  void readCalls() {
    // From the tables: a view of a file from elsewhere may be anything.
    Statement rows(
        database_,
        fmt::format("SELECT A.id, pid, tid, start, end, P.string, U.string, size, dst, src, "
                    "C.stream, K.stream, N.string FROM rocpd_api A JOIN rocpd_string P ON P.id = "
                    "apiName_id JOIN {} U ON U.id = args_id LEFT JOIN rocpd_copyapi C ON "
                    "C.api_ptr_id = A.id LEFT JOIN rocpd_kernelapi K ON K.api_ptr_id = A.id LEFT "
                    "JOIN rocpd_string N ON N.id = kernelName_id ORDER BY start, A.id",
                    database_.hasTable("rocpd_ustring") ? "rocpd_ustring" : "rocpd_string"));
    while (rows.step()) {
      const std::string name = rows.text(5), args = rows.text(6);
      const auto pid = static_cast<uint32_t>(rows.integer(1)),
                 tid = static_cast<uint32_t>(rows.integer(2));
      const auto start = static_cast<uint64_t>(rows.integer(3)),
                 end = std::max(start, static_cast<uint64_t>(rows.integer(4)));
      if (name == "UserMarker" || !isFunction(name)) { // or a range that has a name of its own
        const std::string text = name == "UserMarker" ? args
                                 : args.empty()       ? name
                                                      : name + ", " + args;
        log.ranges.push_back({log.texts.keep(text), pid, tid, start, end, tid < kFirstOwnThread});
        continue;
      }
      by_id_[rows.integer(0)] = log.calls.size();
      LoggedCall &call = log.calls.emplace_back();
      call.function = log.texts.keep(name);
      const Arguments arguments(args);
      const std::string_view error = arguments["result"];
      call.error = log.texts.keep(error.empty() ? "hipSuccess" : error);
      call.is_name_only = arguments["partial"] == "true";
      call.has_returned = !call.is_name_only && arguments["returned"] != "false";
      call.pid = pid;
      call.tid = tid;
      call.start_ns = start;
      call.end_ns = end;
      if (const std::string kernel = rows.text(12); !kernel.starts_with("Graph Kernel ("))
        call.kernel = log.texts.keep(kernel);
      call.to = numberIn(rows.text(8));
      call.from = numberIn(rows.text(9));
      if (const int64_t size = rows.integer(7); size > 0) call.bytes = static_cast<uint64_t>(size);
      addArguments(call, arguments, rows.text(10) + rows.text(11));
      for (const bool has_ended : {false, true})
        addWithoutTimes(numberIn(arguments[has_ended ? "untimed" : "unended"]), has_ended);
    }
  }

  /// Operations of the last call that have no row.
  void addWithoutTimes(uint64_t count, bool has_ended) {
    constexpr uint64_t most = 65536; // a file may say anything
    for (uint64_t i = 0; i < std::min(count, most); ++i) {
      LoggedOperation &operation = log.operations.emplace_back();
      operation.call = log.calls.size() - 1;
      operation.has_ended = has_ended;
      operation.has_times = operation.knows_engine = false;
      operation.pid = log.calls.back().pid;
      operation.kernel = log.calls.back().kernel;
      if (!isLaunch(log.calls.back().function)) operation.purpose = Purpose::copy;
    }
  }

  static void addArguments(LoggedCall &call, const Arguments &arguments,
                           const std::string &stream) {
    call.stream = numberIn(stream.empty() ? arguments["stream"] : std::string_view(stream));
    const auto first = [&](std::initializer_list<const char *> names) {
      for (const char *name : names)
        if (const std::string_view text = arguments[name]; !text.empty()) return numberIn(text);
      return uint64_t{0};
    };
    call.graph = first({"graph", "pGraph", "pGraphClone"});
    call.graph_exec = first({"graphExec", "pGraphExec"});
    if (call.function == "hipGraphClone") call.from = first({"originalGraph"});
    if (call.function.starts_with("hipMemset")) { // there is no table for those
      call.to = numberIn(arguments["dst"]);
      if (const std::string_view size = arguments["sizeBytes"]; !size.empty())
        call.bytes = numberIn(size);
    }
    if (!isAllocation(call.function) && !isRelease(call.function)) return;
    call.to = first({"ptr", "dev_ptr", "devPtr"});
    if (const std::string_view size = arguments["size"]; !size.empty()) call.bytes = numberIn(size);
  }

  /// The innermost frame has the depth 0.
  void readStacks() {
    if (!database_.hasTable("rocpd_stackframe")) return;
    Statement rows(database_, "SELECT api_ptr_id, string FROM rocpd_stackframe S JOIN rocpd_string "
                              "N ON N.id = S.name_id ORDER BY api_ptr_id, depth DESC");
    std::vector<std::string_view> stack;
    std::map<std::vector<std::string_view>, uint32_t> known;
    int64_t current = 0;
    const auto finish = [&] {
      const auto call = by_id_.find(current);
      if (stack.empty() || call == by_id_.end()) return;
      const auto [at, is_new] = known.try_emplace(stack, log.stacks.size());
      if (is_new) log.stacks.push_back(stack);
      log.calls[call->second].stack = at->second;
    };
    while (rows.step()) {
      if (rows.integer(0) != current) {
        finish();
        stack.clear();
        current = rows.integer(0);
      }
      stack.push_back(log.texts.keep(rows.text(1)));
    }
    finish();
  }

  void readOperations() {
    for (const LoggedOperation &operation : log.operations) markCause(log, *operation.call);
    std::unordered_map<int64_t, std::size_t> causes;
    Statement links(database_, "SELECT op_id, api_id FROM rocpd_api_ops");
    while (links.step())
      if (const auto at = by_id_.find(links.integer(1)); at != by_id_.end()) {
        causes.try_emplace(links.integer(0), at->second);
        markCause(log, at->second);
      }
    Statement rows(database_, "SELECT O.id, D.string, T.string, start, end, gpuId, queueId FROM "
                              "rocpd_op O JOIN rocpd_string D ON D.id = description_id JOIN "
                              "rocpd_string T ON T.id = opType_id ORDER BY start, O.id");
    while (rows.step()) {
      LoggedOperation &operation = log.operations.emplace_back();
      setKind(operation, rows.text(2));
      operation.kernel = log.texts.keep(rows.text(1));
      operation.knows_engine = false;
      operation.start_ns = static_cast<uint64_t>(rows.integer(3));
      operation.end_ns = static_cast<uint64_t>(rows.integer(4));
      operation.has_times = operation.end_ns >= operation.start_ns;
      operation.gpu = static_cast<uint32_t>(rows.integer(5));
      operation.queue = static_cast<uint32_t>(rows.integer(6));
      const auto cause = causes.find(rows.integer(0));
      if (cause == causes.end()) continue;
      operation.call = cause->second;
      const LoggedCall &call = log.calls[cause->second];
      operation.pid = call.pid;
      if (operation.purpose != Purpose::kernel) operation.bytes = call.bytes.value_or(0);
    }
  }

  static void setKind(LoggedOperation &operation, std::string_view type) {
    static const std::map<std::string_view, std::string_view> directions = {
        {"CopyHostToDevice", "host_to_device"},
        {"CopyDeviceToHost", "device_to_host"},
        {"CopyDeviceToDevice", "device_to_device"},
        {"CopyHostToHost", "host_to_host"}};
    if (type.starts_with("Copy")) operation.purpose = Purpose::copy;
    if (type.starts_with("Fill")) operation.purpose = Purpose::fill;
    if (const auto at = directions.find(type); at != directions.end())
      operation.direction = at->second;
  }

  Database &database_;
  std::unordered_map<int64_t, std::size_t> by_id_;
};

/// Four fields with tabs between them; the last may hold anything.
void readOwnRow(TraceLog &log, const std::string &tag, const std::string &value) {
  if (tag.starts_with("fade::times") && value == kSoftwareTimes) log.in_software = true;
  std::array<std::string, 4> fields;
  std::size_t at = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto tab = i + 1 < fields.size() ? value.find('\t', at) : value.size();
    if (tab == value.npos) return;
    fields[i] = value.substr(at, tab - at);
    at = std::min(tab + 1, value.size());
  }
  if (tag.starts_with("fade::finding"))
    log.facts.push_back(
        {fields[0], fields[3], numberIn(fields[1]), static_cast<uint32_t>(numberIn(fields[2]))});
  else if (tag.starts_with("fade::library"))
    log.requests.push_back(
        {numberIn(fields[0]), static_cast<uint32_t>(numberIn(fields[1])), fields[3], fields[2]});
}

} // namespace

Result<TraceLog> readRpdLog(const std::string &path) {
  auto opened = Database::open(path, Database::Access::read);
  if (!opened) return std::move(opened).error();
  Database &database = **opened;
  for (const char *table : {"rocpd_api", "rocpd_op", "rocpd_api_ops", "rocpd_string",
                            "rocpd_copyapi", "rocpd_kernelapi", "rocpd_metadata"})
    if (!database.hasTable(table))
      return Error{path, "", 0, fmt::format("is a database, but no RPD file: it has no {}", table)};
  RpdLogReader reader(database);
  reader.read();
  Statement rows(database, "SELECT tag, value FROM rocpd_metadata WHERE tag LIKE 'fade::%' "
                           "ORDER BY id");
  while (rows.step()) readOwnRow(reader.log, rows.text(0), rows.text(1));
  reader.log.findLayers();
  if (Status status = database.status(); !status) return std::move(status).error();
  return std::move(reader.log);
}

} // namespace fade::host_trace
