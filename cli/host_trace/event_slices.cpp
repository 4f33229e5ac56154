#include "host_trace/event_slices.h"

#include "analysis/host_events/operation_view.h"
#include "host_trace/event_stream.h"
#include "host_trace/run_clocks.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <memory_resource>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace fade::host_trace {
namespace {

using events::MarkerKind;

/// A launch or copy may be told before what it causes: so many slices it is waited for.
constexpr unsigned kSlicesToWait = 2;

struct KeptCall {
  Call call;
  std::unique_ptr<uint64_t[]> words; ///< what call.words is of
};

struct KeptMarker {
  Marker marker;
  std::unique_ptr<std::string[]> texts; ///< what its views are of
};

KeptMarker kept(const Marker &marker) {
  KeptMarker to{marker, std::make_unique<std::string[]>(3)};
  std::string_view *const views[] = {&to.marker.text, &to.marker.domain, &to.marker.arguments};
  for (std::size_t i = 0; i < 3; ++i) *views[i] = to.texts[i] = *views[i];
  return to;
}

/// Of a call that is in no slice yet.
struct Caused {
  unsigned pending = 0; ///< operations that have not ended
  unsigned waited = 0;  ///< slices
  bool is_open = true;  ///< it has not returned
  bool has_operations = false;
};

template <class T> void sortByTime(std::vector<T> &all, uint64_t T::*time) {
  std::ranges::sort(all, {}, [&](const T &one) { return std::pair(one.*time, one.position); });
}

} // namespace

/// Makes slices of a stream.
class EventSlices final : public EventSink {
public:
  /// `least`: so many events a slice has while somebody records, but the last one; 0: nobody does.
  /// `finder`: null, or who is to see all of it.
  EventSlices(const EventStream &stream, int64_t shift_ns, std::size_t least,
              const EventSource::Take &take, FactFinder *finder)
      : stream_(stream), shift_ns_(shift_ns), least_(least), take_(take), finder_(finder) {}

  void onCall(const Call &call) override {
    see(call.thread.pid, call.start_ns);
    caused_.try_emplace(call.position);
  }

  void onReturn(const Call &call) override {
    KeptCall to{call, std::make_unique<uint64_t[]>(call.words.size())};
    std::ranges::copy(call.words, to.words.get());
    to.call.words = {to.words.get(), call.words.size()};
    see(call.thread.pid, call.start_ns, call.end_ns);
    if (finder_) finder_->onReturn(call);
    caused_[call.position].is_open = false;
    calls_.push_back(std::move(to));
  }

  void onOperation(const Operation &operation) override {
    see(operation.pid, operation.event.submitted_ns);
    pending_[operation.position] = operation.event.submitted_ns;
    auto at = caused_.find(operation.event.call);
    // The thread that made the call may be read later than the one that gave it to the GPU.
    if (at == caused_.end() && least_ != 0 && operation.event.call != 0 &&
        operation.event.submitted_ns >= known_until_)
      at = caused_.try_emplace(operation.event.call).first;
    if (at == caused_.end()) return;
    ++at->second.pending;
    at->second.has_operations = true;
  }

  void onEnd(const Operation &operation) override {
    see(operation.pid, operation.event.submitted_ns, operation.end_ns);
    forget(operation);
    operations_.push_back(operation);
  }
  void onRefused(const Operation &operation) override { forget(operation); }

  void onMarker(const Marker &marker) override {
    const uint32_t pid = marker.thread.pid;
    see(pid, marker.time_ns);
    auto &pushed = pushed_[{pid, marker.thread.tid}];
    switch (marker.kind) {
    case MarkerKind::mark: markers_.push_back(kept(marker)); return;
    case MarkerKind::push: pushed.push_back(kept(marker)); return;
    case MarkerKind::pop:
      if (!pushed.empty()) {
        markers_.push_back(std::move(pushed.back()));
        pushed.pop_back();
      }
      markers_.push_back(kept(marker));
      return;
    case MarkerKind::start: started_[{pid, marker.range}] = kept(marker); return;
    case MarkerKind::stop:
      if (auto begin = started_.extract({pid, marker.range})) {
        markers_.push_back(std::move(begin.mapped()));
        markers_.push_back(kept(marker));
      }
      return;
    }
  }

  void onUsage(const Usage &usage) override {
    if (finder_) finder_->onUsage(usage, stream_.facts());
  }
  void onSwitch(const Switch &change) override { switches_.push_back(change); }

  Status onProgress(uint64_t known_until, uint64_t) override {
    const bool is_last = known_until == UINT64_MAX;
    known_until_ = known_until;
    if (is_last || told_ >= least_) {
      told_ = 0;
      emit(is_last);
    }
    return Done{};
  }

  /// Everything that is complete, now.
  void flush() {
    is_flush_ = true;
    emit(false);
    is_flush_ = false;
  }

private:
  void see(uint32_t pid, uint64_t time, uint64_t end = 0) {
    ++told_;
    reached_ = std::max(reached_, time);
    uint64_t &last = ended_[pid];
    last = std::max({last, time, end});
  }

  void forget(const Operation &operation) {
    pending_.erase(operation.position);
    const auto at = caused_.find(operation.event.call);
    if (at != caused_.end() && at->second.pending > 0) --at->second.pending;
  }

  /// All that began before was told.
  uint64_t reached() const { return least_ == 0 ? reached_ : std::min(reached_, known_until_); }

  bool mustWait(const Call &call, Caused &caused) const {
    if (caused.pending > 0) return true;
    if (is_flush_) return false;
    if (call.end_ns >= reached()) return true;
    if (caused.has_operations || (!isLaunch(call) && !copyOf(call))) return false;
    return ++caused.waited <= kSlicesToWait;
  }

  /// A call, those that it was made by and those that it makes stay together. Outer ones are in
  /// front.
  void findWaiting() {
    waiting_.clear();
    for (auto one = calls_.rbegin(); one != calls_.rend(); ++one)
      if (mustWait(one->call, caused_[one->call.position]) ||
          waiting_.contains(one->call.position)) {
        waiting_.insert(one->call.position);
        if (one->call.parent != 0) waiting_.insert(one->call.parent);
      }
    for (const KeptCall &one : calls_)
      if (one.call.parent != 0 && waiting_.contains(one.call.parent))
        waiting_.insert(one.call.position);
  }

  /// Takes out what need not stay.
  template <class T, class F> std::vector<T> taken(std::vector<T> &all, F &&stays) {
    std::vector<T> left; // mostly few
    std::size_t out = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (stays(all[i]))
        left.push_back(std::move(all[i]));
      else if (out++ != i)
        all[out - 1] = std::move(all[i]);
    all.resize(out);
    std::swap(all, left);
    return left;
  }

  void emit(bool is_last) {
    if (!is_last) findWaiting();
    std::vector<KeptCall> calls = taken(calls_, [&](const KeptCall &one) {
      return !is_last && waiting_.contains(one.call.position);
    });
    std::vector<Operation> operations = taken(operations_, [&](const Operation &operation) {
      if (is_last) return false;
      const auto at = caused_.find(operation.event.call);
      return at != caused_.end() && (at->second.is_open || waiting_.contains(operation.event.call));
    });
    std::vector<KeptMarker> markers = std::exchange(markers_, {});
    if (is_last) {
      for (auto &[thread, open] : pushed_)
        for (KeptMarker &one : open) markers.push_back(std::move(one));
      for (auto &[range, one] : started_) markers.push_back(std::move(one));
    }
    HostEvents slice = stream_.facts().withoutEvents();
    slice.calls.reserve(calls.size());
    for (const KeptCall &one : calls) {
      slice.calls.push_back(one.call);
      caused_.erase(one.call.position);
    }
    slice.operations = std::move(operations);
    for (const KeptMarker &one : markers) slice.markers.push_back(one.marker);
    slice.switches = switches_;
    slice.ended_ns = ended_;
    sortByTime(slice.calls, &Call::start_ns);
    sortByTime(slice.operations, &Operation::start_ns);
    sortByTime(slice.markers, &Marker::time_ns);
    slice.index();
    const uint64_t until = is_last ? UINT64_MAX : earliestLeft();
    if (finder_) finder_->onSlice(slice, until);
    shiftTimes(slice, shift_ns_);
    take_(slice, is_last ? until : until + static_cast<uint64_t>(shift_ns_));
  }

  /// When the first operation that is in no slice yet may have begun.
  uint64_t earliestLeft() const {
    uint64_t earliest = reached();
    for (const auto &[position, submitted] : pending_) earliest = std::min(earliest, submitted);
    for (const Operation &operation : operations_)
      earliest = std::min(earliest, operation.start_ns);
    return earliest;
  }

  const EventStream &stream_;
  const int64_t shift_ns_;
  const std::size_t least_;
  const EventSource::Take &take_;
  FactFinder *const finder_;
  bool is_flush_ = false;
  std::size_t told_ = 0;     ///< since the last slice
  uint64_t reached_ = 0;     ///< the latest that was told
  uint64_t known_until_ = 0; ///< of a file that somebody records into: what began before was told
  std::vector<KeptCall> calls_;
  std::vector<Operation> operations_; ///< that have ended
  std::vector<KeptMarker> markers_;
  std::vector<Switch> switches_;
  std::map<uint32_t, uint64_t> ended_; ///< by process: its last event
  // Entries come and go with each call: what they take is used again.
  std::pmr::unsynchronized_pool_resource pool_;
  std::pmr::unordered_map<uint64_t, Caused> caused_{&pool_}; ///< by call
  std::pmr::unordered_map<uint64_t, uint64_t> pending_{
      &pool_};                                        ///< by operation: when it was submitted
  std::pmr::unordered_set<uint64_t> waiting_{&pool_}; ///< calls that stay for the next slice
  std::map<std::pair<uint32_t, uint32_t>, std::vector<KeptMarker>> pushed_; ///< by thread
  std::map<std::pair<uint32_t, uint64_t>, KeptMarker> started_; ///< by process and number
};

/// Who records stacks does so from the first call on.
bool EventSource::hasStacks(const std::string &path) {
  constexpr std::size_t blocks = 16;
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes(events::kBlockBytes);
  file.seekg(events::kHeaderBytes);
  for (std::size_t i = 0; i < blocks && file; ++i) {
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const auto size = static_cast<std::size_t>(file.gcount());
    events::EventHeader event{};
    for (std::size_t at = sizeof(events::BlockHeader); at + sizeof event <= size;) {
      std::memcpy(&event, bytes.data() + at, sizeof event);
      if (event.kind == events::EventKind::call_stack) return true;
      if (event.words == 0) break;
      at += std::size_t{event.words} * 8;
    }
  }
  return false;
}

bool EventSource::isWhole() const {
  if (whole_) return true;
  if (wait_) return false;
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path_, error);
  return error || size <= whole_bytes_ || hasStacks(path_);
}

namespace {

std::vector<LoggedRequest> requestsOf(const HostEvents &events, int64_t shift_ns = 0) {
  std::vector<LoggedRequest> all;
  for (const LibraryRequest &request : events.requests)
    all.push_back({request.time_ns + static_cast<uint64_t>(shift_ns), request.thread.pid,
                   std::string(request.file), std::string(request.who), request.thread.tid});
  return all;
}

} // namespace

Status EventSource::forEachWhole(const Take &take, Facts *facts) const {
  const auto tell = [&](const HostEvents &events) {
    take(events, UINT64_MAX);
    if (facts) *facts = {findFacts(events), requestsOf(events)};
  };
  if (whole_) {
    tell(*whole_);
    return Done{};
  }
  auto events = HostEvents::read(path_);
  if (!events) return std::move(events).error();
  shiftTimes(*events, shift_ns_);
  tell(*events);
  return Done{};
}

Status EventSource::forEach(const Take &take, Facts *facts, const Flush &flush) const {
  if (isWhole()) return forEachWhole(take, facts);
  auto stream = EventStream::open(path_);
  if (!stream) return std::move(stream).error();
  (*stream)->tellProgressAfter(events_per_slice_);
  FactFinder finder;
  if (facts) (*stream)->keepContext();
  EventSlices slices(**stream, shift_ns_, wait_ ? events_per_slice_ : 0, take,
                     facts ? &finder : nullptr);
  for (Next next = Next::end; wait_ && (next = wait_()) != Next::end;) {
    if (Status status = (*stream)->read(slices, false); !status) return status;
    if (next != Next::flush) continue;
    slices.flush();
    if (flush) flush();
    for (auto then = flushed_.rbegin(); then != flushed_.rend(); ++then) (*then)();
  }
  Status status = (*stream)->read(slices, true);
  if (status && end_) end_((*stream)->facts());
  if (status && facts)
    *facts = {finder.finish((*stream)->facts()), requestsOf((*stream)->facts(), shift_ns_)};
  return status;
}

} // namespace fade::host_trace
