#include "hsa/ring_pool.h"

#include "base/diagnostics.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

namespace fade {
namespace {

// Layout of a ring's host memory.
constexpr std::size_t kTailOffset = 0;
constexpr std::size_t kStagingOffset = 1024;
constexpr std::size_t kDataOffset = 4096;

constexpr uint64_t kLargeRing = 16 << 20;
constexpr uint64_t kSmallRing = 64 << 10;
constexpr std::size_t kKernargs = 4096;

uint64_t footprint(uint64_t capacity) { return kDataOffset + capacity + FADE_RING_SLACK; }

} // namespace

bool MemoryBudget::take(uint64_t bytes) {
  uint64_t left = left_.load(std::memory_order_relaxed);
  while (left >= bytes)
    if (left_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed)) return true;
  return false;
}

RingPool::RingPool(const Agent &gpu, const Agent &host, const Settings &settings,
                   MemoryBudget &budget)
    : gpu_(gpu), host_(host), settings_(settings), budget_(budget) {}

RingPool::~RingPool() = default;

HsaRing *RingPool::take(uint32_t counters, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  HsaRing *ring = takeFree(counters);
  if (!ring) ring = makeRing();
  if (!ring && !all_.empty() && patience.count() != 0 && !stalled_) {
    stalled_ = !freed_.wait_for(lock, patience, [&] { return hasFree(); });
    ring = takeFree(counters);
  }
  lock.unlock();
  if (ring && !ring->configure(counters)) {
    giveBack(*ring);
    return nullptr;
  }
  return ring;
}

/// A large one before a small one; among the latest that were given back, and so are still in
/// caches, one that already counts as many sites.
HsaRing *RingPool::takeFree(uint32_t counters) {
  constexpr std::ptrdiff_t looked_at = 8;
  for (auto *list : {&free_large_, &free_small_}) {
    if (list->empty()) continue;
    const auto last = list->end() - 1;
    const auto stop = list->end() - std::min<std::ptrdiff_t>(looked_at, std::ssize(*list));
    auto at = last;
    while (at != stop && (*at)->counter_count_ != counters) --at;
    if ((*at)->counter_count_ != counters) at = last;
    HsaRing *ring = *at;
    *at = *last;
    list->pop_back();
    return ring;
  }
  return nullptr;
}

HsaRing *RingPool::makeRing() {
  // Half of the memory for large rings, the rest for small ones.
  uint64_t large = std::min(kLargeRing, std::bit_floor(budget_.total() / 8));
  large = std::max<uint64_t>(large, FADE_RING_MIN_CAPACITY);
  const bool is_large = budget_.left() >= budget_.total() / 2 + footprint(large);
  const uint64_t capacity = is_large ? large : std::min(kSmallRing, large);
  if (!budget_.take(footprint(capacity))) return nullptr;
  std::unique_ptr<HsaRing> ring(new HsaRing(*this, capacity));
  if (!ring->allocate()) {
    budget_.giveBack(footprint(capacity));
    if (!std::exchange(said_, true))
      warn("the runtime has no memory for a ring of {} bytes", capacity);
    return nullptr;
  }
  all_.push_back(std::move(ring));
  return all_.back().get();
}

void RingPool::giveBack(HsaRing &ring) {
  {
    const std::lock_guard lock(mutex_);
    (ring.capacity_ > kSmallRing ? free_large_ : free_small_).push_back(&ring);
    stalled_ = false;
  }
  freed_.notify_one();
}

void RingPool::destroySignals() {
  const std::lock_guard lock(mutex_);
  for (auto *list : {&free_large_, &free_small_}) {
    for (HsaRing *ring : *list) (void)hsaApi().core.hsa_signal_destroy_fn(ring->copied_);
    list->clear();
  }
}

HsaRing::~HsaRing() = default; // the GPU may still know it: it lives as long as the process

bool HsaRing::allocate() {
  const HsaApi &api = hsaApi();
  const hsa_agent_t gpu = pool_.gpu_.handle;
  host_memory_ =
      static_cast<std::byte *>(allocateFor(*pool_.host_.host_pool, footprint(capacity_), gpu));
  device_control_ =
      static_cast<std::byte *>(allocateFor(*pool_.gpu_.device_pool, sizeof(fade_control), gpu));
  if (host_memory_ && device_control_ &&
      ok(api.amd.hsa_amd_signal_create_fn(0, 0, nullptr, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &copied_))) {
    std::memset(host_memory_, 0, footprint(capacity_));
    staging_ = reinterpret_cast<fade_control *>(host_memory_ + kStagingOffset);
    drain = RingDrain(host_memory_ + kDataOffset, capacity_,
                      reinterpret_cast<uint64_t *>(host_memory_ + kTailOffset));
    *staging_ = pristine();
    if (ok(api.core.hsa_memory_copy_fn(device_control_, staging_, sizeof *staging_))) return true;
  }
  freeMemory(host_memory_);
  freeMemory(device_control_);
  return false;
}

fade_control HsaRing::pristine() const {
  const WorkgroupFilter &filter = pool_.settings_.workgroups;
  fade_control control{};
  control.version = FADE_MESSAGE_VERSION;
  control.flags = (pool_.settings_.lossy ? FADE_CONTROL_LOSSY : 0) |
                  (filter.sample_executions > 1 ? FADE_CONTROL_SAMPLE_EXECUTIONS : 0);
  control.data = reinterpret_cast<uint64_t>(host_memory_ + kDataOffset);
  control.capacity_mask = capacity_ - 1;
  control.tail = reinterpret_cast<uint64_t>(host_memory_ + kTailOffset);
  control.counters = counter_count_ ? reinterpret_cast<uint64_t>(device_counters_) : 0;
  control.sample_executions = std::max(1u, filter.sample_executions);
  control.sample_workgroups = filter.sample;
  std::ranges::copy(filter.first, control.first_workgroup);
  std::ranges::copy(filter.last, control.last_workgroup);
  control.limit = capacity_;
  return control;
}

/// Prepares a ring that is not in use for so many counters. Seldom has to do anything.
bool HsaRing::configure(uint32_t counters) {
  if (counters == counter_count_) return true;
  const HsaApi &api = hsaApi();
  const std::size_t size = std::size_t{counters} * sizeof(fade_counter);
  if (counters > counter_room_) {
    freeMemory(std::exchange(device_counters_, nullptr));
    freeMemory(std::exchange(host_counters_, nullptr));
    counter_count_ = counter_room_ = 0;
    const hsa_agent_t gpu = pool_.gpu_.handle;
    device_counters_ = static_cast<std::byte *>(allocateFor(*pool_.gpu_.device_pool, size, gpu));
    host_counters_ = static_cast<std::byte *>(allocateFor(*pool_.host_.host_pool, size, gpu));
    if (!device_counters_ || !host_counters_) return false;
    counter_room_ = counters;
  }
  counter_count_ = counters;
  if (counters != 0) {
    std::memset(host_counters_, 0, size);
    if (!ok(api.core.hsa_memory_copy_fn(device_counters_, host_counters_, size))) return false;
  }
  *staging_ = pristine();
  return ok(api.core.hsa_memory_copy_fn(device_control_, staging_, sizeof *staging_));
}

std::span<uint8_t> HsaRing::kernargs(std::size_t size) {
  if (size > kernarg_size_) {
    freeMemory(std::exchange(kernarg_memory_, nullptr));
    kernarg_size_ = 0;
    const std::size_t rounded = std::max(std::bit_ceil(size), kKernargs);
    kernarg_memory_ = static_cast<std::byte *>(
        allocateFor(*pool_.host_.kernarg_pool, rounded, pool_.gpu_.handle));
    if (!kernarg_memory_) return {};
    kernarg_size_ = rounded;
  }
  return {reinterpret_cast<uint8_t *>(kernarg_memory_), kernarg_size_};
}

std::span<const fade_counter> HsaRing::counters() const noexcept {
  return {reinterpret_cast<const fade_counter *>(host_counters_), counter_count_};
}

bool HsaRing::startCopy(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent,
                        std::size_t size) noexcept {
  const HsaApi &api = hsaApi();
  if (size == 0) return true;
  api.core.hsa_signal_store_relaxed_fn(copied_, 1);
  if (ok(api.amd.hsa_amd_memory_async_copy_fn(to, to_agent, from, from_agent, size, 0, nullptr,
                                              copied_)))
    return true;
  api.core.hsa_signal_store_relaxed_fn(copied_, 0);
  return false;
}

bool HsaRing::copyDone() noexcept {
  return hsaApi().core.hsa_signal_load_scacquire_fn(copied_) <= 0;
}

// The copies are started here and looked at again later: the thread that drains must never wait for
// the GPU, which may itself be waiting for a ring to be drained. A ring that cannot be copied to or
// from, because there is no memory left, is not used again.
bool HsaRing::fetchControl() noexcept {
  const hsa_agent_t cpu = pool_.host_.handle, gpu = pool_.gpu_.handle;
  if (step_ == 0) {
    step_ = 1;
    if (!startCopy(staging_, cpu, device_control_, gpu, sizeof *staging_)) {
      is_broken_ = true;
      staging_->head = drain.scanned(); // the kernel has ended: more than was found is not there
    }
  }
  if (!copyDone()) return false;
  if (step_ == 1) {
    step_ = 2;
    if (!startCopy(host_counters_, cpu, device_counters_, gpu,
                   counter_count_ * sizeof(fade_counter))) {
      is_broken_ = true;
      counter_count_ = 0; // they are not known
    }
  }
  if (!copyDone()) return false;
  step_ = 0;
  return true;
}

bool HsaRing::recycle() noexcept {
  const hsa_agent_t cpu = pool_.host_.handle, gpu = pool_.gpu_.handle;
  if (step_ == 0) {
    step_ = 1;
    // A kernel that was aborted, or wrote where it should not, leaves more than zeros behind.
    if (drain.isCorrupt() || drain.scanned() != staging_->head)
      std::memset(host_memory_ + kDataOffset, 0, capacity_ + FADE_RING_SLACK);
    drain.restart();
    *staging_ = pristine();
    if (!startCopy(device_control_, gpu, staging_, cpu, sizeof *staging_)) is_broken_ = true;
  }
  if (!copyDone()) return false;
  if (step_ == 1) {
    step_ = 2;
    if (counter_count_ != 0) {
      std::memset(host_counters_, 0, counter_count_ * sizeof(fade_counter));
      if (!startCopy(device_counters_, gpu, host_counters_, cpu,
                     counter_count_ * sizeof(fade_counter)))
        is_broken_ = true;
    }
  }
  if (!copyDone()) return false;
  step_ = 0;
  if (!is_broken_) pool_.giveBack(*this);
  return true;
}

} // namespace fade
