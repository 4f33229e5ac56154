#include "host_trace/rocpd_schema.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <string_view>
#include <vector>

namespace fade::host_trace {
namespace {

// Columns of each table but for id and guid, which all have, in order: a name and what it holds.
//   i integer, i! that is never null, b and b! the same of 64 bits, t and t! text, r a real number,
//   j JSON, a|b one of these words
// A column that is the id of another table's row is found by its name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 18> kTables = {{
    {"string", "string u"},
    {"info_node", "hash h, machine_id u, system_name t, hostname t, release t, version t, "
                  "hardware_name t, domain_name t"},
    {"info_process", "nid i!, ppid i, pid i!, init b, fini b, start b, end b, command t, "
                     "environment j, extdata j"},
    {"info_thread", "nid i!, ppid i, pid i!, tid i!, name t, start b, end b, extdata j"},
    {"info_agent", "nid i!, pid i!, type CPU|GPU, absolute_index i, logical_index i, type_index i, "
                   "uuid i, name t, model_name t, vendor_name t, product_name t, user_name t, "
                   "extdata j"},
    {"info_queue", "nid i!, pid i!, name t, extdata j"},
    {"info_stream", "nid i!, pid i!, name t, extdata j"},
    {"info_pmc", "nid i!, pid i!, agent_id i, target_arch CPU|GPU, event_code i, instance_id i, "
                 "name t!, symbol t!, description t, long_description t, component t, units t, "
                 "value_type ABS|ACCUM|RELATIVE, block t, expression t, is_constant i, "
                 "is_derived i, extdata j"},
    {"info_code_object", "nid i!, pid i!, agent_id i, uri t, load_base b, load_size b, "
                         "load_delta b, storage_type FILE|MEMORY, extdata j"},
    {"info_kernel_symbol",
     "nid i!, pid i!, code_object_id i!, kernel_name t, display_name t, kernel_object i, "
     "kernarg_segment_size i, kernarg_segment_alignment i, group_segment_size i, "
     "private_segment_size i, sgpr_count i, arch_vgpr_count i, accum_vgpr_count i, extdata j"},
    {"track", "nid i!, pid i, tid i, name_id i, extdata j"},
    {"event", "category_id i, stack_id i, parent_stack_id i, correlation_id i, call_stack j, "
              "line_info j, extdata j"},
    {"arg", "event_id i!, position i!, type t!, name t!, value t, extdata j"},
    {"pmc_event", "event_id i, pmc_id i!, value r, extdata j"},
    {"region", "nid i!, pid i!, tid i!, start b!, end b!, name_id i!, event_id i, extdata j"},
    {"sample", "track_id i!, timestamp b!, event_id i, extdata j"},
    {"kernel_dispatch",
     "nid i!, pid i!, tid i, agent_id i!, kernel_id i!, dispatch_id i!, queue_id i!, "
     "stream_id i!, start b!, end b!, private_segment_size i, group_segment_size i, "
     "workgroup_size_x i!, workgroup_size_y i!, workgroup_size_z i!, grid_size_x i!, "
     "grid_size_y i!, grid_size_z i!, region_name_id i, event_id i, extdata j"},
    {"memory_copy", "nid i!, pid i!, tid i, start b!, end b!, name_id i!, dst_agent_id i, "
                    "dst_address i, src_agent_id i, src_address i, size i!, queue_id i, "
                    "stream_id i, region_name_id i, event_id i, extdata j"},
}};
constexpr std::pair<std::string_view, std::string_view> kAllocations = {
    "memory_allocate",
    "nid i!, pid i!, tid i, agent_id i, type ALLOC|FREE|REALLOC|RECLAIM, "
    "level REAL|VIRTUAL|SCRATCH, start b!, end b!, address i, size i!, queue_id i, stream_id i, "
    "event_id i, extdata j"};

/// The table whose rows a column names.
std::string_view rowsOf(std::string_view column, std::string_view table) {
  static const std::map<std::string_view, std::string_view> tables = {
      {"nid", "info_node"},
      {"pid", "info_process"},
      {"tid", "info_thread"},
      {"agent_id", "info_agent"},
      {"dst_agent_id", "info_agent"},
      {"src_agent_id", "info_agent"},
      {"queue_id", "info_queue"},
      {"stream_id", "info_stream"},
      {"pmc_id", "info_pmc"},
      {"code_object_id", "info_code_object"},
      {"kernel_id", "info_kernel_symbol"},
      {"track_id", "track"},
      {"event_id", "event"},
      {"name_id", "string"},
      {"region_name_id", "string"},
      {"category_id", "string"}};
  const auto at = tables.find(column);
  return at == tables.end() || at->second == table ? std::string_view() : at->second;
}

std::string typeFor(std::string_view name, std::string_view kind) {
  static const std::map<std::string_view, std::string_view> types = {
      {"i", "INTEGER"},
      {"i!", "INTEGER NOT NULL"},
      {"b", "BIGINT"},
      {"b!", "BIGINT NOT NULL"},
      {"t", "TEXT"},
      {"t!", "TEXT NOT NULL"},
      {"r", "REAL DEFAULT 0.0"},
      {"u", "TEXT NOT NULL UNIQUE"},
      {"h", "BIGINT NOT NULL UNIQUE"},
      {"j", "JSONB DEFAULT '{}' NOT NULL"}};
  if (const auto at = types.find(kind); at != types.end()) return std::string(at->second);
  std::string words(kind);
  for (std::size_t at = 0; (at = words.find('|', at)) != words.npos; at += 4)
    words.replace(at, 1, "', '");
  return fmt::format("TEXT CHECK (\"{}\" IN ('{}'))", name, words);
}

std::string tableText(std::string_view table, std::string_view columns, const std::string &guid) {
  const std::string suffix = rocpdSuffix(guid);
  std::string text = fmt::format("CREATE TABLE `rocpd_{}{}` (\"id\" INTEGER NOT NULL PRIMARY KEY "
                                 "AUTOINCREMENT, \"guid\" TEXT DEFAULT '{}' NOT NULL",
                                 table, suffix, guid);
  std::string keys;
  while (!columns.empty()) {
    const std::size_t end = std::min(columns.find(", "), columns.size());
    const std::string_view column = columns.substr(0, end);
    columns.remove_prefix(std::min(end + 2, columns.size()));
    const std::size_t space = column.find(' ');
    const std::string_view name = column.substr(0, space);
    text += fmt::format(", \"{}\" {}", name, typeFor(name, column.substr(space + 1)));
    if (const std::string_view other = rowsOf(name, table); !other.empty())
      keys += fmt::format(", FOREIGN KEY (\"{}\") REFERENCES `rocpd_{}{}` (id) ON UPDATE CASCADE",
                          name, other, suffix);
  }
  return text + keys + ");\n";
}

/// What people and tools ask, of one file; rocpd's own program makes all views itself.
constexpr std::string_view kViews = R"(
CREATE VIEW processes AS SELECT N.id AS nid, N.machine_id, N.system_name, N.hostname,
  N.release AS system_release, N.version AS system_version, P.guid, P.ppid, P.pid, P.init, P.start,
  P.end, P.fini, P.command
  FROM rocpd_info_process P JOIN rocpd_info_node N ON N.id = P.nid AND N.guid = P.guid;
CREATE VIEW regions AS SELECT R.id, R.guid, C.string AS category, S.string AS name, R.nid, P.pid,
  T.tid, R.start, R.end, R.end - R.start AS duration, R.event_id, E.stack_id, E.parent_stack_id,
  E.correlation_id AS corr_id, E.extdata, E.call_stack, E.line_info
  FROM rocpd_region R JOIN rocpd_event E ON E.id = R.event_id AND E.guid = R.guid
  JOIN rocpd_string S ON S.id = R.name_id AND S.guid = R.guid
  LEFT JOIN rocpd_string C ON C.id = E.category_id AND C.guid = E.guid
  JOIN rocpd_info_process P ON P.id = R.pid AND P.guid = R.guid
  JOIN rocpd_info_thread T ON T.id = R.tid AND T.guid = R.guid;
CREATE VIEW kernels AS SELECT K.id, K.guid, T.tid, C.string AS category, G.string AS region,
  S.display_name AS name, K.nid, P.pid, A.absolute_index AS agent_abs_index,
  A.logical_index AS agent_log_index, A.type_index AS agent_type_index, A.type AS agent_type,
  S.code_object_id, K.kernel_id, K.dispatch_id, K.stream_id, K.queue_id, Q.name AS queue,
  ST.name AS stream, K.start, K.end, K.end - K.start AS duration, K.grid_size_x AS grid_x,
  K.grid_size_y AS grid_y, K.grid_size_z AS grid_z, K.workgroup_size_x AS workgroup_x,
  K.workgroup_size_y AS workgroup_y, K.workgroup_size_z AS workgroup_z,
  K.group_segment_size AS lds_size, K.private_segment_size AS scratch_size,
  S.arch_vgpr_count AS vgpr_count, S.accum_vgpr_count, S.sgpr_count,
  S.group_segment_size AS static_lds_size, S.private_segment_size AS static_scratch_size,
  E.stack_id, E.parent_stack_id, E.correlation_id AS corr_id
  FROM rocpd_kernel_dispatch K JOIN rocpd_info_agent A ON A.id = K.agent_id AND A.guid = K.guid
  JOIN rocpd_event E ON E.id = K.event_id AND E.guid = K.guid
  LEFT JOIN rocpd_string C ON C.id = E.category_id AND C.guid = E.guid
  LEFT JOIN rocpd_string G ON G.id = K.region_name_id AND G.guid = K.guid
  JOIN rocpd_info_kernel_symbol S ON S.id = K.kernel_id AND S.guid = K.guid
  LEFT JOIN rocpd_info_stream ST ON ST.id = K.stream_id AND ST.guid = K.guid
  LEFT JOIN rocpd_info_queue Q ON Q.id = K.queue_id AND Q.guid = K.guid
  JOIN rocpd_info_process P ON P.id = K.pid AND P.guid = K.guid
  LEFT JOIN rocpd_info_thread T ON T.id = K.tid AND T.guid = K.guid;
CREATE VIEW memory_copies AS SELECT M.id, M.guid, C.string AS category, M.nid, P.pid, T.tid,
  M.start, M.end, M.end - M.start AS duration, S.string AS name, M.stream_id, M.queue_id, M.size,
  D.absolute_index AS dst_agent_abs_index, D.type AS dst_agent_type, M.dst_address,
  F.absolute_index AS src_agent_abs_index, F.type AS src_agent_type, M.src_address, E.stack_id,
  E.parent_stack_id, E.correlation_id AS corr_id
  FROM rocpd_memory_copy M JOIN rocpd_string S ON S.id = M.name_id AND S.guid = M.guid
  JOIN rocpd_event E ON E.id = M.event_id AND E.guid = M.guid
  LEFT JOIN rocpd_string C ON C.id = E.category_id AND C.guid = E.guid
  LEFT JOIN rocpd_info_agent D ON D.id = M.dst_agent_id AND D.guid = M.guid
  LEFT JOIN rocpd_info_agent F ON F.id = M.src_agent_id AND F.guid = M.guid
  JOIN rocpd_info_process P ON P.id = M.pid AND P.guid = M.guid
  LEFT JOIN rocpd_info_thread T ON T.id = M.tid AND T.guid = M.guid;
)";

} // namespace

std::string rocpdSuffix(const std::string &guid) {
  std::string suffix = "_" + guid;
  std::ranges::replace(suffix, '-', '_');
  return suffix;
}

std::string rocpdSchema(const std::string &guid) {
  const std::string suffix = rocpdSuffix(guid);
  std::string text = fmt::format("CREATE TABLE `rocpd_metadata{0}` (\"id\" INTEGER NOT NULL "
                                 "PRIMARY KEY AUTOINCREMENT, \"tag\" "
                                 "TEXT NOT NULL, \"value\" TEXT NOT NULL);\nINSERT INTO "
                                 "`rocpd_metadata{0}` (tag, value) VALUES "
                                 "('schema_version', '3'), ('uuid', '{0}'), ('guid', '{1}');\n",
                                 suffix, guid);
  std::vector<std::string_view> names = {"metadata"};
  const auto add = [&](const auto &table) {
    names.push_back(table.first);
    text += tableText(table.first, table.second, guid);
  };
  for (const auto &table : kTables) add(table);
  add(kAllocations);
  for (const std::string_view name : names)
    text += fmt::format("CREATE VIEW `rocpd_{0}` AS SELECT * FROM `rocpd_{0}{1}`;\n", name, suffix);
  return text + std::string(kViews);
}

} // namespace fade::host_trace
