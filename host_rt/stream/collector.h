// Follows dispatches while the GPU works on them: drains their rings, notices their end, and hands
// everything to the analysis. It runs on one thread of its own and knows the GPU only through the
// two interfaces below, so that it can be tested without one.
#pragma once

#include "base/recycled.h"
#include "base/semaphore.h"
#include "stream/analysis.h"
#include "stream/ring_drain.h"
#include "stream/room_watch.h"
#include "stream/segment_reader.h"

#include <boost/lockfree/queue.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <list>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace fade {

/// A ring and its control block, for one dispatch at a time.
class Ring {
public:
  virtual ~Ring() = default;

  RingDrain drain;
  /// Brings the records to where `drain` finds them; null: they are written there.
  SegmentReader *segments = nullptr;
  /// Pieces that workers have, oldest first.
  std::deque<StreamBatch> batches;

  // The control block is in device memory: both take time and are asked again until they say true.
  /// The dispatch has ended: control() and counters() are as the device left them.
  virtual bool fetchControl() noexcept = 0;
  /// Makes the ring ready for another dispatch and gives it back to where it came from. After true
  /// it must not be touched any more.
  virtual bool recycle() noexcept = 0;

  /// After fetchControl(): what was overwritten by somebody who should not, and where, for people;
  /// empty if nothing was.
  virtual std::string damage() const { return {}; }

  virtual const fade_control &control() const noexcept = 0;
  virtual std::span<const fade_counter> counters() const noexcept = 0;
  /// After fetchControl(): records of what the kernel has added up.
  virtual std::vector<std::byte> summaries() const { return {}; }
};

/// A dispatch on the GPU or on its way there.
class LiveDispatch {
public:
  virtual ~LiveDispatch() = default;

  std::unique_ptr<DispatchRecord> record;
  /// Null: only its times are wanted, or the ring was given back. One that is destroyed with a ring
  /// was never passed on to the GPU.
  Ring *ring = nullptr;
  LiveDispatch *next_abandoned = nullptr; ///< the collector's own

  virtual bool hasEnded() noexcept = 0;
  /// If it has ended on the GPU, tells the application so, whoever else should have done that.
  virtual void tellApplication() noexcept {}
  /// Sets start_ns, end_ns and their flag.
  virtual void readTimes(fade_dispatch &view) noexcept = 0;
};

class Collector {
public:
  using Time = std::chrono::steady_clock::time_point;

  /// How long waves may wait for room in a ring in device memory, or a copy of it may take, before
  /// the records are given up. The application must not hang because its records cannot be read.
  struct Patience {
    std::chrono::milliseconds silence{8000};
    Time (*now)() = std::chrono::steady_clock::now; ///< by which the silence is measured
    /// How long analyzers may take for a piece of the stream when the process ends.
    std::chrono::milliseconds stuck{10'000};
  };

  explicit Collector(Analysis &analysis) : Collector(analysis, Patience{}) {}
  Collector(Analysis &analysis, Patience patience);
  ~Collector();
  Collector(const Collector &) = delete;
  Collector &operator=(const Collector &) = delete;

  /// Any thread, before the packet is given to the GPU.
  void add(std::unique_ptr<LiveDispatch> dispatch);
  /// Dispatches that were added and have not been seen to end.
  uint64_t inFlight() const { return in_flight_.load(std::memory_order_relaxed); }
  /// Queues with dispatches that are timed, when they were looked at last.
  std::size_t timedQueues() const { return timed_queues_.load(std::memory_order_relaxed); }
  /// How full the fullest ring is, from 0 to 1.
  double ringFill() const { return ring_fill_.load(std::memory_order_relaxed); }

  /// Waits until everything that kernels have written by now has been worked on, but not longer
  /// than `patience`. Any thread but the collector's and the analyzers'.
  void settle(std::chrono::milliseconds patience);

  /// Waits until everything in flight has ended, as long as something happens at least every
  /// `patience` and not longer than `limit` in all; what has not ended then is handed over as
  /// incomplete. Nothing may be added afterwards.
  void stop(std::chrono::milliseconds patience,
            std::chrono::milliseconds limit = std::chrono::hours(1));

private:
  enum class Stage { running, fetching, settling, recycling };
  /// When a segmented ring was looked at, and what was seen then.
  struct Fetching {
    Time last{}, next{};
    uint64_t next_step = 0; ///< not before this one, if it is unlikely to run
    std::chrono::microseconds pause{0};
    uint64_t visible = 0, answers = 0, freed = 0;
    std::chrono::nanoseconds silence{0};
  };
  /// Since when something fails again and again.
  struct Failure {
    Time since{};
  };
  struct Streaming {
    std::unique_ptr<LiveDispatch> live;
    Stage stage = Stage::running;
    Time since{};
    bool warned = false;
    bool is_lost = false;    ///< records were given up
    bool is_damaged = false; ///< somebody wrote into the control block
    bool is_peeking = false; ///< the control block is being fetched although the kernel runs
    Fetching fetching;
    RoomWatch room; ///< after the first record
    Failure failure;
    uint64_t settles = 0, settles_after = 0; ///< for which request, and after so many answers
    bool has_summaries = false;              ///< they are here, if there are any
    std::vector<std::byte> summaries;
    StreamBatch summary;
  };

  /// Made by the threads that launch, destroyed by the collector's.
  using Dispatches = std::list<Streaming, RecyclingAllocator<Streaming>>;
  struct Place : Recycled<Place> {
    Dispatches one;
  };

  void run();
  bool step() noexcept;
  bool takeNew() noexcept;
  void take();
  static void forgo(DispatchRecord &record) noexcept;
  bool hasFailedForLong(Failure &failure) noexcept;
  bool followTimes();
  void tellApplications() noexcept;
  bool follow(Streaming &s);
  void watchRoom(Streaming &s);
  bool fetch(Streaming &s);
  void watch(Streaming &s, Time now);
  void lose(Streaming &s, std::string_view why, std::string_view advice, bool &said) noexcept;
  void checkDamage(Streaming &s);
  void letWavesPass(Streaming &s);
  bool drain(Streaming &s);
  bool freeDone(Streaming &s);
  static void keepCounters(DispatchRecord &record, std::span<const fade_counter> counters,
                           const fade_control &control);
  bool handOverSummaries(Streaming &s);
  bool finish(Streaming &s);
  void giveUp() noexcept;
  bool isSettled(uint64_t wanted);

  Analysis &analysis_;
  boost::lockfree::queue<Place *> inbox_{1024};
  std::atomic<uint64_t> in_flight_{0};
  std::atomic<std::size_t> timed_queues_{0};
  std::atomic<double> ring_fill_{0};
  /// By queue, in order of submission.
  std::unordered_map<uint64_t, Dispatches> timed_;
  Dispatches streaming_;
  Dispatches taken_; ///< out of the inbox, and not in one of these yet: one at most
  Failure taking_;
  uint64_t steps_ = 0;
  Time told_{};          ///< when applications were told of ends the last time
  unsigned fetched_ = 0; ///< segmented rings that were looked at in this step
  const Patience patience_;

  std::atomic<uint64_t> settle_wanted_{0}, settled_{0}; ///< how often it was asked for, and done
  std::atomic<bool> asleep_{false};                     ///< until it is woken
  Semaphore wake_;
  std::atomic<bool> stopping_{false};
  std::chrono::milliseconds last_patience_{0};
  Time deadline_{};
  bool said_ = false;        ///< that something failed, most likely for want of memory
  bool said_lost_ = false;   ///< that records cannot be copied
  bool said_unkept_ = false; ///< that there is no memory for records
  std::thread thread_;
};

} // namespace fade
