#include "checks/global_shadow.h"

#include "base/diagnostics.h"

#include <thread>

namespace fade::checks {
namespace {

std::atomic<uint64_t> all_bytes{0};

void sayThatItIsMuch() {
  static std::atomic_flag said;
  if (!said.test_and_set())
    warn("check: race: kernels touch more memory than can be followed; what lies beyond is not "
         "checked for races");
}

constexpr std::size_t kMostParts = 8; ///< of a dword, that were read; written are four at most

} // namespace

/// Mostly a few instructions; but where workers are more than cores, who has it may not be running.
void ShadowPage::waitAndLock() {
  constexpr unsigned patience = 200;
  do {
    for (unsigned looks = 0; lock_.test(std::memory_order_relaxed); ++looks)
      if (looks >= patience) std::this_thread::yield();
  } while (lock_.test_and_set(std::memory_order_acquire));
}

void ShadowPage::keepRest(uint32_t dword, const Mark &before, const Mark &mark) {
  const uint32_t rest = before.time ? before.bytes & ~mark.bytes & 15 : 0;
  if (!rest && !partsOf(dword)) return;
  if (!parts) parts = std::make_unique<std::unordered_map<uint32_t, Parts>>();
  Parts &others = (*parts)[dword];
  const bool reads = mark.accessKind() == AccessKind::load;
  auto &displaced = reads ? others.read : others.written;
  // A write takes the place of whatever was there; of reads, of the same wave's alone.
  for (Mark &part : displaced)
    if (!reads || part.wave == mark.wave) part.bytes &= ~mark.bytes & 15;
  std::erase_if(displaced, [](const Mark &part) { return part.bytes == 0; });
  if (!rest) return;
  if (displaced.size() == kMostParts) displaced.erase(displaced.begin());
  displaced.push_back(before);
  displaced.back().bytes = rest & 15;
}

void PageMarks::makeRows(GlobalShadow &shadow) { shadow.made(rows_); }

void PageMarks::makeSingle(uint32_t row, GlobalShadow &shadow) {
  Marks &marks = shadow.made(single_);
  if (!isRow(row)) return;
  is_row_ = static_cast<uint8_t>(is_row_ & ~(1u << row));
  const Mark &first = (*rows_)[row];
  for (uint32_t i = 0; i < kRow; ++i) marks[row * kRow + i] = first.behind(i);
}

GlobalShadow::~GlobalShadow() {
  forPages([](uint64_t, ShadowPage &page) { delete &page; });
  all_bytes -= bytes_;
}

bool GlobalShadow::take(uint64_t bytes) {
  if (all_bytes.load(std::memory_order_relaxed) + bytes > kMostBytes) {
    sayThatItIsMuch();
    return false;
  }
  count(bytes);
  return true;
}

GlobalShadow::Block &GlobalShadow::block(uint64_t address) {
  const uint64_t number = address / Block::kBytes;
  Shard &shard = shards_[number % kShards];
  const std::lock_guard lock(shard.mutex);
  auto &block = shard.blocks[number];
  if (!block) block = std::make_unique<Block>(), count(sizeof(Block));
  return *block;
}

ShadowPage *GlobalShadow::makePage(std::atomic<ShadowPage *> &at) {
  if (!take(sizeof(ShadowPage))) return nullptr;
  auto made = std::make_unique<ShadowPage>();
  ShadowPage *other = nullptr;
  if (at.compare_exchange_strong(other, made.get(), std::memory_order_acq_rel))
    return made.release();
  return other; // somebody was faster
}

ShadowPage *GlobalShadow::find(uint64_t number) const {
  const uint64_t of_block = number / Block::kPages;
  const Shard &shard = shards_[of_block % kShards];
  const std::lock_guard lock(shard.mutex);
  const auto at = shard.blocks.find(of_block);
  if (at == shard.blocks.end()) return nullptr;
  return at->second->pages[number % Block::kPages].load(std::memory_order_acquire);
}

/// The limit is kept when pages are made; a few more bytes than allowed do no harm.
void GlobalShadow::count(uint64_t bytes) {
  all_bytes.fetch_add(bytes, std::memory_order_relaxed);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

} // namespace fade::checks
