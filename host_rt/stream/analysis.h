// From pieces of stream to results: workers decode batches and run handlers on them, a reporter
// ends dispatches and writes.
//
//   feeding thread --- batches (one queue per worker) ---> workers: handlers' shards
//         |
//         +----------- ended dispatches ------------------> reporter: dispatch_end, report, output
//
// Everything is fed by one thread: the collector in a live run, the trace reader in a replay, a
// test. The queues are bounded; a feeder that finds them full keeps its data where it is, and so
// the GPU in the end waits for the analysis instead of memory growing.
#pragma once

#include "base/semaphore.h"
#include "stream/dispatch_log.h"
#include "stream/dispatch_record.h"
#include "stream/handler_set.h"
#include "stream/output.h"

#include <boost/lockfree/spsc_queue.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <vector>

namespace fade {

class TraceWriter;

/// A contiguous piece of the stream of one dispatch: whole records. The feeder owns it, and keeps
/// the bytes in place until `done`.
struct StreamBatch {
  DispatchRecord *dispatch = nullptr;
  std::byte *bytes = nullptr;
  std::size_t size = 0;
  uint64_t position = 0; ///< in the dispatch's stream
  uint64_t number = 0;   ///< in the dispatch
  bool clear = false;    ///< set the bytes to zero afterwards, as a ring needs it
  /// What waves have said up to here; filled in when it is submitted.
  uint32_t shared_base = 0, private_base = 0, wave_size = 0;
  std::atomic<bool> done{false};
};

struct AnalysisOptions {
  unsigned workers = 1;
  bool keep_order = false; ///< even if no handler asks for it
  /// How long a handler may take for the end of a dispatch, or for its report, when nobody can wait
  /// for it any longer. Less than a signal handler waits for the report.
  std::chrono::milliseconds call_patience{20'000};
};

class Analysis {
public:
  /// Works with fewer threads if there are not as many to be had; throws if there are none.
  Analysis(const AnalysisOptions &options, Handlers handlers, Output &output, TraceWriter *trace);
  ~Analysis();
  Analysis(const Analysis &) = delete;
  Analysis &operator=(const Analysis &) = delete;

  uint32_t needs() const { return needs_; }
  /// Whether a handler needs records of blocks, and not only their counts.
  bool needsBlockRecords() const { return needs_block_records_; }
  /// Whether there are handlers, and all of them can do with what kernels have added up.
  bool takesSummaries() const { return takes_summaries_; }
  /// And with sums of irregular accesses.
  bool takesSums() const { return takes_sums_; }
  /// Bytes of the pages that they want to be told apart then; 0: none.
  uint32_t summaryPage() const { return page_shift_ < kNoPages ? 1u << page_shift_ : 0; }

  /// What has been worked on so far. Any thread.
  struct Traffic {
    uint64_t dispatches = 0, records = 0, bytes = 0;
  };
  Traffic traffic() const;
  DispatchLog &log() { return log_; }

  // The feeding thread:

  /// Prepares a dispatch whose view is filled in as far as it is known.
  void begin(DispatchRecord &dispatch);
  /// Notes the announcements of waves in a piece that is about to be submitted.
  static void announce(DispatchRecord &dispatch, const fade_wave_begin &wave);
  /// False if the queues are full; then try again later.
  bool submit(StreamBatch &batch);
  /// All batches are done and the view is complete. False if the queue is full.
  bool end(std::unique_ptr<DispatchRecord> &dispatch);
  /// Tells the reporter of what has ended. Once for many: waking a thread costs more than all the
  /// rest that is done for a dispatch.
  void announceEnded();

  /// At the end of the process: nobody waits any longer for workers that are busy with a handler.
  void giveUpWorkers();
  bool hasGivenUp() const { return gave_up_; }
  /// Whether a thread waits for a lock that one in which a handler crashed has, and always will.
  bool isStuck() const { return is_stuck_.load(std::memory_order_relaxed); }
  /// At the end of the process, now and then: a handler that has been in the same call for longer
  /// than call_patience is left out from here on, and another thread goes on with the report.
  /// False if there is none.
  bool passByStuckHandler();

  /// No more will come: finishes, lets handlers report and writes everything out. False if that
  /// took longer than allowed; the threads are then left behind.
  bool close(std::chrono::milliseconds patience);

private:
  /// A handler has crashed in a thread, which waits for another one to take its place.
  struct PendingCrash {
    LoadedHandler *handler = nullptr;
    LoadedHandler::Crash what;
    std::atomic<bool> is_pending{false};
    /// Of the heap of a thread that shares it; null after free() of it has returned.
    std::atomic<void *> heap_probe{nullptr};
  };
  struct Worker {
    explicit Worker(std::size_t capacity) : queue(capacity) {}
    boost::lockfree::spsc_queue<StreamBatch *> queue;
    Semaphore ready;
    std::atomic<const LoadedHandler *> inside{nullptr}; ///< the handler that has the thread
    LastRecords::Scan scan;                             ///< of the batch that the worker has
    std::thread thread;
    // What the thread is doing, such that another one can go on with it.
    StreamBatch *batch = nullptr;
    fade_batch view{};    ///< of the batch; byte_count is 0 if nothing in it is good
    std::size_t turn = 0; ///< the handler that gets it
    PendingCrash crash;
  };

  void start(unsigned workers);
  void work(unsigned index);
  void beginBatch(Worker &worker, unsigned index) noexcept;
  void endBatch(Worker &worker, unsigned index) noexcept;
  std::size_t check(StreamBatch &batch, uint64_t &records, unsigned worker) noexcept;
  void runHandlers(Worker &worker, unsigned index) noexcept;
  void standBy();
  void handOver(PendingCrash &pending, LoadedHandler &handler,
                const LoadedHandler::Crash &what) noexcept;
  void leaveThreads();
  void reportLoop();
  void beginEnd(std::unique_ptr<DispatchRecord> dispatch) noexcept;
  bool endDispatch() noexcept;
  void endIn(LoadedHandler &handler, DispatchRecord &dispatch,
             LoadedHandler::Crash &crash) noexcept;
  bool reportAll() noexcept;
  template <typename F> bool inTurn(const char *what, F &&f);

  Handlers handlers_;
  Output &output_;
  TraceWriter *trace_;
  DispatchLog log_;
  uint32_t needs_ = 0;
  bool needs_block_records_ = false;
  bool takes_summaries_ = false, takes_sums_ = false;
  static constexpr uint32_t kNoPages = 32;
  uint32_t page_shift_ = kNoPages;
  std::string unfed_;        ///< handlers that need every access, for people
  std::string without_sums_; ///< handlers that take summaries, but not those of irregular accesses
  std::atomic<bool> said_unfed_{false}, said_without_sums_{false};
  bool keep_order_ = false;
  std::set<std::shared_ptr<const KernelInfo>> kernels_; ///< for FADE_HOST_SHARES_SITES
  std::vector<std::unique_ptr<Worker>> workers_;
  unsigned next_worker_ = 0;

  boost::lockfree::spsc_queue<DispatchRecord *> ended_;
  Semaphore ended_ready_;
  unsigned ended_unannounced_ = 0;
  std::thread reporter_;
  // What the reporter is doing, such that another thread can go on with it.
  std::unique_ptr<DispatchRecord> ending_;
  std::size_t turn_ = 0;        ///< the handler that hears of it, reports, and then is destroyed
  bool is_reporting_ = false;   ///< all dispatches have ended
  bool is_written_ = false;     ///< the report
  bool is_ending_kept_ = false; ///< a thread that was left behind may still look at ending_
  uint64_t turns_ = 0;          ///< numbers calls of handlers
  std::atomic<uint64_t> inside_{0}; ///< the call that the reporter is in; 0: none
  std::atomic<const char *> inside_what_{""};
  PendingCrash reporter_crash_;
  // The thread that takes the place of one in which a handler crashed: that one may hold locks of
  // the allocator, and cannot start a thread itself. Then there is a new one.
  std::thread standby_;
  std::atomic<bool> has_standby_{false}, has_crashed_{false};
  std::atomic<bool> is_stuck_{false};
  Semaphore crashed_;
  Semaphore left_; ///< workers and the thread that stands by, when nothing here is theirs any more
  std::mutex threads_mutex_; ///< of the std::threads, once all are started
  bool is_closing_ = false;  ///< nobody takes another's place any more
  // What passByStuckHandler has seen.
  uint64_t seen_inside_ = 0;
  std::chrono::steady_clock::time_point seen_since_{};
  const std::chrono::milliseconds call_patience_;
  std::atomic<bool> stopping_{false};
  Semaphore finished_;
  bool closed_ = false;
  bool gave_up_ = false;
  std::atomic<uint64_t> dispatches_{0}, records_{0}, bytes_{0}; ///< of traffic()
};

} // namespace fade
