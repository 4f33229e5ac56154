// Feeds a recorded run (trace_format.h) to an Analysis, as if it happened now.
#pragma once

#include "base/result.h"
#include "base/selection.h"
#include "stream/analysis.h"

#include <string>

namespace fade {

class TraceReader {
public:
  /// An error if the file cannot be read or is no trace.
  static Result<TraceReader> open(const std::string &path);
  TraceReader(TraceReader &&other) noexcept;
  TraceReader &operator=(TraceReader &&) = delete;
  ~TraceReader();

  /// Feeds everything, or only the dispatches that are chosen. A trace that ends early or goes
  /// wrong somewhere is fed up to there; the returned line then says where and why, and is empty
  /// otherwise.
  std::string replay(Analysis &analysis, const Selection *selection = nullptr) const;

private:
  explicit TraceReader(std::string path) : path_(std::move(path)) {}

  /// Visits chunks up to the last one, or to the first about which `visit(kind, payload)` has
  /// something to say; the line says where the file ends early or goes wrong.
  template <typename Visit> std::string forEachChunk(Visit visit) const;

  std::string path_;
  const std::byte *bytes_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace fade
