#include "host_trace/trace_rows.h"

#include "host_trace/collectives.h"

#include <algorithm>

namespace fade::host_trace {
namespace {

constexpr std::size_t kMostCopies = 16'384;

RangeRow rowOf(const Marker &marker) {
  RangeRow row;
  row.start_ns = marker.time_ns;
  row.pid = marker.thread.pid;
  row.tid = marker.thread.tid;
  Range range;
  range.text = marker.text;
  range.is_named = marker.is_named;
  range.domain = marker.domain;
  range.arguments = marker.arguments;
  row.is_message = isMessage(range);
  row.text = row.is_message ? std::string(marker.text) : range.whole();
  if (!row.is_message) return row;
  row.domain = marker.domain;
  row.arguments = marker.arguments;
  return row;
}

/// The address of the kernel that a launch names; 0: it is none.
uint64_t launchOf(const Call &call) {
  const bool is_one =
      isLaunch(call) && !call.isNameOnly() && std::string_view(call.function->group) != "graph";
  return is_one && !call.words.empty() ? call.words[0] : 0;
}

} // namespace

void RowStream::keepCopy(const Call &call) {
  const auto copy = copyOf(call);
  if (!copy) return;
  copies_[call.position] = *copy;
  copies_in_order_.push_back(call.position);
  if (copies_in_order_.size() <= kMostCopies) return;
  copies_.erase(copies_in_order_.front());
  copies_in_order_.pop_front();
}

void RowStream::onCall(const Call &call) {
  see(call.thread.pid, call.start_ns);
  keepCopy(call);
  if (!call.hasReturned() && call.parent == 0) open_calls_[call.position] = call.start_ns;
}

void RowStream::onReturn(const Call &call) {
  open_calls_.erase(call.position);
  see(call.thread.pid, call.end_ns);
  const LoggedCall logged = loggedCall(call, texts_);
  CallRow row;
  row.start_ns = call.start_ns;
  row.end_ns = call.end_ns;
  row.id = rowId(call.position);
  row.parent = rowId(call.parent);
  row.stream = logged.stream;
  row.launches = launchOf(call);
  row.bytes = logged.bytes;
  row.function = logged.function;
  row.error = logged.error;
  row.pid = call.thread.pid;
  row.tid = call.thread.tid;
  row.has_returned = call.hasReturned();
  row.is_name_only = call.isNameOnly();
  sink_.add(row);
}

void RowStream::onOperation(const Operation &operation) {
  const uint64_t call = operation.event.call;
  if (call == 0 || !operation.isKernel()) return;
  if (const auto copy = copies_.find(call); copy != copies_.end())
    copies_of_[operation.position] = copy->second;
  else
    sink_.launched(rowId(call), stream_.facts().textOf(operation.pid, operation.event.name));
}

void RowStream::onEnd(const Operation &operation) {
  see(operation.pid, operation.end_ns);
  const auto copy = copies_of_.find(operation.position);
  const std::string_view kernel =
      operation.isKernel() ? stream_.facts().textOf(operation.pid, operation.event.name) : "";
  const OperationView view =
      viewOf(kernel, operation, copy == copies_of_.end() ? nullptr : &copy->second);
  if (copy != copies_of_.end()) copies_of_.erase(copy);
  OperationRow row;
  row.what = loggedOperation(operation, view);
  row.call = rowId(operation.event.call);
  sink_.add(row);
}

void RowStream::close(RangeRow range, uint64_t end_ns) {
  range.end_ns = std::max(end_ns, range.start_ns);
  sink_.add(std::move(range));
}

void RowStream::onMarker(const Marker &marker) {
  using events::MarkerKind;
  const uint32_t pid = marker.thread.pid;
  see(pid, marker.time_ns);
  auto &pushed = pushed_[{pid, marker.thread.tid}];
  switch (marker.kind) {
  case MarkerKind::mark: return close(rowOf(marker), marker.time_ns);
  case MarkerKind::push: pushed.push_back(rowOf(marker)); return;
  case MarkerKind::pop: {
    RangeRow range;
    if (!pushed.empty()) {
      range = std::move(pushed.back());
      pushed.pop_back();
    } else { // it began before recording was switched on
      range = rowOf(marker);
      const auto since = on_since_.find(pid);
      range.start_ns = since == on_since_.end() ? marker.time_ns : since->second;
      range.text = "";
    }
    return close(std::move(range), marker.time_ns);
  }
  case MarkerKind::start: started_[{pid, marker.range}] = rowOf(marker); return;
  case MarkerKind::stop:
    if (auto at = started_.extract({pid, marker.range}))
      close(std::move(at.mapped()), marker.time_ns);
    return;
  }
}

void RowStream::onUsage(const Usage &usage) { sink_.add(usage); }

void RowStream::onSwitch(const Switch &change) {
  if (change.is_on) on_since_[change.pid] = change.time_ns;
}

void RowStream::closeAll() {
  for (auto &[thread, ranges] : pushed_)
    for (RangeRow &range : ranges) close(std::move(range), last_[thread.first]);
  pushed_.clear();
  for (auto &[range, begun] : started_) close(std::move(begun), last_[range.first]);
  started_.clear();
}

Status RowStream::onProgress(uint64_t known_until, uint64_t operations_until) {
  if (known_until == UINT64_MAX) closeAll();
  RowProgress now;
  now.known_until = known_until;
  now.operations_until = operations_until;
  for (const auto &[position, start] : open_calls_) now.open_calls.push_back(start);
  for (const auto &[thread, ranges] : pushed_)
    for (const RangeRow &range : ranges)
      if (range.is_message) now.open_messages.push_back(range.start_ns);
  return sink_.progress(now);
}

} // namespace fade::host_trace
