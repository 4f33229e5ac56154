// Writes a trace (trace_format.h) while the application runs.
#pragma once

#include "base/own_file.h"
#include "base/settings.h"
#include "stream/dispatch_record.h"
#include "stream/run_facts.h"
#include "stream/trace_format.h"

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_set>

namespace fade {

class TraceWriter {
public:
  /// Null, and a line on stderr, if the file cannot be opened.
  static std::unique_ptr<TraceWriter> open(const std::string &path);
  TraceWriter(const TraceWriter &) = delete;
  TraceWriter &operator=(const TraceWriter &) = delete;

  // Any thread. The records of a dispatch must come in order. What cannot be written for want of
  // memory is thrown, and the recording is as if it had not been asked for.
  void dispatchBegin(const DispatchRecord &dispatch);
  void records(const DispatchRecord &dispatch, uint64_t position, std::span<const std::byte> bytes);
  void dispatchEnd(const DispatchRecord &dispatch);
  void skipped(const std::string &kernel, const std::string &reason);
  void filter(const WorkgroupFilter &filter);
  void run(const RunFacts &facts);
  void close() noexcept;

private:
  explicit TraceWriter(OwnFile file) : file_(std::move(file)) {}
  void kernelLocked(const KernelInfo &kernel);
  void dispatchLocked(trace::Kind kind, const DispatchRecord &dispatch);
  void chunkLocked(trace::Kind kind, std::string_view head, std::span<const std::byte> body = {});
  template <typename F> void once(std::unordered_set<uint64_t> &known, uint64_t key, F &&f);
  void flushLocked() noexcept;

  std::mutex mutex_;
  OwnFile file_;
  std::string buffer_;
  bool failed_ = false;
  std::unordered_set<uint64_t> modules_;
  std::unordered_set<uint64_t> kernels_; ///< id, and whether its sites were written
  std::weak_ptr<const Allocations> allocations_;
};

} // namespace fade
