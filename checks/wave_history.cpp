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

WaveHistories::WaveHistories(uint64_t waves) : blocks_((waves + kBlock - 1) / kBlock) {}

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

Clocks::Ptr WaveHistories::passedOn(uint32_t wave, Time time, Time visible) const {
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
  if (!known || known->local.empty())
    return Clocks::raised(known ? known->far : nullptr, wave, {&visible, 1});
  std::vector<Time> local = known->local;
  local[wave - known->first] = visible;
  return Clocks::raised(known->far, known->first, local);
}

} // namespace fade::checks
