#include "traced_ring.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

namespace fade::silicon {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);
constexpr auto kAskAgain = std::chrono::microseconds(50);
constexpr int kHung = 3; // exit code
constexpr std::size_t kGarbage = 16 << 20;

double seconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

// A piece that is not freed yet.
struct Held {
  explicit Held(const RingDrain::Piece &p) : piece(p) {}
  void clear() {
    std::memset(piece.bytes, 0, piece.size);
    is_clear.store(true, std::memory_order_release);
  }
  RingDrain::Piece piece;
  std::atomic<bool> is_clear{false};
};

// Threads that clear pieces.
class Workers {
public:
  explicit Workers(unsigned count) {
    for (unsigned i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Workers() {
    submit(nullptr);
    for (auto &thread : threads_) thread.join();
  }
  bool areThere() const { return !threads_.empty(); }
  void submit(Held *held) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(held);
    }
    wake_.notify_one();
  }

private:
  void work() {
    while (true) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return !waiting_.empty(); });
      Held *held = waiting_.front();
      if (!held) break; // stays there for the others
      waiting_.pop_front();
      lock.unlock();
      held->clear();
    }
    wake_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Held *> waiting_;
  std::vector<std::thread> threads_;
};

} // namespace

struct TracedRing::Reading {
  Reading(const Reader &how, const Use &what)
      : reader(how), use(what), last_progress(Clock::now() + how.late), workers(how.workers) {}

  const Reader &reader;
  const Use &use;
  DrainTimes times;
  std::deque<Held> held;
  Clock::time_point last_progress, asked; // asked: whether the kernel has ended
  unsigned naps = 0;
  Workers workers;
};

TracedRing::TracedRing(Backend &backend, Transport transport, uint64_t capacity, uint32_t counters)
    : backend_(backend), transport_(transport), capacity_(capacity),
      segment_shift_(SegmentedRing::segmentShift(capacity)),
      control_(backend, Place::device, sizeof(fade_control)),
      data_(backend, transport == Transport::host ? Place::host : Place::device,
            capacity + FADE_RING_SLACK),
      tail_(backend, Place::host, 128), plan_(backend, Place::device, sizeof(emit_plan)),
      region_(backend, Place::device, EMIT_REGION),
      counters_(backend, Place::device, std::max(counters, 1u) * sizeof(fade_counter)) {
  auto *tail = reinterpret_cast<uint64_t *>(tail_.host());
  if (transport == Transport::host) {
    drain_ = RingDrain(data_.host(), capacity, tail);
    return;
  }
  written_ = Buffer(backend, Place::device, FADE_RING_SEGMENTS * sizeof(uint64_t));
  mirror_ = Buffer(backend, Place::host, capacity + FADE_RING_SLACK);
  staging_ = Buffer(backend, Place::host, SegmentedRing::kStagingWords * sizeof(uint64_t));
  // Nothing has to be zero there; what nobody wrote or copied is to be noticed. A large ring is not
  // filled to its end: that would take longer than the check.
  const std::size_t some = std::min(data_.size(), kGarbage);
  backend.fill(data_.device(), 0xfa, some);
  std::memset(mirror_.host(), 0xaf, some);
  engine_ = backend.makeCopyEngine();
  SegmentedRing ring;
  ring.data = data_.device();
  ring.written = written_.device();
  ring.head = control_.device() + offsetof(fade_control, head);
  ring.mirror = mirror_.host();
  ring.staging = reinterpret_cast<uint64_t *>(staging_.host());
  ring.capacity = capacity;
  ring.segment_shift = segment_shift_;
  segments_.emplace(*engine_, ring);
  drain_ = RingDrain(mirror_.host(), capacity, tail);
  drain_.limitToSegments(segment_shift_);
}

TracedRing::TracedRing(Backend &backend, Transport transport, uint64_t capacity,
                       const SiteTable &table)
    : TracedRing(backend, transport, capacity,
                 static_cast<uint32_t>(std::max<uint64_t>(
                     table.sites().size(), CounterCopies::of(counterCount(table)).total()))) {
  if (counterCount(table) != 0) copies_ = CounterCopies::of(counterCount(table));
}

void TracedRing::sumUp(const SiteTable &table, uint32_t kernel, std::array<uint32_t, 3> groups,
                       std::array<uint32_t, 3> workgroup) {
  sums_ = {};
  if ((table.kernels()[kernel].flags & FADE_KERNEL_SUMS) == 0) return;
  SummaryRequest request{.site_count = static_cast<uint32_t>(table.sites().size()),
                         .line = 128,
                         .wave_size = 32,
                         .irregular = FADE_IRREGULAR(7, 5),
                         .grid = {},
                         .workgroup = workgroup};
  for (std::size_t i = 0; i < 3; ++i) request.grid[i] = groups[i] * workgroup[i];
  sums_ = SummaryLayout::of(request);
  tables_ = Buffer(backend_, Place::device, sums_.size());
  summary_ = sums_.header(request, control_.device(), tables_.device(), table.moduleId(), kernel);
}

std::vector<std::byte> TracedRing::summaries() {
  if (sums_.copies == 0) return {};
  std::vector<std::byte> memory(sums_.size());
  backend_.read(memory.data(), tables_.device(), memory.size());
  return recordsOf(sums_, summary_, memory);
}

Expected TracedRing::plan(const Expected &expected) {
  expected_ = expected;
  expected_.plan.region = region_.device();
  expected_.plan.waves_per_group = expected_.grid.waves_per_group;
  backend_.write(plan_.device(), &expected_.plan, sizeof(emit_plan));
  const auto trial =
      backend_.emit(Emitter::checked, 0, plan_.device(), {1, expected_.grid.waves_per_group});
  while (!trial->isDone()) std::this_thread::yield();
  backend_.read(&expected_.plan, plan_.device(), sizeof(emit_plan));
  return expected_;
}

void TracedRing::prepare() {
  fade_control c{};
  c.version = FADE_MESSAGE_VERSION;
  c.flags = expected_.flags;
  c.data = data_.device();
  c.capacity_mask = capacity_ - 1;
  c.tail = tail_.device();
  c.counters = counters_.device();
  c.sample_executions = expected_.sample_executions;
  c.sample_workgroups = expected_.sample_workgroups;
  c.first_workgroup[0] = expected_.first_group;
  c.last_workgroup[0] = expected_.last_group;
  c.last_workgroup[1] = c.last_workgroup[2] = UINT32_MAX;
  if (copies_.copies != 0) copies_.describe(c, counters_.device());
  if (sums_.copies != 0) {
    sums_.describe(c, tables_.device());
    std::vector<std::byte> memory(sums_.size());
    sums_.initialize(memory, summary_);
    backend_.write(tables_.device(), memory.data(), memory.size());
  }
  c.limit = capacity_;
  backend_.fill(counters_.device(), 0, counters_.size());
  drain_.restart();
  if (segments_) {
    c.flags |= FADE_CONTROL_SEGMENTED;
    c.written = written_.device();
    c.segment_shift = segment_shift_;
    backend_.fill(written_.device(), 0, written_.size());
    segments_->restart();
  }
  backend_.write(control_.device(), &c, sizeof c);
}

std::unique_ptr<Launch> TracedRing::launch(Emitter emitter) {
  return backend_.emit(emitter, control_.device(), plan_.device(), expected_.grid);
}

DrainTimes TracedRing::read(Launch &launch, const Reader &reader, const Use &use) {
  const auto start = Clock::now();
  Reading r(reader, use);
  std::this_thread::sleep_for(reader.late);
  std::optional<uint64_t> head; // once the kernel has ended
  while (true) {
    const bool any = readPiece(r);
    if (!any && !head) head = lookForEnd(r, launch);
    if (drain_.isCorrupt()) {
      std::fprintf(stderr, "the ring is damaged at byte %llu\n",
                   static_cast<unsigned long long>(drain_.scanned()));
      giveUp(launch);
    }
    if (head && drain_.scanned() == *head) break;
    waitForMore(r, launch, any);
  }
  while (!r.held.empty())
    if (!freeOldest(r)) std::this_thread::yield();
  while (segments_ && !segments_->isIdle()) segments_->step();
  r.times.total = seconds(Clock::now() - start);
  return r.times;
}

/// The head, once the kernel has ended.
std::optional<uint64_t> TracedRing::lookForEnd(Reading &r, Launch &launch) {
  const auto now = Clock::now();
  // Drivers take locks for that, which other readers wait for.
  if (now - r.asked < kAskAgain) return std::nullopt;
  r.asked = now;
  const bool has_ended = launch.isDone();
  r.times.idle += seconds(Clock::now() - now);
  if (!has_ended) return std::nullopt;
  uint64_t head = 0;
  backend_.read(&head, control_.device() + offsetof(fade_control, head), sizeof head);
  if (segments_) segments_->finish(head);
  return head;
}

bool TracedRing::readPiece(Reading &r) {
  bool any = false;
  auto at = Clock::now();
  const auto lap = [&](double &sum) {
    const auto then = std::exchange(at, Clock::now());
    sum += seconds(at - then);
  };
  if (segments_) {
    any = segments_->step();
    drain_.setVisible(segments_->visible());
    lap(r.times.copy);
  }
  if (r.reader.pause.count() != 0) {
    std::this_thread::sleep_for(r.reader.pause);
    lap(r.times.idle);
  }
  const auto piece = drain_.next(r.reader.most, [](const fade_wave_begin &) {});
  lap(r.times.scan);
  if (piece.size != 0) {
    r.use({piece.bytes, piece.size});
    lap(r.times.use);
    Held &held = r.held.emplace_back(piece);
    if (!segments_ && r.workers.areThere()) r.workers.submit(&held);
    any = true;
  }
  // Waves may wait for what is held.
  while (!r.held.empty() && (r.held.size() > r.reader.held || piece.size == 0) && freeOldest(r))
    any = true;
  lap(r.times.clear);
  return any;
}

// False if it is still being cleared.
bool TracedRing::freeOldest(Reading &r) {
  Held &oldest = r.held.front();
  if (!segments_ && !r.workers.areThere()) oldest.clear();
  if (!segments_ && !oldest.is_clear.load(std::memory_order_acquire)) return false;
  drain_.free(oldest.piece.size);
  if (segments_) segments_->setFreed(drain_.freed());
  r.held.pop_front();
  return true;
}

void TracedRing::waitForMore(Reading &r, Launch &launch, bool any) {
  const auto now = Clock::now();
  if (any) {
    r.last_progress = now;
    r.naps = 0;
    return;
  }
  if (now - r.last_progress > kPatience) giveUp(launch);
  // Records come every few nanoseconds, or not for a while.
  if (++r.naps > 100) std::this_thread::sleep_for(std::chrono::microseconds(10));
  r.times.idle += seconds(Clock::now() - now);
}

void TracedRing::discard(Launch &launch) {
  const auto start = Clock::now();
  while (!launch.isDone()) {
    if (Clock::now() - start > kPatience) giveUp(launch);
    std::this_thread::yield();
  }
  uint64_t head = 0;
  backend_.read(&head, control_.device() + offsetof(fade_control, head), sizeof head);
  if (!segments_)
    std::memset(data_.host(), 0, std::min<uint64_t>(head, capacity_ + FADE_RING_SLACK));
}

Outcome TracedRing::outcome() {
  fade_control c;
  backend_.read(&c, control_.device(), sizeof c);
  Outcome o{c.head, c.dropped, c.waves, {}};
  o.counters.resize(counters_.size() / sizeof(fade_counter));
  backend_.read(o.counters.data(), counters_.device(), counters_.size());
  return o;
}

/// A wave waits for ever, or the stream is damaged: says how things stand and ends the process,
/// because nothing that a kernel uses can be given back.
void TracedRing::giveUp(Launch &launch) {
  using Wide = unsigned long long;
  std::fprintf(stderr, "%s: no progress in a ring of %llu bytes (%s); the kernel %s\n",
               backend_.doing.c_str(), static_cast<Wide>(capacity_), nameOf(transport_),
               launch.isDone() ? "has ended" : "still runs");
  fade_control c{};
  if (backend_.peek(&c, control_.device(), sizeof c))
    std::fprintf(stderr, "  head %llu, limit %llu, waves %u, dropped %llu\n",
                 static_cast<Wide>(c.head), static_cast<Wide>(c.limit), c.waves,
                 static_cast<Wide>(c.dropped));
  else
    std::fprintf(stderr, "  the control block cannot be read\n");
  std::fprintf(stderr, "  tail %llu, scanned %llu, freed %llu\n",
               static_cast<Wide>(*reinterpret_cast<uint64_t *>(tail_.host())),
               static_cast<Wide>(drain_.scanned()), static_cast<Wide>(drain_.freed()));
  const std::byte *bytes = (segments_ ? mirror_ : data_).host();
  uint64_t words[4];
  std::memcpy(words, bytes + (drain_.scanned() & (capacity_ - 1)), sizeof words);
  std::fprintf(stderr, "  at scanned: %016llx %016llx %016llx %016llx\n",
               static_cast<Wide>(words[0]), static_cast<Wide>(words[1]),
               static_cast<Wide>(words[2]), static_cast<Wide>(words[3]));
  uint64_t written[FADE_RING_SEGMENTS];
  if (segments_ && backend_.peek(written, written_.device(), sizeof written)) {
    std::fprintf(stderr, "  visible %llu, written", static_cast<Wide>(segments_->visible()));
    for (uint64_t i = 0; i < capacity_ >> segment_shift_; ++i)
      std::fprintf(stderr, " %llu", static_cast<Wide>(written[i]));
    std::fputc('\n', stderr);
  }
  std::fflush(nullptr);
  std::_Exit(kHung);
}

} // namespace fade::silicon
