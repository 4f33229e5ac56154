#include "checks/wave_history.h"

#include <algorithm>
#include <mutex>

namespace fade::checks {

struct WaveHistories::History {
  struct Version {
    Time since;
    KnownPtr known;
  };
  std::mutex mutex;
  std::vector<Version> versions;
};

WaveHistories::WaveHistories(uint64_t waves, TimesOfWave times)
    : blocks_((waves + kBlock - 1) / kBlock), times_(times) {}

WaveHistories::~WaveHistories() {
  for (auto &pointer : blocks_)
    if (Block *block = pointer.load()) {
      for (auto &history : *block) delete history.load();
      delete block;
    }
}

WaveHistories::History *WaveHistories::of(uint32_t wave) const {
  if (wave / kBlock >= blocks_.size()) return nullptr;
  const Block *block = blocks_[wave / kBlock].load(std::memory_order_acquire);
  return block ? (*block)[wave % kBlock].load(std::memory_order_acquire) : nullptr;
}

void WaveHistories::add(uint32_t wave, Time since, KnownPtr known) {
  if (wave / kBlock >= blocks_.size()) return;
  auto &pointer = blocks_[wave / kBlock];
  Block *block = pointer.load(std::memory_order_acquire);
  if (!block) {
    auto made = std::make_unique<Block>(kBlock);
    if (pointer.compare_exchange_strong(block, made.get(), std::memory_order_acq_rel))
      block = made.release();
  }
  // Only who runs the wave adds to it.
  auto &slot = (*block)[wave % kBlock];
  if (!slot.load(std::memory_order_relaxed)) slot.store(new History, std::memory_order_release);
  History &history = *slot.load(std::memory_order_relaxed);
  const std::lock_guard lock(history.mutex);
  if (!history.versions.empty() && history.versions.back().since == since)
    history.versions.back().known = std::move(known);
  else
    history.versions.push_back({since, std::move(known)});
  if (history.versions.size() > kMost) history.versions.erase(history.versions.begin());
}

void WaveHistories::end(uint32_t wave) {
  History *history = of(wave);
  if (!history) return;
  const std::lock_guard lock(history->mutex);
  auto &versions = history->versions;
  if (versions.size() > kMostAfterEnd)
    versions.erase(versions.begin(), versions.end() - kMostAfterEnd);
  versions.shrink_to_fit();
}

Clocks::Ptr WaveHistories::passedOn(uint32_t wave, Time time, Done done) const {
  KnownPtr known;
  if (History *history = of(wave)) {
    const std::lock_guard lock(history->mutex);
    const auto &versions = history->versions;
    const auto after = std::ranges::upper_bound(versions, time, {}, &History::Version::since);
    const bool is_cut = versions.size() >= kMostAfterEnd;
    if (after != versions.begin())
      known = std::prev(after)->known;
    else if (is_cut)
      known = versions.front().known;
  }
  return known ? passedOn(wave, done, known->far, known->first, known->local)
               : passedOn(wave, done, nullptr, wave, {});
}

Clocks::Ptr WaveHistories::passedOn(uint32_t wave, Done done, const Clocks::Ptr &far,
                                    uint32_t first, std::span<const Time> local) const {
  if (local.empty()) first = wave;
  std::vector<Time> times;
  putTimes(wave, done, first, local, times);
  return Clocks::raised(far, times_.of(first, false), times);
}

void WaveHistories::putTimes(uint32_t wave, Done done, uint32_t first, std::span<const Time> local,
                             std::vector<Time> &times) const {
  times.assign(std::max<std::size_t>(local.size(), 1) * times_.count, 0);
  for (std::size_t i = 0; i < times.size() && !local.empty(); ++i)
    times[i] = local[i / times_.count];
  Time *own = &times[times_.of(wave - first, false)];
  if (times_.count == 1)
    own[0] = std::min(done.loads, done.stores);
  else
    own[0] = done.loads, own[1] = done.stores;
}

} // namespace fade::checks
