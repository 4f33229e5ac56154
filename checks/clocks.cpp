#include "checks/clocks.h"

#include <algorithm>

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

Clocks::Ptr Clocks::raised(const Ptr &clocks, uint32_t first, std::span<const Time> times) {
  bool is_known = true;
  for (uint32_t i = 0; i < times.size(); ++i) is_known &= of(clocks, first + i) >= times[i];
  if (is_known) return clocks;
  auto made = clocks ? std::make_shared<Clocks>(*clocks) : std::make_shared<Clocks>();
  for (std::size_t i = 0; i < times.size();) {
    const std::size_t wave = first + i, number = wave / kBlock, at = wave % kBlock;
    const std::size_t n = std::min<std::size_t>(times.size() - i, kBlock - at);
    if (made->blocks_.size() <= number) made->blocks_.resize(number + 1);
    BlockPtr &block = made->blocks_[number];
    auto changed = block ? std::make_shared<Block>(*block) : std::make_shared<Block>();
    for (std::size_t k = 0; k < n; ++k)
      (*changed)[at + k] = std::max((*changed)[at + k], times[i + k]);
    block = std::move(changed);
    i += n;
  }
  return made;
}

} // namespace fade::checks
