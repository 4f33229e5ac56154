#include "hsa/ring_pool.h"

#include "base/diagnostics.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <thread>

namespace fade {
namespace {

// Layout of a ring's host memory.
constexpr std::size_t kTailOffset = 0;
constexpr std::size_t kAnswersOffset = 1024;
constexpr std::size_t kStagingOffset = 2048;
constexpr std::size_t kDataOffset = 8192;
static_assert(kAnswersOffset + SegmentedRing::kStagingWords * sizeof(uint64_t) <= kStagingOffset);
static_assert(kStagingOffset + sizeof(ControlBlock) <= kDataOffset);

constexpr uint64_t kLargeRing = 16 << 20;
constexpr uint64_t kLargeObservedRing = 2 << 20;
constexpr uint64_t kSmallRing = 64 << 10;
constexpr unsigned kMostLargeObserved = 8;
constexpr std::size_t kKernargs = 4096;

uint64_t largeRing(const MemoryBudget &budget) {
  const uint64_t most = std::min(kLargeRing, std::bit_floor(budget.total() / 8));
  return std::max<uint64_t>(most, FADE_RING_MIN_CAPACITY);
}

uint64_t hostSize(uint64_t capacity) { return kDataOffset + capacity + FADE_RING_SLACK; }
uint64_t footprint(uint64_t capacity, Transport transport) {
  const uint64_t on_device = transport == Transport::device ? capacity + FADE_RING_SLACK : 0;
  return hostSize(capacity) + on_device;
}

} // namespace

bool MemoryBudget::take(uint64_t bytes) {
  uint64_t left = left_.load(std::memory_order_relaxed);
  while (left >= bytes)
    if (left_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed)) return true;
  return false;
}

RingPool::RingPool(const Agent &gpu, const Agent &host, const Settings &settings,
                   MemoryBudget &budget, AllocationTable &allocations,
                   std::chrono::milliseconds patience, RingUse use)
    : gpu_(gpu), host_(host), settings_(settings), budget_(budget), allocations_(allocations),
      memory_(gpu, host), use_(use),
      transport_(use == RingUse::kernels ? settings.transport : Transport::host),
      patience_(patience) {
  if (transport_ == Transport::device && !copiesWhatIsWritten(gpu)) {
    transport_ = Transport::host;
    warn("the copy engine of {} does not see writes of a running kernel: records go to host "
         "memory",
         gpu.target);
  }
  if (transport_ == Transport::device)
    note("records of agent {} go to {}-grained device memory and are copied from there", gpu.number,
         gpu.fine_device_pool ? "fine" : "coarse");
}

RingPool::~RingPool() = default;

HsaRing *RingPool::take(uint64_t bytes, const CounterRoom &counters) {
  Lock lock(mutex_);
  HsaRing *ring = bytes <= kSmallRing / 2 ? takeSmall(counters, lock) : nullptr;
  if (!ring) ring = takeLarge(counters, lock);
  while (!ring && large_count_ != 0 && !stalled_) {
    const uint64_t before = large_freed_;
    stalled_ = !freed_.wait_for(lock, patience_, [&] { return large_freed_ != before; });
    ring = takeLarge(counters, lock);
  }
  if (!ring) ring = takeSmall(counters, lock);
  if (!ring && !all_.empty() && !exhausted_) {
    exhausted_ = !freed_.wait_for(lock, patience_ / 2,
                                  [&] { return !free_small_.empty() || !free_large_.empty(); });
    ring = takeLarge(counters, lock);
    if (!ring) ring = takeSmall(counters, lock);
  }
  is_unprepared_ = false;
  lock.unlock();
  if (ring && !ring->configure(counters)) {
    giveBack(*ring);
    lock.lock();
    is_unprepared_ = true;
    return nullptr;
  }
  return ring;
}

HsaRing *RingPool::takeLarge(const CounterRoom &counters, Lock &lock) {
  HsaRing *ring = takeFree(free_large_, counters);
  return ring ? ring : makeRing(true, lock);
}

HsaRing *RingPool::takeSmall(const CounterRoom &counters, Lock &lock) {
  HsaRing *ring = takeFree(free_small_, counters);
  return ring ? ring : makeRing(false, lock);
}

std::string RingPool::whyNone() {
  const Lock lock(mutex_);
  if (is_unprepared_)
    return "its ring could not be prepared: no memory for counts, or a copy failed";
  return lacks_memory_ ? "the runtime had no memory for its records"
                       : "all rings were in use (FADE_MEMORY)";
}

/// Among the latest that were given back, and so are still in caches, one that already counts as
/// many sites.
HsaRing *RingPool::takeFree(std::vector<HsaRing *> &list, const CounterRoom &counters) {
  constexpr std::ptrdiff_t looked_at = 8;
  if (list.empty()) return nullptr;
  const auto last = list.end() - 1;
  const auto stop = list.end() - std::min<std::ptrdiff_t>(looked_at, std::ssize(list));
  auto at = last;
  while (at != stop && (*at)->counters_ != counters) --at;
  if ((*at)->counters_ != counters) at = last;
  HsaRing *ring = *at;
  *at = *last;
  list.pop_back();
  return ring;
}

HsaRing *RingPool::makeRing(bool large, Lock &lock) {
  if (HsaRing *ring = makeRing(large, transport_, lock)) return ring;
  // What was not had for want of memory within the budget will not be had elsewhere, either.
  if (transport_ == Transport::host || !lacks_memory_) return nullptr;
  transport_ = Transport::host;
  warn("no device memory left for records: they go to host memory");
  return makeRing(large, transport_, lock);
}

uint64_t RingPool::capacityOf(bool large) const {
  const uint64_t most = !large || use_ == RingUse::counted ? kSmallRing
                        : isDirect()                       ? kLargeObservedRing
                                                           : kLargeRing;
  return std::min(most, largeRing(budget_));
}

HsaRing *RingPool::makeRing(bool large, Transport transport, Lock &lock) {
  if (large && isDirect() && large_count_ >= kMostLargeObserved) return nullptr;
  // Half of the memory for large rings, the rest for small ones.
  const uint64_t capacity = capacityOf(large);
  const uint64_t size = footprint(capacity, transport);
  if (large && budget_.left() < budget_.total() / 2 + size) return nullptr;
  // From here on neither keeping the ring nor giving it back can fail.
  const std::size_t rings = std::bit_ceil(all_.size() + being_made_ + 1);
  all_.reserve(rings);
  free_large_.reserve(rings);
  free_small_.reserve(rings);
  std::unique_ptr<HsaRing> ring(new HsaRing(*this, capacity, transport, large));
  if (!budget_.take(size)) return nullptr;
  ++being_made_;
  lock.unlock();
  const bool is_made = ring->allocate();
  lock.lock();
  --being_made_;
  if (!is_made) {
    budget_.giveBack(size);
    lacks_memory_ = true;
    if (transport == Transport::host && !std::exchange(said_, true))
      warn("the runtime has no memory for a ring of {} bytes", capacity);
    return nullptr;
  }
  all_.push_back(std::move(ring));
  if (large) ++large_count_;
  return all_.back().get();
}

void RingPool::avoidDeviceMemory() {
  const std::lock_guard lock(mutex_);
  transport_ = Transport::host;
  for (auto *list : {&free_large_, &free_small_})
    std::erase_if(*list, [&](HsaRing *ring) {
      if (ring->transport_ == Transport::host) return false;
      ring->release();
      budget_.giveBack(footprint(ring->capacity_, ring->transport_));
      if (ring->is_large_) --large_count_;
      std::erase_if(all_, [&](const auto &owned) { return owned.get() == ring; });
      return true;
    });
}

void RingPool::giveBack(HsaRing &ring) {
  {
    const std::lock_guard lock(mutex_);
    (ring.is_large_ ? free_large_ : free_small_).push_back(&ring);
    if (ring.is_large_) {
      ++large_freed_;
      stalled_ = false;
    }
    exhausted_ = false;
  }
  freed_.notify_all();
}

void RingPool::destroySignals() {
  const std::lock_guard lock(mutex_);
  for (auto *list : {&free_large_, &free_small_}) {
    for (HsaRing *ring : *list) ring->destroySignals();
    list->clear();
  }
}

HsaRing::~HsaRing() = default; // the GPU may still know it: it lives as long as the process

bool HsaRing::allocate() {
  host_memory_ = pool_.memory_.host.allocate(hostSize(capacity_));
  if (!host_memory_) return false;
  staging_ = reinterpret_cast<ControlBlock *>(host_memory_ + kStagingOffset);
  device_control_ = pool_.isDirect()
                        ? staging_
                        : reinterpret_cast<ControlBlock *>(controlMemory().allocate(controlSize()));
  if (device_control_ && copy_.create()) {
    std::memset(host_memory_, 0, hostSize(capacity_));
    if (makeData()) return true; // the device learns what it needs when it is configured
  }
  release();
  return false;
}

bool HsaRing::makeData() {
  const RingHostMemory host{
      .bytes = host_memory_ + kDataOffset,
      .staging = reinterpret_cast<uint64_t *>(host_memory_ + kAnswersOffset),
      .device_control = device_control_,
  };
  if (transport_ == Transport::device)
    data_ = DeviceRingData::make(pool_.gpu_, pool_.host_, pool_.memory_.copied, host, capacity_);
  else
    data_ = std::make_unique<HostRingData>(host, capacity_);
  if (!data_) return false;
  drain =
      RingDrain(host.bytes, capacity_, reinterpret_cast<uint64_t *>(host_memory_ + kTailOffset));
  segments = data_->segments();
  if (segments) drain.limitToSegments(SegmentedRing::segmentShift(capacity_));
  return true;
}

void HsaRing::destroySignals() noexcept {
  copy_.destroy();
  if (data_) data_->destroySignals();
}

/// Only of a ring that no kernel knows.
void HsaRing::release() {
  destroySignals();
  if (data_) data_->freeMemory();
  pool_.memory_.host.free(host_memory_);
  pool_.memory_.kernargs.free(kernarg_memory_);
  pool_.memory_.host.free(host_counters_);
  if (pool_.isDirect()) return;
  controlMemory().free(device_control_);
  pool_.memory_.device.free(device_counters_);
}

fade_control HsaRing::pristine() const {
  const WorkgroupFilter &filter = pool_.settings_.workgroups;
  fade_control control{};
  control.version = FADE_MESSAGE_VERSION;
  control.flags = (pool_.settings_.lossy ? FADE_CONTROL_LOSSY : 0) |
                  (filter.sample_executions > 1 ? FADE_CONTROL_SAMPLE_EXECUTIONS : 0);
  data_->describe(control);
  control.capacity_mask = capacity_ - 1;
  control.tail = reinterpret_cast<uint64_t>(host_memory_ + kTailOffset);
  const auto counters = reinterpret_cast<uint64_t>(device_counters_);
  control.counters = counters_.by_site != 0 ? counters : 0;
  control.sample_executions = std::max(1u, filter.sample_executions);
  control.sample_workgroups = counters_.sample > 1          ? counters_.sample
                              : filter.wantsAllWorkgroups() ? 0
                                                            : std::max(1u, filter.sample);
  std::ranges::copy(filter.first, control.first_workgroup);
  std::ranges::copy(filter.last, control.last_workgroup);
  if (counters_.copies.copies != 0) counters_.copies.describe(control, counters);
  if (counters_.sums.copies != 0)
    counters_.sums.describe(control, counters + counters_.tables() * sizeof(fade_counter));
  control.limit = capacity_;
  return control;
}

/// Prepares a ring that is not in use for so many counters. Seldom has to do anything.
bool HsaRing::configure(const CounterRoom &counters) {
  if (is_configured_ && counters == counters_) return true;
  is_configured_ = false; // until the device knows
  const bool direct = pool_.isDirect();
  const std::size_t total = counters.total(), size = total * sizeof(fade_counter);
  if (total > counter_room_) {
    if (!direct) pool_.memory_.device.free(device_counters_);
    device_counters_ = nullptr;
    pool_.memory_.host.free(std::exchange(host_counters_, nullptr));
    counters_ = {};
    counter_room_ = 0;
    host_counters_ = pool_.memory_.host.allocate(size);
    device_counters_ = direct ? host_counters_ : pool_.memory_.device.allocate(size);
    if (!device_counters_ || !host_counters_) return false;
    counter_room_ = total;
  }
  counters_ = counters;
  if (total != 0) clearCounters();
  staging_->control = pristine();
  if (direct) return is_configured_ = true;
  // Both copies at once: waiting for them takes longer than they do.
  const bool is_started =
      copy_.start(device_counters_, pool_.gpu_.handle, host_counters_, pool_.host_.handle, size);
  const bool is_copied =
      ok(hsaApi().core.hsa_memory_copy_fn(device_control_, staging_, controlSize()));
  while (!copy_.isDone()) std::this_thread::yield();
  return is_configured_ = is_started && is_copied;
}

std::span<uint8_t> HsaRing::kernargs(std::size_t size) {
  if (size > kernarg_size_) {
    pool_.memory_.kernargs.free(std::exchange(kernarg_memory_, nullptr));
    kernarg_size_ = 0;
    const std::size_t rounded = std::max(std::bit_ceil(size), kKernargs);
    kernarg_memory_ = pool_.memory_.kernargs.allocate(rounded);
    if (!kernarg_memory_) return {};
    kernarg_size_ = rounded;
  }
  return {reinterpret_cast<uint8_t *>(kernarg_memory_), kernarg_size_};
}

std::span<const fade_counter> HsaRing::counters() const noexcept {
  const bool sums = counters_.sums.copies != 0;
  return {reinterpret_cast<const fade_counter *>(host_counters_),
          sums ? counters_.by_site : counters_.total()};
}

std::span<std::byte> HsaRing::tables() const {
  return {host_counters_ + counters_.tables() * sizeof(fade_counter), counters_.sums.size()};
}

fade_summary HsaRing::summary() const {
  const auto address =
      reinterpret_cast<uint64_t>(device_counters_) + counters_.tables() * sizeof(fade_counter);
  return counters_.sums.header(counters_.request, controlAddress(), address, counters_.module,
                               counters_.kernel);
}

/// In the copy of the host.
void HsaRing::clearCounters() const {
  std::memset(host_counters_, 0, counters_.total() * sizeof(fade_counter));
  if (counters_.sums.copies != 0) counters_.sums.initialize(tables(), summary(), counters_.request);
}

std::vector<std::byte> HsaRing::summaries() const {
  if (counters_.sums.copies == 0 || counters_.request.records_only) return {};
  return recordsOf(counters_.sums, summary(), tables());
}

// The copies are started here and looked at again later: the thread that drains must never wait for
// the GPU, which may itself be waiting for a ring to be drained. A ring that cannot be copied to or
// from, because there is no memory left, is not used again.
bool HsaRing::fetchControl() noexcept {
  if (pool_.isDirect()) return true;
  const hsa_agent_t cpu = pool_.host_.handle, gpu = pool_.gpu_.handle;
  if (step_ == 0) {
    step_ = 1;
    if (!copy_.start(staging_, cpu, device_control_, gpu, sizeof(fade_control))) {
      is_broken_ = true;
      // The kernel has ended: more than was found is not there.
      staging_->control.head = drain.scanned();
    }
  }
  if (!copy_.isDone()) return false;
  if (step_ == 1) {
    step_ = 2;
    if (!copy_.start(host_counters_, cpu, device_counters_, gpu,
                     counters_.total() * sizeof(fade_counter))) {
      is_broken_ = true;
      counters_ = {}; // they are not known
    }
  }
  if (!copy_.isDone()) return false;
  step_ = 0;
  return true;
}

std::string HsaRing::damage() const {
  if (is_broken_) return {}; // it was not fetched
  const fade_control &seen = staging_->control;
  fade_control expected = pristine();
  expected.head = seen.head;
  expected.limit = seen.limit;
  expected.dropped = seen.dropped;
  expected.waves = seen.waves;
  expected.classes = seen.classes;
  const auto *a = reinterpret_cast<const std::byte *>(&expected);
  const auto *b = reinterpret_cast<const std::byte *>(&seen);
  const auto *at = std::mismatch(a, a + sizeof expected, b).first;
  if (at == a + sizeof expected) return {};
  const uint64_t address = controlAddress() + static_cast<uint64_t>(at - a);
  return fmt::format("the application wrote into FADE's own memory at {:#x}{}", address,
                     pool_.allocations_.describeNearest(address));
}

bool HsaRing::recycle() noexcept {
  const hsa_agent_t cpu = pool_.host_.handle, gpu = pool_.gpu_.handle;
  if (step_ == 0) {
    if (!data_->restart(drain.isCorrupt() || drain.scanned() != staging_->control.head))
      return false;
    step_ = 1;
    drain.restart();
    staging_->control = pristine();
    if (!pool_.isDirect() && !copy_.start(device_control_, gpu, staging_, cpu, controlSize()))
      is_broken_ = true;
  }
  if (!copy_.isDone()) return false;
  if (step_ == 1) {
    step_ = 2;
    if (const std::size_t size = counters_.total() * sizeof(fade_counter); size != 0) {
      clearCounters();
      if (!pool_.isDirect() && !copy_.start(device_counters_, gpu, host_counters_, cpu, size))
        is_broken_ = true;
    }
  }
  if (!copy_.isDone()) return false;
  step_ = 0;
  if (data_->isBroken()) pool_.avoidDeviceMemory();
  if (is_broken_ || data_->isBroken())
    destroySignals();
  else
    pool_.giveBack(*this);
  return true;
}

} // namespace fade
