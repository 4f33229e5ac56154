// Host events as tables in Parquet files, in a folder that engines read as a whole, however many
// processes, ranks and hosts have written to it:
//
//   FOLDER/calls/host=node1/rank=3/4711.parquet
//
// docs/formats/trace.md has the columns.
#pragma once

#include "base/result.h"
#include "trace/event_reader.h"

#include <string>

namespace fade::host_trace {

/// Files of the same host, rank and process are replaced, each as a whole; others stay.
/// `partition`: "host=node1/rank=3".
Status writeColumnTables(const HostEvents &events, const std::string &folder,
                         const std::string &partition);

} // namespace fade::host_trace
