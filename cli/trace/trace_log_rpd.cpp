// RPD files, of FADE or of RPD itself, for fadeprobe log.
#include "trace/database.h"
#include "trace/trace_log.h"

#include <fmt/format.h>
#include <unordered_map>

namespace fade::host_trace {
namespace {

/// "a=1 | result=hipErrorX"; FADE writes the result of calls that failed.
std::string errorIn(const std::string &arguments) {
  const std::string_view mark = "result=";
  const auto at = arguments.rfind(mark);
  if (at == arguments.npos) return "hipSuccess";
  return arguments.substr(at + mark.size());
}

} // namespace

Result<TraceLog> readRpdLog(const std::string &path) {
  auto opened = Database::open(path, Database::Access::read);
  if (!opened) return std::move(opened).error();
  Database &database = **opened;
  if (database.integer("SELECT count(*) FROM sqlite_master WHERE name = 'rocpd_api'") == 0)
    return Error{path, "", 0, "is a database, but no RPD file"};
  TraceLog log;
  std::unordered_map<int64_t, std::size_t> by_id;
  Statement calls(database,
                  "SELECT api.id, pid, tid, start, end, apiName, args, size FROM api "
                  "LEFT JOIN rocpd_copyapi ON api_ptr_id = api.id ORDER BY start, api.id");
  while (calls.step()) {
    const std::string name = calls.text(5);
    if (name == "UserMarker") continue;
    by_id[calls.integer(0)] = log.calls.size();
    LoggedCall &call = log.calls.emplace_back();
    call.function = name;
    call.error = errorIn(calls.text(6));
    call.pid = static_cast<uint32_t>(calls.integer(1));
    call.tid = static_cast<uint32_t>(calls.integer(2));
    call.start_ns = static_cast<uint64_t>(calls.integer(3));
    call.end_ns = static_cast<uint64_t>(calls.integer(4));
    if (const int64_t size = calls.integer(7); size > 0) call.bytes = static_cast<uint64_t>(size);
  }
  Statement operations(database, "SELECT description, opType, start, end FROM op ORDER BY start");
  while (operations.step()) {
    LoggedOperation operation;
    const std::string type = operations.text(1);
    operation.is_kernel = type == "KernelExecution";
    operation.name = operation.is_kernel ? operations.text(0) : type;
    operation.start_ns = static_cast<uint64_t>(operations.integer(2));
    operation.end_ns = static_cast<uint64_t>(operations.integer(3));
    operation.has_times = operation.end_ns >= operation.start_ns;
    log.operations.push_back(std::move(operation));
  }
  Statement links(database, "SELECT DISTINCT api_id FROM rocpd_api_ops");
  while (links.step())
    if (const auto at = by_id.find(links.integer(0)); at != by_id.end()) markCause(log, at->second);
  if (Status status = database.status(); !status) return std::move(status).error();
  return log;
}

} // namespace fade::host_trace
