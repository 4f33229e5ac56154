// fadeprobe sql: a query over the tables of a run (column_tables.h), answered by DuckDB.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace fade::cli {

struct SqlOptions {
  std::string folder, query;
  std::string format = "table";
};

CLI::App *addSqlCommand(CLI::App &app, SqlOptions &options);
/// Becomes DuckDB, or returns an exit code: 1 if the folder has no tables or DuckDB cannot be run.
int runSql(const SqlOptions &options);

} // namespace fade::cli
