// The tables (column_tables.h) of a run of many processes.
#pragma once

#include "base/result.h"
#include "host_trace/run.h"

#include <string>

namespace fade::host_trace {

/// Of all processes, by the run's common clock.
Status writeRunTables(const Run &run, const std::string &folder);

/// The folder "tables" of the run; they are made if they are not there, or if something was
/// recorded since.
Result<std::string> tablesOfRun(const std::string &run);

} // namespace fade::host_trace
