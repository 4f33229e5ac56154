// --reachable: which memory a kernel can come to by following pointers.
//
// A pointer is any aligned word that holds an address within visible memory, wherever it stands in
// what is reachable already. Addresses that a kernel computes (the distance of two allocations,
// tagged or packed pointers) are not found.
#pragma once

#include "hsa/visible_memory.h"

#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace fade {

class Reachable {
public:
  /// By address, disjoint; must live as long.
  explicit Reachable(const std::vector<VisibleRegion> &regions);

  /// Whatever these bytes point to is reachable. They begin at a multiple of 8.
  void scan(std::span<const uint8_t> bytes);
  /// The region that holds the address is reachable.
  void addAddress(uint64_t address);
  void add(std::size_t region);

  /// One that is reachable and was not given out before; to be scanned.
  std::optional<std::size_t> next();
  bool has(std::size_t region) const { return found_[region]; }

private:
  const std::vector<VisibleRegion> &regions_;
  uint64_t lowest_ = 0, highest_ = 0;
  std::vector<bool> found_;
  std::deque<std::size_t> waiting_;
  std::size_t last_ = 0; ///< where the last address was found: the next is often there, too
};

} // namespace fade
