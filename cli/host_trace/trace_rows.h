// A stream of host events as rows that are complete: calls that have returned, operations that have
// ended, ranges that were closed. A row comes when it is complete, so about in order of ends.
#pragma once

#include "analysis/host_events/operation_view.h"
#include "base/result.h"
#include "host_trace/event_stream.h"
#include "host_trace/trace_log.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fade::host_trace {

/// What a row calls a call of HIP: its place in the file, which has a multiple of 8. 0: none.
constexpr uint64_t rowId(uint64_t position) { return position / 8; }

struct CallRow {
  uint64_t start_ns = 0, end_ns = 0;
  uint64_t id = 0, parent = 0;
  uint64_t stream = 0;
  uint64_t launches = 0; ///< the address that stands for the kernel; 0: it launches none
  std::optional<uint64_t> bytes;
  std::string_view function, error;
  uint32_t pid = 0, tid = 0;
  bool has_returned = false, is_name_only = false;
};

struct OperationRow {
  LoggedOperation what;
  uint64_t call = 0; ///< its id
};

struct RangeRow {
  uint64_t start_ns = 0, end_ns = 0;
  uint32_t pid = 0, tid = 0;
  bool is_message = false; ///< a call of MPI or RCCL
  std::string text;        ///< the name of a message, else all of it
  std::string domain, arguments;
};

/// What is known by now.
struct RowProgress {
  uint64_t known_until = 0; ///< calls and ranges that have begun before are known, if only as open
  uint64_t operations_until = 0;                   ///< no operation that began before will come
  std::vector<uint64_t> open_calls, open_messages; ///< when they began; of calls the outermost
};

class RowSink {
public:
  RowSink() = default;
  RowSink(const RowSink &) = delete;
  RowSink &operator=(const RowSink &) = delete;
  virtual ~RowSink() = default;

  virtual void add(CallRow row) = 0;
  virtual void add(OperationRow row) = 0;
  virtual void add(RangeRow row) = 0;
  virtual void add(const Usage &usage) = 0;
  /// A call, by its id, has launched a kernel. Before or after the call's row.
  virtual void launched(uint64_t call, std::string_view kernel) = 0;
  virtual Status progress(const RowProgress &now) = 0;
};

class RowStream final : public EventSink {
public:
  RowStream(const EventStream &stream, RowSink &sink) : stream_(stream), sink_(sink) {}

  void onCall(const Call &call) override;
  void onReturn(const Call &call) override;
  void onOperation(const Operation &operation) override;
  void onEnd(const Operation &operation) override;
  void onMarker(const Marker &marker) override;
  void onUsage(const Usage &usage) override;
  void onSwitch(const Switch &change) override;
  Status onProgress(uint64_t known_until, uint64_t operations_until) override;

private:
  void see(uint32_t pid, uint64_t time) {
    uint64_t &last = last_[pid];
    last = std::max(last, time);
  }
  void keepCopy(const Call &call);
  void close(RangeRow range, uint64_t end_ns);
  void closeAll();

  const EventStream &stream_;
  RowSink &sink_;
  Texts texts_;
  std::map<uint64_t, uint64_t> open_calls_; ///< by position: when they began
  // What copies and fills were asked for, of the last calls: HIP does them with kernels.
  std::unordered_map<uint64_t, CopyCall> copies_; ///< by position
  std::deque<uint64_t> copies_in_order_;
  std::unordered_map<uint64_t, CopyCall> copies_of_; ///< by position of an operation
  std::map<std::pair<uint32_t, uint32_t>, std::vector<RangeRow>> pushed_; ///< by thread
  std::map<std::pair<uint32_t, uint64_t>, RangeRow> started_;             ///< by process and number
  std::map<uint32_t, uint64_t> on_since_, last_;                          ///< by process
};

} // namespace fade::host_trace
