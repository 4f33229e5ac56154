#include "stream/analysis.h"

#include "base/contain.h"
#include "base/diagnostics.h"
#include "base/heap_watch.h"
#include "base/own_heap.h"
#include "fade/decode.h"
#include "stream/trace_writer.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <unistd.h>
#include <utility>

namespace fade {
namespace {

constexpr std::size_t kWorkerQueue = 1024;
constexpr std::size_t kEndedQueue = 1024;
// How often a reporter that takes its time is looked at.
constexpr auto kShortestLook = std::chrono::milliseconds(1);
constexpr auto kLongestLook = std::chrono::milliseconds(500);
// How long free() may take at most.
constexpr auto kHeapPatience = std::chrono::seconds(5);

int findWave(const void *waves, fade_u32 wave, fade_wave_begin *out) {
  const auto *table = static_cast<const WaveTable *>(waves);
  return table && table->find(wave, *out) ? 1 : 0;
}

/// As without the handling of crashes: whoever needs this heap would wait forever. Allocates
/// nothing.
[[noreturn]] void endWithLockedHeap(const LoadedHandler &handler,
                                    const LoadedHandler::Crash &crash) noexcept {
  std::array<char, 512> text{};
  const char *const signal_name = sigabbrev_np(crash.signal);
  const int length = std::snprintf(
      text.data(), text.size(),
      "fade: handler %s: it crashed (SIG%s) in %s while it allocated, in a part of the heap that "
      "the application uses, too (MALLOC_ARENA_MAX, or very many threads): the process ends\n",
      handler.name(), signal_name ? signal_name : "?", crash.call);
  writeStderr({text.data(), std::min<std::size_t>(std::max(length, 0), text.size() - 1)});
  sigset_t aborts;
  sigemptyset(&aborts);
  sigaddset(&aborts, SIGABRT);
  signal(SIGABRT, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &aborts, nullptr);
  raise(SIGABRT);
  _exit(128 + SIGABRT);
}

bool takesPages(uint32_t takes) {
  const uint32_t shift = FADE_TAKES_PAGE_SHIFT(takes);
  return (takes & FADE_TAKES_SUMMARIES_BY_PAGE) != 0 && shift >= 6 && shift < 32;
}

} // namespace

Analysis::Analysis(const AnalysisOptions &options, Handlers handlers, Output &output,
                   TraceWriter *trace)
    : handlers_(std::move(handlers)), output_(output), trace_(trace), log_(output),
      ended_(kEndedQueue), call_patience_(options.call_patience) {
  takes_summaries_ = takes_sums_ = !handlers_.empty();
  for (const auto &handler : handlers_) {
    needs_ |= handler->needs();
    needs_block_records_ |=
        (handler->needs() & (FADE_NEEDS_BLOCKS | FADE_NEEDS_COUNTS)) == FADE_NEEDS_BLOCKS;
    const uint32_t takes = handler->takes();
    const bool by_page = takesPages(takes);
    takes_summaries_ &= by_page || (takes & FADE_TAKES_SUMMARIES) != 0;
    if (by_page) page_shift_ = std::min(page_shift_, FADE_TAKES_PAGE_SHIFT(takes));
    const bool is_fed = (handler->needs() & (FADE_NEEDS_ACCESSES | FADE_NEEDS_BLOCKS)) == 0 ||
                        by_page || (takes & FADE_TAKES_SUMMARIES) != 0;
    const bool sums =
        !by_page && (takes & FADE_TAKES_SUMMARIES) != 0 && (takes & FADE_TAKES_SUMS) != 0;
    takes_sums_ &= sums;
    // Who tells pages apart says that itself.
    if (!sums && !by_page && (takes & FADE_TAKES_SUMMARIES) != 0)
      without_sums_ += (without_sums_.empty() ? "" : " and ") + std::string(handler->name());
    if (!is_fed) unfed_ += (unfed_.empty() ? "" : " and ") + std::string(handler->name());
  }
  if (trace_) needs_ |= FADE_NEEDS_ORDER | FADE_NEEDS_ALLOCATIONS;
  keep_order_ = options.keep_order || (needs_ & FADE_NEEDS_ORDER) != 0;
  start(std::max(1u, options.workers));
}

void Analysis::start(unsigned workers) {
  for (unsigned i = 0; i < workers; ++i) workers_.push_back(std::make_unique<Worker>(kWorkerQueue));
  std::size_t running = 0;
  try {
    for (; running < workers; ++running)
      workers_[running]->thread = startThreadWithOwnHeap(
          "fade-worker", [this, running] { work(static_cast<unsigned>(running)); });
  } catch (const std::exception &e) {
    if (running == 0) throw;
    warn("{} instead of {} threads run the analyzers: {}", running, workers, e.what());
    workers_.resize(running); // the threads have an index each, and these stay
  }
  try {
    reporter_ = startThreadWithOwnHeap("fade-report", [this] { reportLoop(); });
  } catch (...) {
    stopping_.store(true, std::memory_order_release);
    for (auto &worker : workers_) {
      worker->ready.release();
      worker->thread.join();
    }
    throw;
  }
  try {
    const std::lock_guard lock(threads_mutex_);
    standby_ = startThreadWithOwnHeap("fade-standby", [this] { standBy(); });
    has_standby_.store(true, std::memory_order_release);
  } catch (const std::exception &) { // then a thread in which a handler crashed goes on itself
  }
}

Analysis::~Analysis() { close(std::chrono::hours(1)); }

void Analysis::begin(DispatchRecord &dispatch) {
  if ((dispatch.view.flags & FADE_DISPATCH_INSTRUMENTED) == 0) return;
  kernels_.insert(dispatch.kernel);
  dispatch.shards.assign(workers_.size() * handlers_.size(), nullptr);
  dispatch.own_shards.assign(workers_.size(), nullptr);
  if (needs_ & FADE_NEEDS_WAVES) dispatch.waves = std::make_unique<WaveTable>();
  if (trace_) trace_->dispatchBegin(dispatch);
}

void Analysis::announce(DispatchRecord &dispatch, const fade_wave_begin &wave) {
  if (!dispatch.has_waves) {
    dispatch.has_waves = true;
    dispatch.shared_base = wave.shared_base;
    dispatch.private_base = wave.private_base;
    dispatch.wave_size = (wave.header.encoding & FADE_WAVE_IS_WAVE32) != 0 ? 32 : 64;
    // The ids of its sites would mean something else: none of its records can be understood.
    const ModuleSites *sites = dispatch.kernel->sites();
    if ((!sites || sites->table.moduleId() != wave.module) && !dispatch.damaged.exchange(true))
      warn("the records of {} belong to another site table ({:#x}) and are ignored",
           dispatch.kernel->name(), wave.module);
  }
  if (dispatch.waves) dispatch.waves->add(wave, dispatch.batches);
}

Analysis::Traffic Analysis::traffic() const {
  return {dispatches_.load(std::memory_order_relaxed), records_.load(std::memory_order_relaxed),
          bytes_.load(std::memory_order_relaxed)};
}

bool Analysis::submit(StreamBatch &batch) {
  DispatchRecord &dispatch = *batch.dispatch;
  const auto count = static_cast<unsigned>(workers_.size());
  // In order: one worker does all of a dispatch. Else: whoever is next and has room.
  const unsigned first =
      keep_order_ ? static_cast<unsigned>(dispatch.view.id % count) : next_worker_;
  const unsigned choices = keep_order_ ? 1 : count;
  for (unsigned i = 0; i < choices; ++i) {
    Worker &worker = *workers_[(first + i) % count];
    batch.done.store(false, std::memory_order_relaxed);
    batch.number = dispatch.batches;
    batch.shared_base = dispatch.shared_base;
    batch.private_base = dispatch.private_base;
    batch.wave_size = dispatch.wave_size;
    if (!worker.queue.push(&batch)) continue;
    ++dispatch.batches;
    worker.ready.release();
    next_worker_ = (first + i + 1) % count;
    return true;
  }
  return false;
}

bool Analysis::end(std::unique_ptr<DispatchRecord> &dispatch) {
  if (!ended_.push(dispatch.get())) {
    announceEnded();
    return false;
  }
  (void)dispatch.release(); // the reporter owns it now
  ++ended_unannounced_;
  return true;
}

void Analysis::announceEnded() {
  if (const unsigned count = std::exchange(ended_unannounced_, 0)) ended_ready_.release(count);
}

void Analysis::work(unsigned index) {
  Worker &worker = *workers_[index];
  if (worker.batch) endBatch(worker, index); // of the thread whose place this one takes
  while (true) {
    worker.ready.acquire();
    if (worker.queue.pop(worker.batch)) {
      beginBatch(worker, index);
      endBatch(worker, index);
    } else if (stopping_.load(std::memory_order_acquire)) {
      left_.release();
      return;
    }
  }
}

void Analysis::beginBatch(Worker &worker, unsigned index) noexcept {
  StreamBatch &batch = *worker.batch;
  DispatchRecord &dispatch = *batch.dispatch;
  uint64_t records = 0;
  const std::size_t size = check(batch, records, index);
  worker.turn = 0;
  worker.view = {};
  worker.view.byte_count = size;
  if (size == 0) return;
  dispatch.records.fetch_add(records, std::memory_order_relaxed);
  dispatch.bytes.fetch_add(size, std::memory_order_relaxed);
  records_.fetch_add(records, std::memory_order_relaxed);
  bytes_.fetch_add(size, std::memory_order_relaxed);
  fade_batch &view = worker.view;
  view.size = sizeof view;
  view.shared_base = batch.shared_base;
  view.private_base = batch.private_base;
  view.wave_size = batch.wave_size;
  view.dispatch = &dispatch.view;
  view.bytes = batch.bytes;
  view.record_count = records;
  view.position = batch.position;
  view.waves = dispatch.waves.get();
  view.find_wave = findWave;
  try {
    if (trace_) trace_->records(dispatch, batch.position, {batch.bytes, size});
  } catch (...) {
    warn("{} bytes of records of {} are missing in the recording: {}", size,
         dispatch.kernel->name(), whatWasThrown());
  }
}

void Analysis::endBatch(Worker &worker, unsigned index) noexcept {
  if (worker.view.byte_count != 0) runHandlers(worker, index);
  StreamBatch &batch = *std::exchange(worker.batch, nullptr);
  if (batch.clear) std::memset(batch.bytes, 0, batch.size);
  batch.done.store(true, std::memory_order_release);
}

/// How much of the batch is good. Handlers need not doubt a record after this.
std::size_t Analysis::check(StreamBatch &batch, uint64_t &records, unsigned worker) noexcept {
  DispatchRecord &dispatch = *batch.dispatch;
  if (dispatch.damaged.load(std::memory_order_relaxed)) return 0;
  const uint32_t site_count = dispatch.kernel->siteCount();
  RecordCursor cursor({batch.bytes, batch.size});
  Record record;
  const char *fault = nullptr;
  std::size_t good = 0;
  bool has_summaries = false, has_sums = false;
  LastRecords::Scan *const scan = dispatch.last ? &workers_[worker]->scan : nullptr;
  while (true) {
    const auto status = cursor.next(record);
    if (status == RecordCursor::Status::end) break;
    if (status != RecordCursor::Status::record) {
      fault = status == RecordCursor::Status::malformed ? cursor.fault() : "an unpublished record";
      break;
    }
    if (record.hasSite() && record.site() >= site_count) {
      fault = "a site that does not exist";
      break;
    }
    has_summaries |= record.isSummary() || record.isSums();
    has_sums |= record.isSums();
    if (scan) scan->see(record, good);
    good = cursor.offset();
    ++records;
  }
  if (scan) dispatch.last->add(*scan, {batch.bytes, good}, batch.position);
  if (has_summaries && !unfed_.empty() && !said_unfed_.exchange(true))
    warn("sums of accesses, and blocks, are missing in the report of {}: this is a recording of "
         "summaries; record with --stream to have all of them",
         unfed_);
  if (has_sums && !without_sums_.empty() && !said_without_sums_.exchange(true))
    warn("sums of irregular accesses are missing in the report of {}: this is a recording of "
         "summaries; record with --stream to have all of them",
         without_sums_);
  if (fault && !dispatch.damaged.exchange(true))
    warn("the records of {} are damaged at byte {} ({}); the rest of dispatch {} is ignored",
         dispatch.kernel->name(), batch.position + good, fault, dispatch.view.id);
  return good;
}

void Analysis::runHandlers(Worker &worker, unsigned index) noexcept {
  DispatchRecord &dispatch = *worker.batch->dispatch;
  if (dispatch.shards.empty()) return; // it was not begun as an instrumented one
  for (; worker.turn < handlers_.size(); ++worker.turn) {
    LoadedHandler &handler = *handlers_[worker.turn];
    worker.inside.store(&handler, std::memory_order_relaxed);
    LoadedHandler::Crash crash;
    void *&shard = dispatch.shards[index * handlers_.size() + worker.turn];
    if (!shard) shard = handler.shard(dispatch.view, crash);
    if (shard && !crash) handler.records(shard, worker.view, crash);
    worker.inside.store(nullptr, std::memory_order_relaxed);
    if (!crash) continue;
    dispatch.is_kept.store(true, std::memory_order_relaxed);
    handOver(worker.crash, handler, crash);
  }
}

// ---- after crashes

/// Does not return if another thread goes on in place of this one, in which a handler has crashed.
void Analysis::handOver(PendingCrash &pending, LoadedHandler &handler,
                        const LoadedHandler::Crash &what) noexcept {
  has_crashed_.store(true, std::memory_order_relaxed);
  pending.handler = &handler;
  pending.what = what;
  pending.heap_probe.store(heapOfThread().probe, std::memory_order_relaxed);
  pending.is_pending.store(true, std::memory_order_release);
  crashed_.release();
  while (pending.is_pending.load(std::memory_order_acquire)) {
    if (!has_standby_.load(std::memory_order_acquire) &&
        pending.is_pending.exchange(false, std::memory_order_acq_rel)) {
      handler.say(what);
      return;
    }
    const timespec moment{0, 1'000'000};
    nanosleep(&moment, nullptr);
  }
  const auto deadline = std::chrono::steady_clock::now() + kHeapPatience;
  while (pending.heap_probe.load(std::memory_order_acquire)) {
    if (std::chrono::steady_clock::now() > deadline) endWithLockedHeap(handler, what);
    const timespec moment{0, 1'000'000};
    nanosleep(&moment, nullptr);
  }
  if (const int *lock = heapOfThread().lock) {
    blockSignals();
    watchHeapLock(lock, is_stuck_);
    endWithLockedHeap(handler, what);
  }
  giveUpThread();
}

void Analysis::standBy() {
  PendingCrash *pending = nullptr;
  unsigned index = 0;
  const auto take = [&](PendingCrash &crash) {
    if (crash.is_pending.exchange(false, std::memory_order_acq_rel)) pending = &crash;
    return pending != nullptr;
  };
  while (!pending) {
    crashed_.acquire();
    std::unique_lock lock(threads_mutex_);
    if (is_closing_) {
      lock.unlock();
      left_.release();
      return;
    }
    while (index < workers_.size() && !take(workers_[index]->crash)) ++index;
    if (!pending && !take(reporter_crash_)) { // its thread could not wait
      index = 0;
      continue;
    }
    std::thread &place = index < workers_.size() ? workers_[index]->thread : reporter_;
    if (place.joinable()) place.detach();
    place = std::move(standby_);
    // If the heap is locked that the application has, too, this does not return, and the thread
    // that crashed ends the process.
    std::free(pending->heap_probe.load(std::memory_order_relaxed));
    pending->heap_probe.store(nullptr, std::memory_order_release);
    try {
      standby_ = startThreadWithOwnHeap("fade-standby", [this] { standBy(); });
    } catch (const std::exception &) {
      has_standby_.store(false, std::memory_order_release);
    }
  }
  const bool is_worker = index < workers_.size();
  pthread_setname_np(pthread_self(), is_worker ? "fade-worker" : "fade-report");
  pending->handler->say(pending->what);
  if (is_worker) {
    ++workers_[index]->turn;
    work(index);
  } else {
    ++turn_;
    is_ending_kept_ = ending_ != nullptr;
    reportLoop();
  }
}

// ---- the reporter

void Analysis::reportLoop() {
  bool idle = false;
  while (true) {
    if (ending_) {
      if (!endDispatch()) return; // another thread does the rest
      continue;
    }
    if (is_reporting_) break;
    // What is ready is written out when nothing more is to be done for a moment.
    if (!ended_ready_.tryAcquireFor(std::chrono::milliseconds(idle ? 1'000'000 : 200))) {
      output_.flush();
      idle = true;
      continue;
    }
    idle = false;
    DispatchRecord *next = nullptr;
    if (ended_.pop(next))
      beginEnd(std::unique_ptr<DispatchRecord>(next));
    else if (stopping_.load(std::memory_order_acquire))
      is_reporting_ = true;
  }
  if (reportAll()) finished_.release();
}

/// Calls a handler whose turn it is. False if it took so long that this thread was left behind:
/// then nothing here belongs to it any more.
template <typename F> bool Analysis::inTurn(const char *what, F &&f) {
  LoadedHandler &handler = *handlers_[turn_ % handlers_.size()];
  uint64_t mine = ++turns_;
  inside_what_.store(what, std::memory_order_relaxed);
  inside_.store(mine, std::memory_order_release);
  LoadedHandler::Crash crash;
  f(handler, crash);
  const bool is_mine = inside_.compare_exchange_strong(mine, 0, std::memory_order_acq_rel);
  if (crash && !is_mine) giveUpThread();
  if (crash) handOver(reporter_crash_, handler, crash);
  return is_mine;
}

void Analysis::beginEnd(std::unique_ptr<DispatchRecord> dispatch) noexcept {
  dispatches_.fetch_add(1, std::memory_order_relaxed);
  dispatch->view.records = dispatch->records.load(std::memory_order_relaxed);
  dispatch->view.bytes = dispatch->bytes.load(std::memory_order_relaxed);
  ending_ = std::move(dispatch);
  try {
    if (trace_) trace_->dispatchEnd(*ending_);
  } catch (...) {
    warn("the end of dispatch {} of {} is missing in the recording: {}", ending_->view.id,
         ending_->kernel->name(), whatWasThrown());
  }
}

bool Analysis::endDispatch() noexcept {
  for (; turn_ < handlers_.size(); ++turn_)
    if (!inTurn("dispatch_end", [&](LoadedHandler &handler, LoadedHandler::Crash &crash) {
          endIn(handler, *ending_, crash);
        }))
      return false;
  try {
    log_.dispatch(*ending_);
  } catch (...) {
    warn("dispatch {} of {} is missing in the report: {}", ending_->view.id,
         ending_->kernel->name(), whatWasThrown());
  }
  if (std::exchange(is_ending_kept_, false) || ending_->is_kept.load(std::memory_order_relaxed))
    (void)ending_.release();
  else
    ending_.reset();
  turn_ = 0;
  return true;
}

void Analysis::endIn(LoadedHandler &handler, DispatchRecord &dispatch,
                     LoadedHandler::Crash &crash) noexcept {
  std::size_t count = 0;
  for (std::size_t at = turn_; at < dispatch.shards.size(); at += handlers_.size())
    if (void *shard = dispatch.shards[at]) dispatch.own_shards[count++] = shard;
  const std::span<void *const> shards = std::span(dispatch.own_shards).first(count);
  const bool instrumented = (dispatch.view.flags & FADE_DISPATCH_INSTRUMENTED) != 0;
  if (instrumented || (handler.needs() & FADE_NEEDS_TIMES) != 0)
    handler.dispatchEnd(dispatch.view, shards, crash);
  if (dispatch.is_kept.load(std::memory_order_relaxed)) return;
  for (void *shard : shards)
    if (!crash) handler.shardFree(shard, crash);
}

bool Analysis::reportAll() noexcept {
  const std::size_t count = handlers_.size();
  for (; turn_ < count; ++turn_)
    if (!inTurn("report", [&](LoadedHandler &handler, LoadedHandler::Crash &crash) {
          handler.report(crash);
        }))
      return false;
  if (!std::exchange(is_written_, true)) {
    try {
      log_.report();
    } catch (...) {
      warn("the summary is missing: {}", whatWasThrown());
    }
    output_.flush();
    if (trace_) trace_->close();
  }
  // Here rather than where the analysis ends: that is the application's thread. After a crash
  // memory may be where nobody can free it, and it goes with the process.
  if (has_crashed_.load(std::memory_order_relaxed))
    for (const auto &handler : handlers_) handler->leaveOut();
  for (; turn_ < 2 * count && !gave_up_; ++turn_)
    if (!inTurn("destroy", [&](LoadedHandler &handler, LoadedHandler::Crash &crash) {
          handler.destroy(crash);
        }))
      return false;
  return true;
}

bool Analysis::passByStuckHandler() {
  const std::lock_guard lock(threads_mutex_);
  if (!reporter_.joinable()) return false;
  const auto now = std::chrono::steady_clock::now();
  uint64_t call = inside_.load(std::memory_order_acquire);
  if (call == 0 || call != seen_inside_) {
    seen_inside_ = call;
    seen_since_ = now;
    return true;
  }
  if (now - seen_since_ < call_patience_ || !inside_.compare_exchange_strong(call, 0)) return true;
  // The thread has lost its turn; whatever comes of the call, it ends there.
  LoadedHandler &handler = *handlers_[turn_ % handlers_.size()];
  handler.leaveOut();
  warn("handler {} does not return from {}; the report continues without it", handler.name(),
       inside_what_.load(std::memory_order_relaxed));
  reporter_.detach();
  is_ending_kept_ = ending_ != nullptr;
  ++turn_;
  try {
    reporter_ = startThreadWithOwnHeap("fade-report", [this] { reportLoop(); });
  } catch (const std::exception &e) {
    warn("cannot start a thread for the report: {}", e.what());
    return false;
  }
  return true;
}

void Analysis::giveUpWorkers() {
  if (std::exchange(gave_up_, true)) return;
  const LoadedHandler *stuck = nullptr;
  for (const auto &worker : workers_)
    if (const auto *handler = worker->inside.load(std::memory_order_relaxed)) stuck = handler;
  warn("{}{} does not return from processing records; the report continues without them",
       stuck ? "handler " : "an analyzer", stuck ? stuck->name() : "");
}

void Analysis::leaveThreads() {
  const std::lock_guard lock(threads_mutex_);
  const auto leave = [](std::thread &thread) {
    if (thread.joinable()) thread.detach();
  };
  for (auto &worker : workers_) leave(worker->thread);
  leave(reporter_);
  leave(standby_);
}

bool Analysis::close(std::chrono::milliseconds patience) {
  if (closed_) return true;
  closed_ = true;
  announceEnded();
  const auto deadline = std::chrono::steady_clock::now() + patience;
  stopping_.store(true, std::memory_order_release);
  for (auto &worker : workers_) worker->ready.release();
  ended_ready_.release();
  const auto look =
      std::clamp<std::chrono::milliseconds>(call_patience_ / 8, kShortestLook, kLongestLook);
  while (!finished_.tryAcquireFor(look)) {
    if (passByStuckHandler() && !isStuck() && std::chrono::steady_clock::now() < deadline) continue;
    leaveThreads();
    return false;
  }
  {
    const std::lock_guard lock(threads_mutex_);
    is_closing_ = true;
  }
  crashed_.release();
  // After a crash a thread may not come to its end: the C library frees what it keeps for it, and
  // that may come from the part of the heap that is locked. It says when nothing here is its own
  // any more; the reporter has said that it has finished.
  if (has_crashed_.load(std::memory_order_relaxed)) {
    std::size_t users = (standby_.joinable() ? 1 : 0) + (gave_up_ ? 0 : workers_.size());
    while (users != 0 && !isStuck() && std::chrono::steady_clock::now() < deadline)
      if (left_.tryAcquireFor(look)) --users;
    leaveThreads();
    return users == 0;
  }
  if (standby_.joinable()) standby_.join();
  for (auto &worker : workers_) {
    if (gave_up_)
      worker->thread.detach();
    else
      worker->thread.join();
  }
  reporter_.join();
  return true;
}

} // namespace fade
