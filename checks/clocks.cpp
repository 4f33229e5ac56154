#include "checks/clocks.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace fade::checks {

Clocks::BlockPtr Clocks::joinBlocks(const BlockPtr &a, const BlockPtr &b) {
  if (a == b || !b) return a;
  if (!a) return b;
  bool a_is_later = false, b_is_later = false;
  for (uint32_t i = 0; i < kBlock; ++i) {
    a_is_later |= (*a)[i] > (*b)[i];
    b_is_later |= (*b)[i] > (*a)[i];
  }
  if (!b_is_later) return a;
  if (!a_is_later) return b;
  auto joined = std::make_shared<Block>();
  for (uint32_t i = 0; i < kBlock; ++i) (*joined)[i] = std::max((*a)[i], (*b)[i]);
  return joined;
}

Clocks::Ptr Clocks::join(const Ptr &a, const Ptr &b) {
  if (a == b || !b) return a;
  if (!a) return b;
  const Clocks &longer = a->blocks_.size() >= b->blocks_.size() ? *a : *b;
  const Clocks &other = &longer == a.get() ? *b : *a;
  std::shared_ptr<Clocks> made; // a copy of the longer one, once it is known to be needed
  bool is_other = longer.blocks_.size() == other.blocks_.size();
  for (std::size_t i = 0; i < longer.blocks_.size(); ++i) {
    const BlockPtr none, &theirs = i < other.blocks_.size() ? other.blocks_[i] : none;
    BlockPtr joined = joinBlocks(longer.blocks_[i], theirs);
    is_other &= joined == theirs;
    if (!made && joined != longer.blocks_[i]) made = std::make_shared<Clocks>(longer);
    if (made) made->blocks_[i] = std::move(joined);
  }
  if (!made) return &longer == a.get() ? a : b;
  if (is_other) return &longer == a.get() ? b : a;
  return made;
}

Clocks::Ptr Clocks::raised(const Ptr &clocks, std::span<const Range> ranges) {
  const auto isKnown = [&](const Range &range) {
    for (uint32_t i = 0; i < range.times.size(); ++i)
      if (of(clocks, range.first + i) < range.times[i]) return false;
    return true;
  };
  if (std::ranges::all_of(ranges, isKnown)) return clocks;
  auto made = clocks ? std::make_shared<Clocks>(*clocks) : std::make_shared<Clocks>();
  std::vector<std::pair<std::size_t, Block *>> own; // blocks that are not shared
  const auto ownBlock = [&](std::size_t number) -> Block & {
    for (const auto &[known, block] : own)
      if (known == number) return *block;
    if (made->blocks_.size() <= number) made->blocks_.resize(number + 1);
    BlockPtr &block = made->blocks_[number];
    auto copy = block ? std::make_shared<Block>(*block) : std::make_shared<Block>();
    own.emplace_back(number, copy.get());
    block = std::move(copy);
    return *own.back().second;
  };
  for (const auto &[first, times] : ranges)
    for (std::size_t i = 0; i < times.size();) {
      const std::size_t wave = first + i, at = wave % kBlock;
      const std::size_t n = std::min<std::size_t>(times.size() - i, kBlock - at);
      Block &block = ownBlock(wave / kBlock);
      for (std::size_t k = 0; k < n; ++k) block[at + k] = std::max(block[at + k], times[i + k]);
      i += n;
    }
  return made;
}

TimesPtr ClockJoins::later(const TimesPtr &a, const TimesPtr &b) {
  if (a == b || std::ranges::equal(*a, *b, std::ranges::greater_equal())) return a;
  if (std::ranges::equal(*b, *a, std::ranges::greater_equal())) return b;
  for (const auto &known : known_times_)
    if (known.a == a && known.b == b) return known.joined;
  auto joined = std::make_shared<std::vector<Time>>(*a);
  for (std::size_t i = 0; i < joined->size(); ++i) (*joined)[i] = std::max((*a)[i], (*b)[i]);
  auto &made = known_times_[next_times_++ % known_times_.size()];
  made = {a, b, std::move(joined)};
  return made.joined;
}

void GatheredClocks::add(uint32_t wave, const Clocks::Ptr &far, uint32_t first,
                         const TimesPtr &times, ClockJoins &joins) {
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
    if (part->first != first || part->times->size() != times->size()) continue;
    part->times = joins.later(part->times, times);
    if (part->wave == wave) { // it knows all that it knew before
      part->far = far;
    } else if (part->far != far) {
      part->far = joins.join(part->far, far);
      part->wave = kSeveral;
    }
    return;
  }
  if (parts_.size() == kMost) gather(joins);
  parts_.push_back({first, wave, times, far});
}

void GatheredClocks::gather(ClockJoins &joins) {
  ClockJoins::Gathered &last = joins.gathered_;
  if (last.before == known_ && last.parts == parts_) {
    known_ = last.after;
  } else {
    last.before = known_;
    std::array<Clocks::Range, kMost> ranges;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      ranges[i] = {parts_[i].first, *parts_[i].times};
      known_ = joins.join(known_, parts_[i].far);
    }
    known_ = Clocks::raised(known_, std::span(ranges.data(), parts_.size()));
    last.after = known_;
    last.parts.swap(parts_);
  }
  parts_.clear();
}

} // namespace fade::checks
