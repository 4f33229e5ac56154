#include "trace/sql.h"

#include "base/messages.h"
#include "host_trace/run.h"
#include "host_trace/run_tables.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>
#include <vector>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::array kTables = {"calls", "operations", "ranges", "processes"};

/// A text in SQL.
std::string quotedInSql(const std::string &text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

/// Whether a folder has a complete file; one that is still written has another name.
bool hasRows(const fs::path &folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error))
    if (at->path().extension() == ".parquet") return true;
  return false;
}

/// Why a folder cannot be asked, and what to do.
std::string withoutTables(const std::string &folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return folder + ": no such folder";
  return fmt::format("{}: holds no tables; fadeprobe trace --format parquet -o DIR writes them",
                     folder);
}

/// Statements that give the tables their names; empty: there are none.
std::string viewsOf(const std::string &folder) {
  std::string views;
  for (const char *table : kTables) {
    const fs::path path = fs::path(folder) / table;
    if (!hasRows(path)) continue;
    views +=
        fmt::format("create view {} as select * from read_parquet({}, hive_partitioning = true);\n",
                    table, quotedInSql(path.string() + "/**/*.parquet"));
  }
  return views;
}

} // namespace

CLI::App *addSqlCommand(CLI::App &app, SqlOptions &options) {
  CLI::App *command = app.add_subcommand(
      "sql", "query a run, or a folder of tables (trace --format parquet), with DuckDB");
  command
      ->add_option("folder", options.folder,
                   "folder of a run (trace -o run/), or one written with --format parquet")
      ->type_name("DIR")
      ->required();
  command
      ->add_option("query", options.query,
                   "SQL over calls, operations, ranges and processes; without it DuckDB's prompt")
      ->type_name("SQL");
  command->add_option("--format", options.format, "form of the result (default: table)")
      ->type_name("table|csv|json|markdown")
      ->check(CLI::IsMember({"table", "csv", "json", "markdown"}));
  return command;
}

int runSql(const SqlOptions &options) {
  std::string views = viewsOf(options.folder);
  if (views.empty() && host_trace::isRun(options.folder)) {
    const auto tables = host_trace::tablesOfRun(options.folder);
    if (!tables) {
      complain(tables.error().message());
      return 1;
    }
    views = viewsOf(*tables);
  }
  if (views.empty()) {
    complain(withoutTables(options.folder));
    return 1;
  }
  // Without files of the user's own settings; what it prints is the answer and nothing else.
  const std::string form = "-" + options.format;
  std::vector<std::string> words = {"duckdb", "-init", "/dev/null", form, "-cmd", views};
  if (!options.query.empty()) words.insert(words.end(), {"-c", options.query});
  std::vector<char *> arguments;
  for (std::string &word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp("duckdb", arguments.data());
  const int error = errno;
  complain(error == ENOENT
               ? std::string("sql needs DuckDB's command line: install duckdb, or read the folder "
                             "with another engine (docs/recipes/sql.md)")
               : fmt::format("duckdb: {}", std::strerror(error)));
  return 1;
}

} // namespace fade::cli
