#include "host_trace/rpd_schema.h"

#include <fmt/format.h>
#include <string_view>
#include <vector>

namespace fade::host_trace {
namespace {

using std::string;

struct Column {
  string name, type;
};

/// The number of a row in another table. What it refers to may come later.
Column refers(const string &name, const string &table, RpdVersion version, bool is_key = false) {
  return {name,
          fmt::format(R"({} NOT NULL {}REFERENCES "rocpd_{}" ("id") DEFERRABLE INITIALLY DEFERRED)",
                      version == RpdVersion::v3 ? "bigint" : "integer",
                      is_key ? "PRIMARY KEY " : "", table)};
}
Column number(const string &name) { return {name, "integer NOT NULL"}; }
Column text(const string &name, int size) {
  return {name, fmt::format("varchar({}) NOT NULL", size)};
}
Column flag(const string &name) { return {name, "bool NOT NULL"}; }
Column id() { return {"id", "integer NOT NULL PRIMARY KEY AUTOINCREMENT"}; }

string table(const string &name, const std::vector<Column> &columns) {
  string all;
  for (const Column &column : columns)
    all += fmt::format(R"({}"{}" {})", all.empty() ? "" : ", ", column.name, column.type);
  return fmt::format("CREATE TABLE IF NOT EXISTS \"rocpd_{}\" ({});\n", name, all);
}

std::vector<Column> join(std::vector<Column> a, const std::vector<Column> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

string tables(RpdVersion v) {
  const bool is_new = v == RpdVersion::v3;
  const auto string_table = [](const string &name) {
    return table(name, {id(), text("string", 4096)});
  };
  string all = table("metadata", {id(), text("tag", 4096), text("value", 4096)});
  all += string_table("string");
  if (is_new) all += string_table("ustring");
  auto api = std::vector{id(),          number("pid"),
                         number("tid"), number("start"),
                         number("end"), refers("apiName_id", "string", v)};
  if (is_new)
    api = join(api, {refers("category_id", "string", v), refers("domain_id", "string", v)});
  all += table("api", join(api, {refers("args_id", is_new ? "ustring" : "string", v)}));
  all += table("copyapi",
               {refers("api_ptr_id", "api", v, true), text("stream", 18), number("size"),
                number("width"), number("height"), number("kind"), text("dst", 18), text("src", 18),
                number("dstDevice"), number("srcDevice"), flag("sync"), flag("pinned")});
  auto kernel = std::vector{refers("api_ptr_id", "api", v, true), text("stream", 18)};
  for (const char *size : {"gridX", "gridY", "gridZ", "workgroupX", "workgroupY", "workgroupZ",
                           "groupSegmentSize", "privateSegmentSize"})
    kernel.push_back(number(size));
  if (!is_new)
    kernel =
        join(kernel, {text("kernelArgAddress", 18), text("aquireFence", 8), text("releaseFence", 8),
                      refers("codeObject_id", "kernelcodeobject", v)});
  all += table("kernelapi", join(kernel, {refers("kernelName_id", "string", v)}));
  auto op = std::vector{id(), number("gpuId"), number("queueId"), number("sequenceId")};
  if (!is_new) op.push_back(text("completionSignal", 18));
  all +=
      table("op", join(op, {number("start"), number("end"), refers("description_id", "string", v),
                            refers("opType_id", "string", v)}));
  all += table("api_ops", {id(), refers("api_id", "api", v), refers("op_id", "op", v)});
  all +=
      table("monitor", {id(), text("deviceType", 16), number("deviceId"), text("monitorType", 16),
                        number("start"), number("end"), text("value", 255)});
  if (is_new)
    all += table("counter", {id(),
                             {"value", "real NOT NULL"},
                             refers("op_id", "op", v),
                             refers("name_id", "string", v)});
  all += table("stackframe", {id(), refers("api_ptr_id", "api", v), number("depth"),
                              refers("name_id", "string", v)});
  if (is_new) return all;
  all += table("kernelcodeobject", {id(), number("vgpr"), number("sgpr"), number("fbar")});
  all += table("barrierop", {refers("op_ptr_id", "op", v, true), number("signalCount"),
                             text("aquireFence", 8), text("releaseFence", 8)});
  return all + table("op_inputSignals",
                     {id(), refers("from_op_id", "op", v), refers("to_op_id", "op", v)});
}

string view(const string &name, const string &query) {
  return fmt::format("CREATE VIEW {} AS {};\n", name, query);
}

/// A column of another table instead of its number.
string joined(const string &table, const string &as, const string &key) {
  return fmt::format(" JOIN {} {} ON {}.id = {}", table, as, as, key);
}

string apiView(const string &name, const string &ids, bool is_new) {
  string query = "SELECT rocpd_api.id, " + ids + ", start, end, ";
  if (is_new) query += "D.string AS domain, C.string AS category, ";
  query += "N.string AS apiName, A.string AS args FROM rocpd_api";
  if (is_new)
    query += joined("rocpd_string", "D", "rocpd_api.domain_id") +
             joined("rocpd_string", "C", "rocpd_api.category_id");
  query += joined("rocpd_string", "N", "rocpd_api.apiName_id") +
           joined(is_new ? "rocpd_ustring" : "rocpd_string", "A", "rocpd_api.args_id");
  return view(name, query);
}

string opView(const string &name, const string &ids) {
  return view(name, "SELECT rocpd_op.id, " + ids +
                        ", sequenceId, start, end, D.string AS description, T.string AS opType "
                        "FROM rocpd_op" +
                        joined("rocpd_string", "D", "rocpd_op.description_id") +
                        joined("rocpd_string", "T", "rocpd_op.opType_id"));
}

string views(RpdVersion version) {
  const bool is_new = version == RpdVersion::v3;
  string all = apiView("api", "pid, tid", is_new) + opView("op", "gpuId, queueId");
  all += view("busy", "SELECT gpuId, sum(end - start) AS GpuTime, WallTime, "
                      "sum(end - start) * 1.0 / WallTime AS Busy FROM rocpd_op, "
                      "(SELECT max(end) - min(start) AS WallTime FROM rocpd_op) GROUP BY gpuId");
  all += view("top", "SELECT CASE D.string WHEN '' THEN T.string ELSE D.string END AS Name, "
                     "count(*) AS TotalCalls, sum(end - start) / 1000 AS TotalDuration_us, "
                     "sum(end - start) / count(*) / 1000.0 AS Ave_us, sum(end - start) * 100.0 / "
                     "(SELECT sum(end - start) FROM rocpd_op) AS Percentage FROM rocpd_op" +
                         joined("rocpd_string", "D", "description_id") +
                         joined("rocpd_string", "T", "opType_id") +
                         " GROUP BY Name ORDER BY TotalDuration_us DESC");
  const string of_op = "SELECT O.id, gpuId, queueId, sequenceId, O.start, O.end, "
                       "(O.end - O.start) AS duration, stream, ";
  const string with_op = " FROM rocpd_api_ops B" + joined("rocpd_op", "O", "B.op_id");
  const string copied =
      "stream, size, width, height, kind, dst, src, dstDevice, srcDevice, sync, pinned";
  all += view("kernel", of_op +
                            "gridX, gridY, gridz, workgroupX, workgroupY, workgroupZ, "
                            "groupSegmentSize, privateSegmentSize, N.string AS kernelName" +
                            with_op + " JOIN rocpd_kernelapi K ON K.api_ptr_id = B.api_id" +
                            joined("rocpd_string", "N", "kernelName_id"));
  all += view("copy", "SELECT P.id, pid, tid, start, end, N.string AS apiName, " + copied +
                          " FROM rocpd_copyapi K" + joined("rocpd_api", "P", "K.api_ptr_id") +
                          joined("rocpd_string", "N", "P.apiName_id"));
  all += view("copyop", of_op + copied.substr(8) + ", N.string AS apiName" + with_op +
                            " JOIN rocpd_copyapi K ON K.api_ptr_id = B.api_id" +
                            joined("rocpd_api", "P", "B.api_id") +
                            joined("rocpd_string", "N", "P.apiName_id"));
  all += view("stackframe", "SELECT P.id, N.string, depth, F.string FROM rocpd_stackframe S" +
                                joined("rocpd_api", "P", "S.api_ptr_id") +
                                joined("rocpd_string", "N", "P.apiName_id") +
                                joined("rocpd_string", "F", "S.name_id"));
  if (!is_new) return all;
  // Files of several machines that were put together.
  const auto stride = [](const string &tag) {
    return fmt::format("(SELECT value FROM rocpd_metadata WHERE tag = '{}')", tag);
  };
  const string pids = stride("pid_stride"), gpus = stride("gpu_stride");
  all += apiView("napi", fmt::format("pid / {0} AS node, pid % {0} AS pid, tid % {0} AS tid", pids),
                 true);
  return all + opView("nop", fmt::format("gpuId / {0} AS node, gpuId % {0} AS gpuId, "
                                         "queueId % {0} AS queueId",
                                         gpus));
}

} // namespace

string rpdSchema(RpdVersion version) {
  const bool is_new = version == RpdVersion::v3;
  string all = tables(version);
  const auto metadata = [&](const string &tag, const string &value) {
    all += fmt::format("INSERT INTO rocpd_metadata(tag, value) VALUES ('{}', '{}');\n", tag, value);
  };
  if (is_new) {
    metadata("gpu_stride", "1000");
    metadata("pid_stride", "10000000");
  }
  metadata("schema_version", is_new ? "3" : "2");
  all += R"(CREATE INDEX "rocpd_strin_string_c7b9cd_idx" ON "rocpd_string" ("string");)";
  if (is_new)
    all += R"(CREATE INDEX "rocpd_ustri_string_84d4a7_idx" ON "rocpd_ustring" ("string");)";
  // The empty text is number 1.
  all += "INSERT INTO rocpd_string(id, string) VALUES (1, '');";
  if (is_new) all += "INSERT INTO rocpd_ustring(id, string) VALUES (1, '');";
  return all + views(version);
}

} // namespace fade::host_trace
