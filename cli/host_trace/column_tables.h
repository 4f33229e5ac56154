// Host events as tables in Parquet files, in a folder that engines read as a whole, however many
// processes, ranks and hosts have written to it:
//
//   FOLDER/calls/host=node1/rank=3/4711.parquet, 4711.1.parquet, ...
//
// Written while the application runs: rows wait until a row group is full, are sorted, and leave
// memory. A file is there once it is complete; the next one is begun when it is large, or when
// somebody wants to see what there is. docs/formats/trace.md has the columns.
#pragma once

#include "base/result.h"
#include "host_trace/event_stream.h"
#include "host_trace/trace_rows.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace fade::host_trace {

class ColumnTables {
public:
  /// `partition`: "host=node1/rank=3". Files of the same host, rank and process are replaced;
  /// others stay. `to_unix_ns`: what is added to the times of events; nothing: what their file
  /// says.
  static Result<std::unique_ptr<ColumnTables>> open(const std::string &events,
                                                    const std::string &folder,
                                                    const std::string &partition,
                                                    std::optional<int64_t> to_unix_ns = {});
  ~ColumnTables();
  ColumnTables(const ColumnTables &) = delete;
  ColumnTables &operator=(const ColumnTables &) = delete;

  /// What has been recorded since.
  Status read();
  /// The same; then all that is complete can be read by others.
  Status flush();
  /// When nobody records any more.
  Status finish();

  const EventStream &stream() const { return *stream_; }

private:
  class Tables;
  explicit ColumnTables(std::unique_ptr<EventStream> stream, const std::string &folder,
                        const std::string &partition, std::optional<int64_t> to_unix_ns);

  std::unique_ptr<EventStream> stream_;
  std::unique_ptr<Tables> tables_;
  RowStream rows_;
};

/// All at once, of events that are complete.
Status writeColumnTables(const std::string &events, const std::string &folder,
                         const std::string &partition, std::optional<int64_t> to_unix_ns = {});

} // namespace fade::host_trace
