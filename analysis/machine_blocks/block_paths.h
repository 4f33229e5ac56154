// What went through machine code that no line leads to, from where it stands: between which of the
// blocks that were counted, and how often these followed one another.
#pragma once

#include "analysis/machine_blocks/block_counts.h"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace fade::profile {

/// A piece of machine code that runs with the same lanes.
struct PathNode {
  std::optional<uint64_t> site; ///< the block it comes from, if that is known
  std::vector<std::size_t> next;
  bool is_narrowed = false; ///< the other lanes do something else, behind it in the code
};

class BlockPaths {
public:
  using Nodes = std::vector<PathNode>;
  /// Keeps what it is given by reference.
  BlockPaths(const Nodes &nodes, const BlockCountsBySite &blocks, const BlockEdges &edges);

  /// Of a node without a site: nothing if several blocks or ways may be meant, or none.
  std::optional<BlockCount> find(std::size_t node) const;

private:
  using Sites = std::set<uint64_t>;
  using Ways = std::vector<std::vector<std::size_t>>;

  /// The first sites on each way from a node, not through `without`.
  Sites nearest(std::size_t node, const Ways &ways,
                std::optional<std::size_t> without = std::nullopt) const;
  /// The same among the counted blocks, through those that no code is known of.
  Sites nearestCounted(uint64_t site, const std::map<uint64_t, Sites> &ways) const;
  std::optional<BlockCount> alone(const std::vector<uint64_t> &sites) const;
  std::optional<BlockCount> between(std::size_t node, uint64_t from, uint64_t to) const;

  const Nodes &nodes_;
  const BlockCountsBySite &blocks_;
  const BlockEdges &edges_;
  Ways next_, before_;
  Sites placed_; ///< blocks of which there is code
  std::map<uint64_t, Sites> next_sites_, before_sites_;
};

} // namespace fade::profile
