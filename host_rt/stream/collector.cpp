#include "stream/collector.h"

#include "base/diagnostics.h"
#include "base/quiet_thread.h"
#include "fade/block_counts.h"
#include "fade/decode.h"

#include <algorithm>

namespace fade {
namespace {

using Clock = std::chrono::steady_clock;

// Small enough that several workers share the work of one ring, large enough that handing over
// costs nothing.
constexpr std::size_t kLargestPiece = 128 << 10;
constexpr auto kShortestNap = std::chrono::microseconds(10);
constexpr auto kLongestNap = std::chrono::microseconds(300);
// While nothing streams nobody waits for the collector, and each nap costs more than a dispatch.
constexpr auto kTimedNap = kLongestNap;
// A kernel that may run soon is asked for records as often as the collector wakes up. Behind so
// many others it is probably still in its queue, and the copy engine has other things to do.
constexpr unsigned kLikelyToRun = 8;
constexpr auto kUnlikelyPause = std::chrono::microseconds(5000);
constexpr uint64_t kUnlikelySteps = 8; // however long a step takes
// The longest time between two looks that counts as silence: longer than that the process was
// stopped, and the copy engine of a software GPU with it.
constexpr auto kLongestGap = std::chrono::milliseconds(50);
// How long a record may stay unpublished after its kernel has ended.
constexpr auto kGrace = std::chrono::milliseconds(200);
// How long the control blocks of kernels that have not ended may take to arrive at the very end.
constexpr auto kLastLook = std::chrono::milliseconds(200);
// How long nobody may take what has ended, beyond what single handlers may take.
constexpr auto kDeaf = std::chrono::minutes(1);
// How long what is with analyzers may take when one of their threads waits for a lock that nobody
// releases any more: others may still be at work.
constexpr auto kLocked = std::chrono::milliseconds(1000);
// What was written, and how much was reserved, are asked in turn, and only both together say what
// is whole. The first answer may be of a question from before; if that was of what was written, the
// second fits to nothing, and the third and fourth say it.
constexpr uint64_t kAnswersToSettle = 4;
constexpr std::string_view kNothingToCopy = "; FADE_TRANSPORT=host needs no copies";

/// The GPU may still write to the ring and the signal of this one: it lives as long as the process.
void abandon(std::unique_ptr<LiveDispatch> live) noexcept {
  static std::atomic<LiveDispatch *> abandoned{nullptr}; // where leak checkers find them
  if (!live) return;
  live->next_abandoned = abandoned.load(std::memory_order_relaxed);
  while (!abandoned.compare_exchange_weak(live->next_abandoned, live.get())) {
  }
  (void)live.release();
}

} // namespace

Collector::Collector(Analysis &analysis, Patience patience)
    : analysis_(analysis), patience_(patience),
      thread_(startQuietThread("fade-collect", [this] { run(); })) {}

Collector::~Collector() { stop(std::chrono::milliseconds(0)); }

void Collector::add(std::unique_ptr<LiveDispatch> dispatch) {
  // Its place is made here: the thread that drains must not need memory for it.
  auto place = std::make_unique<Place>();
  place->one.emplace_back().live = std::move(dispatch);
  in_flight_.fetch_add(1, std::memory_order_relaxed);
  try {
    inbox_.push(place.get());
  } catch (...) {
    in_flight_.fetch_sub(1, std::memory_order_relaxed);
    throw;
  }
  (void)place.release(); // it may be gone already
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // A nap is over soon; waking a thread for each dispatch would cost more than the dispatch.
  if (asleep_.load(std::memory_order_relaxed) && asleep_.exchange(false)) wake_.release();
}

void Collector::stop(std::chrono::milliseconds patience, std::chrono::milliseconds limit) {
  if (!thread_.joinable()) return;
  last_patience_ = patience;
  deadline_ = Clock::now() + limit;
  stopping_.store(true, std::memory_order_release);
  wake_.release();
  thread_.join();
}

void Collector::settle(std::chrono::milliseconds patience) {
  const Time deadline = Clock::now() + patience;
  const uint64_t mine = settle_wanted_.fetch_add(1) + 1;
  asleep_.store(false);
  wake_.release();
  while (settled_.load(std::memory_order_acquire) < mine && Clock::now() < deadline)
    std::this_thread::sleep_for(kLongestNap);
}

/// In a step in which nothing has happened: whether nothing is under way either.
bool Collector::isSettled(uint64_t wanted) {
  bool is_settled = true;
  for (Streaming &s : streaming_) {
    const Ring *ring = s.live ? s.live->ring : nullptr;
    if (!ring || ring->drain.isCorrupt()) continue;
    if (!ring->batches.empty()) return false;
    if (!ring->segments) continue;
    // What the copy engine is asked from now on it answers with what was written by now.
    if (std::exchange(s.settles, wanted) != wanted)
      s.settles_after = ring->segments->answers() + kAnswersToSettle;
    is_settled &= ring->segments->answers() >= s.settles_after && !ring->segments->isCopying();
  }
  return is_settled;
}

void Collector::run() {
  auto nap = kShortestNap;
  auto last_progress = Clock::now();
  while (true) {
    const uint64_t wanted = settle_wanted_.load(std::memory_order_acquire);
    if (step()) {
      nap = kShortestNap;
      last_progress = Clock::now();
      // A kernel without end makes progress for ever.
      const bool stopping = stopping_.load(std::memory_order_acquire);
      if (stopping && last_progress >= deadline_) return giveUp();
      if (!streaming_.empty() || stopping) continue;
      nap = kTimedNap;
    } else if (settled_.load(std::memory_order_relaxed) < wanted && isSettled(wanted)) {
      settled_.store(wanted, std::memory_order_release);
    }
    const bool idle = in_flight_.load(std::memory_order_relaxed) == 0;
    if (stopping_.load(std::memory_order_acquire)) {
      if (idle && streaming_.empty()) return;
      const auto patience =
          analysis_.isStuck() ? std::min(last_patience_, kLocked) : last_patience_;
      if (Clock::now() - last_progress >= patience || Clock::now() >= deadline_) return giveUp();
    }
    // Whoever wants to know that all is settled has woken this thread once, maybe for a step in
    // which something happened.
    const bool is_asked = settled_.load(std::memory_order_relaxed) < settle_wanted_.load();
    const bool deep =
        idle && streaming_.empty() && !is_asked && !stopping_.load(std::memory_order_acquire);
    asleep_.store(deep);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!deep)
      (void)wake_.tryAcquireFor(nap);
    else if (inbox_.empty())
      wake_.acquire();
    asleep_.store(false);
    nap = std::min<std::chrono::microseconds>(nap * 2, kLongestNap);
  }
}

/// In a catch block. What there is no memory for is tried again for a while, and then lost; the
/// process is not ours to end. True if it is to be lost.
bool Collector::hasFailedForLong(Failure &failure) noexcept {
  const Time now = Clock::now();
  if (failure.since == Time{}) failure.since = now;
  if (!std::exchange(said_, true)) warn("{}: the report may be incomplete", whatWasThrown());
  return now - failure.since >= patience_.silence;
}

bool Collector::step() noexcept {
  bool progress = takeNew();
  double fill = 0;
  fetched_ = 0;
  ++steps_;
  for (auto at = streaming_.begin(); at != streaming_.end();) {
    try {
      progress |= follow(*at);
      at->failure = {};
    } catch (...) {
      if (hasFailedForLong(at->failure) && !at->is_lost)
        lose(*at, "cannot be kept", "", said_unkept_);
    }
    if (!at->live) {
      at = streaming_.erase(at);
      continue;
    }
    if (at->stage == Stage::running) fill = std::max(fill, at->live->ring->drain.fill());
    ++at;
  }
  ring_fill_.store(fill, std::memory_order_relaxed);
  progress |= followTimes();
  tellApplications();
  analysis_.announceEnded();
  return progress;
}

bool Collector::takeNew() noexcept {
  bool any = false;
  while (true) {
    Place *next = nullptr;
    if (taken_.empty() && inbox_.pop(next)) {
      taken_.splice(taken_.end(), next->one);
      delete next;
    }
    if (taken_.empty()) return any;
    try {
      take();
      taking_ = {};
      any = true;
    } catch (...) {
      if (hasFailedForLong(taking_)) forgo(*taken_.front().live->record);
      return any;
    }
  }
}

void Collector::take() {
  const LiveDispatch &live = *taken_.front().live;
  if (live.ring) {
    analysis_.begin(*live.record);
    streaming_.splice(streaming_.end(), taken_);
  } else {
    auto &list = timed_[live.record->view.queue];
    list.splice(list.end(), taken_);
  }
}

/// There is no memory for what the analysis needs of a dispatch: its records are not looked at.
void Collector::forgo(DispatchRecord &record) noexcept {
  record.damaged = true;
  record.view.flags &= ~FADE_DISPATCH_INSTRUMENTED;
  record.view.flags |= FADE_DISPATCH_INCOMPLETE;
}

// Only the oldest of each queue is looked at: that later ones may have ended before it changes
// nothing but the moment at which they are reported.
bool Collector::followTimes() {
  bool any = false;
  for (auto at = timed_.begin(); at != timed_.end();) {
    Dispatches &list = at->second;
    while (!list.empty() && list.front().live->hasEnded()) {
      LiveDispatch &live = *list.front().live;
      if ((live.record->view.flags & FADE_DISPATCH_HAS_TIMES) == 0)
        live.readTimes(live.record->view);
      if (!analysis_.end(live.record)) return any;
      list.pop_front();
      in_flight_.fetch_sub(1, std::memory_order_relaxed);
      any = true;
    }
    // Queues come and go: one without dispatches is not remembered.
    at = list.empty() ? timed_.erase(at) : std::next(at);
  }
  timed_queues_.store(timed_.size(), std::memory_order_relaxed);
  return any;
}

/// The runtime's event thread tells applications that dispatches have ended. HIP 6 waits on that
/// very thread for one to end, in a handler of its own: somebody else must tell it then.
void Collector::tellApplications() noexcept {
  constexpr auto pause = std::chrono::milliseconds(1);
  constexpr int most = 256; // of a queue; kernels may overtake each other, but not many
  if (const Time now = Clock::now(); now - told_ >= pause)
    told_ = now;
  else
    return;
  for (auto &[queue, list] : timed_) {
    int left = most;
    for (auto at = list.begin(); at != list.end() && left-- > 0; ++at) at->live->tellApplication();
  }
  for (Streaming &each : streaming_)
    if (each.live) each.live->tellApplication();
}

bool Collector::follow(Streaming &s) {
  Ring &ring = *s.live->ring;
  bool progress = freeDone(s);
  switch (s.stage) {
  case Stage::running: {
    // In this order: what was published before the end is found after it.
    const bool ended = s.live->hasEnded();
    if (!ended) progress |= fetch(s);
    progress |= drain(s);
    watchRoom(s);
    if (ended && !progress) {
      s.stage = Stage::fetching;
      s.since = Clock::now();
      progress = true;
    }
    return progress;
  }
  case Stage::fetching:
    if (!ring.fetchControl()) return progress;
    if (std::exchange(s.is_peeking, false)) return true; // that was how it was before the end
    s.stage = Stage::settling;
    checkDamage(s);
    if (ring.segments && !s.is_damaged) ring.segments->finish(ring.control().head);
    return true;
  case Stage::settling:
    progress |= fetch(s);
    progress |= drain(s);
    return finish(s) || progress;
  case Stage::recycling:
    if (!ring.recycle()) return progress;
    s.live->ring = nullptr;
    s.live.reset();
    return true;
  }
  return progress;
}

/// A full ring is one that waves wait for.
void Collector::watchRoom(Streaming &s) {
  const Ring &ring = *s.live->ring;
  if (ring.drain.scanned() == 0 || ring.drain.isCorrupt()) return;
  const uint64_t taken = (ring.segments ? ring.segments->head() : ring.drain.scanned()) -
                         std::min(ring.drain.freed(), ring.drain.scanned());
  s.room.look(Clock::now(), taken + FADE_RECORD_MAX > ring.drain.capacity());
}

/// Brings records of a ring in device memory to where drain() finds them.
bool Collector::fetch(Streaming &s) {
  Ring &ring = *s.live->ring;
  if (!ring.segments || ring.drain.isCorrupt()) return false;
  const bool running = s.stage == Stage::running;
  if (running) ++fetched_;
  Fetching &f = s.fetching;
  const Time now = Clock::now();
  const bool is_unlikely = fetched_ > kLikelyToRun;
  const bool is_early = now < f.next || (is_unlikely && steps_ < f.next_step);
  if (running && is_early && ring.drain.freed() == f.freed) return false;
  f.next_step = steps_ + kUnlikelySteps;
  f.freed = ring.drain.freed();
  ring.segments->setFreed(f.freed);
  const bool any = ring.segments->step();
  ring.drain.setVisible(ring.segments->visible());
  const auto longest = is_unlikely ? kUnlikelyPause : kLongestNap;
  f.pause = any ? std::chrono::microseconds(0)
                : std::clamp<std::chrono::microseconds>(2 * f.pause, kShortestNap, longest);
  f.next = now + f.pause;
  if (ring.segments->failed())
    lose(s, "cannot be copied from device memory", kNothingToCopy, said_lost_);
  else if (running)
    watch(s, patience_.now());
  return any;
}

/// Waves wait for room, and their kernel for them. If the copies that are to make room do not come
/// to an end, for instance because they are done by kernels for which the waves leave no place,
/// this would last for ever.
void Collector::watch(Streaming &s, Time now) {
  const Ring &ring = *s.live->ring;
  Fetching &f = s.fetching;
  const bool is_first = f.last == Time{};
  const auto passed = std::min<std::chrono::nanoseconds>(now - f.last, kLongestGap);
  f.last = now;
  const bool is_full = ring.segments->head() > ring.drain.freed() + ring.drain.capacity();
  const bool answered = ring.segments->answers() != f.answers;
  const bool grew = ring.segments->visible() != f.visible;
  f.answers = ring.segments->answers();
  f.visible = ring.segments->visible();
  const bool is_read = !ring.batches.empty(); // then it is the analyzers that take their time
  if (is_first || grew || is_read || (answered && !is_full)) {
    f.silence = {};
    return;
  }
  f.silence += passed;
  // Others will not have more luck.
  if (f.silence >= (said_lost_ ? patience_.silence / 8 : patience_.silence))
    lose(s, "do not arrive", kNothingToCopy, said_lost_);
}

void Collector::lose(Streaming &s, std::string_view why, std::string_view advice,
                     bool &said) noexcept {
  if (!std::exchange(said, true))
    warn("records of {} {} (dispatch {}): the kernel continues without them{}",
         s.live->record->kernel->name(), why, s.live->record->view.id, advice);
  s.is_lost = s.warned = true;
  s.live->ring->drain.giveUp();
  if (s.live->ring->segments) s.live->ring->segments->giveUp();
}

/// What the control block says is worth nothing if somebody else wrote there.
void Collector::checkDamage(Streaming &s) {
  const std::string damage = s.live->ring->damage();
  if (damage.empty() || std::exchange(s.is_damaged, true)) return;
  DispatchRecord &record = *s.live->record;
  warn("{}; this happened before or while {} ran (dispatch {}): its records are incomplete", damage,
       record.kernel->name(), record.view.id);
  record.view.flags |= FADE_DISPATCH_INCOMPLETE;
  s.warned = true;
  s.live->ring->drain.giveUp();
  if (s.live->ring->segments) s.live->ring->segments->giveUp();
}

bool Collector::drain(Streaming &s) {
  Ring &ring = *s.live->ring;
  DispatchRecord &record = *s.live->record;
  bool any = false;
  // A batch that the workers had no room for comes first.
  if (!ring.batches.empty() && ring.batches.back().dispatch == nullptr) {
    StreamBatch &waiting = ring.batches.back();
    waiting.dispatch = &record;
    if (!analysis_.submit(waiting)) {
      waiting.dispatch = nullptr;
      return false;
    }
    any = true;
  }
  while (!ring.drain.isCorrupt()) {
    // The batch first: what has been scanned must not be lost for want of one.
    StreamBatch &batch = ring.batches.emplace_back();
    RingDrain::Piece piece;
    try {
      piece = ring.drain.next(
          kLargestPiece, [&](const fade_wave_begin &wave) { Analysis::announce(record, wave); });
    } catch (...) {
      ring.batches.pop_back();
      throw;
    }
    if (piece.size == 0) {
      ring.batches.pop_back();
      break;
    }
    any = true;
    batch.dispatch = &record;
    batch.bytes = piece.bytes;
    batch.size = piece.size;
    batch.position = piece.position;
    batch.clear = !ring.segments;
    if (!analysis_.submit(batch)) {
      batch.dispatch = nullptr; // not handed over
      break;
    }
  }
  if (ring.drain.isCorrupt()) {
    if (!std::exchange(s.warned, true)) {
      record.damaged = true;
      warn("the stream of {} is damaged at byte {}; the rest of dispatch {} is ignored",
           record.kernel->name(), ring.drain.scanned(), record.view.id);
    }
    if (s.stage == Stage::running && ring.batches.empty()) letWavesPass(s);
  }
  return any;
}

/// Nobody reads what they write any more, and they must not wait for it. How far they have come is
/// in the control block. If not even that can be had, a gigabyte must do.
void Collector::letWavesPass(Streaming &s) {
  Ring &ring = *s.live->ring;
  ring.drain.letWritersPass(ring.drain.scanned());
  s.is_peeking = !ring.fetchControl();
  if (!s.is_peeking) ring.drain.letWritersPass(ring.control().head);
}

bool Collector::freeDone(Streaming &s) {
  Ring &ring = *s.live->ring;
  bool any = false;
  while (!ring.batches.empty()) {
    StreamBatch &batch = ring.batches.front();
    if (batch.dispatch == nullptr || !batch.done.load(std::memory_order_acquire)) break;
    if (s.live->record && s.live->record->waves)
      s.live->record->waves->retireBefore(batch.number + 1);
    ring.drain.free(batch.size);
    ring.batches.pop_front();
    any = true;
  }
  return any;
}

/// What kernels without a stream have counted is put in order, by site.
void Collector::keepCounters(DispatchRecord &record, std::span<const fade_counter> counters,
                             const fade_control &control) {
  if (!record.kernel->hasNoStream()) return record.setCounters({counters.begin(), counters.end()});
  const SiteTable &table = record.kernel->sites()->table;
  const fade_dispatch &view = record.view;
  const CountedDispatch dispatch{record.kernel->kernelIndex(),
                                 {view.grid[0], view.grid[1], view.grid[2]},
                                 {view.workgroup[0], view.workgroup[1], view.workgroup[2]}};
  record.setCounters(countersBySite(table, counters, dispatch, control));
  record.setClocks(clocksBySite(table, counters));
}

/// What the kernel has added up follows its records. True once it is worked on.
bool Collector::handOverSummaries(Streaming &s) {
  Ring &ring = *s.live->ring;
  if (!s.has_summaries) {
    if (!s.is_lost && !s.is_damaged) s.summaries = ring.summaries();
    RecordCursor cursor(s.summaries);
    Record record;
    while (cursor.next(record) == RecordCursor::Status::record)
      if (record.kind() == FADE_RECORD_WAVE_BEGIN)
        Analysis::announce(*s.live->record, record.waveBegin());
    s.has_summaries = true;
  }
  if (s.summaries.empty()) return true;
  if (!s.summary.dispatch) {
    s.summary.dispatch = s.live->record.get();
    s.summary.bytes = s.summaries.data();
    s.summary.size = s.summaries.size();
    s.summary.position = ring.drain.scanned();
    if (!analysis_.submit(s.summary)) {
      s.summary.dispatch = nullptr;
      return false;
    }
  }
  return s.summary.done.load(std::memory_order_acquire);
}

/// The kernel has ended and the control block is here. True once the analysis has the dispatch.
bool Collector::finish(Streaming &s) {
  Ring &ring = *s.live->ring;
  fade_dispatch &view = s.live->record->view;
  if (!ring.batches.empty()) return false;
  const bool is_over = ring.drain.isCorrupt() || !ring.segments || ring.segments->isComplete();
  if (!is_over) return false;
  if (s.is_lost) view.flags |= FADE_DISPATCH_INCOMPLETE;
  const uint64_t reserved = ring.control().head;
  if (ring.drain.scanned() != reserved && !ring.drain.isCorrupt()) {
    if (Clock::now() - s.since < kGrace) return false;
    if (!std::exchange(s.warned, true))
      warn("{} bytes of records of {} were reserved and never written (dispatch {})",
           reserved - ring.drain.scanned(), s.live->record->kernel->name(), view.id);
    view.flags |= FADE_DISPATCH_INCOMPLETE;
  }
  if (!handOverSummaries(s)) return false;
  if (s.room.isHostBound()) view.flags |= FADE_DISPATCH_HOST_BOUND;
  view.dropped = ring.control().dropped;
  if (!s.is_lost && s.live->record->counters.empty() && !ring.counters().empty())
    keepCounters(*s.live->record, ring.counters(), ring.control());
  if ((view.flags & FADE_DISPATCH_HAS_TIMES) == 0) s.live->readTimes(view);
  if (!analysis_.end(s.live->record)) return false;
  in_flight_.fetch_sub(1, std::memory_order_relaxed);
  s.stage = Stage::recycling;
  return true;
}

/// What has not ended is reported as far as it is known.
void Collector::giveUp() noexcept {
  bool is_heard = true; // somebody takes what is handed over
  const auto hand = [&](std::unique_ptr<DispatchRecord> &record) {
    if (!record) return;
    record->view.flags |= FADE_DISPATCH_INCOMPLETE;
    const Time limit = Clock::now() + kDeaf;
    while (is_heard && !analysis_.end(record)) {
      is_heard = analysis_.passByStuckHandler() && Clock::now() < limit;
      std::this_thread::sleep_for(kLongestNap);
    }
  };
  Time waits_since = Clock::now();
  const auto isDone = [&](const StreamBatch &batch) {
    while (batch.dispatch && !batch.done.load(std::memory_order_acquire)) {
      const auto patience =
          analysis_.isStuck() ? std::min(patience_.stuck, kLocked) : patience_.stuck;
      if (Clock::now() - waits_since >= patience) {
        analysis_.giveUpWorkers();
        return false;
      }
      std::this_thread::sleep_for(kShortestNap);
    }
    if (!analysis_.hasGivenUp()) waits_since = Clock::now();
    return true;
  };
  // A kernel may have died of what the application wrote into its control block.
  const auto look_until = Clock::now() + kLastLook;
  for (Streaming &s : streaming_) {
    if (s.stage == Stage::recycling) continue;
    try {
      drain(s);
      bool fetched = s.stage == Stage::settling;
      while (!fetched && !(fetched = s.live->ring->fetchControl()) && Clock::now() < look_until)
        std::this_thread::sleep_for(kShortestNap);
      if (fetched) checkDamage(s);
    } catch (...) { // the rest of it is missing, and it is incomplete anyway
      (void)hasFailedForLong(s.failure);
    }
    if (std::ranges::all_of(s.live->ring->batches, isDone)) hand(s.live->record);
  }
  for (auto &[queue, list] : timed_)
    for (Streaming &s : list) hand(s.live->record);
  for (Streaming &s : streaming_) abandon(std::move(s.live));
  for (auto &[queue, list] : timed_)
    for (Streaming &s : list) abandon(std::move(s.live));
  for (Streaming &s : taken_) abandon(std::move(s.live));
}

} // namespace fade
