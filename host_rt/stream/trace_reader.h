// Feeds a recorded run (trace_format.h) to an Analysis, as if it happened now.
#pragma once

#include "base/result.h"
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

  /// Feeds everything. A trace that ends early or goes wrong somewhere is fed up to there; the
  /// returned line then says where and why, and is empty otherwise.
  std::string replay(Analysis &analysis) const;

private:
  explicit TraceReader(std::string path) : path_(std::move(path)) {}

  std::string path_;
  const std::byte *bytes_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace fade
