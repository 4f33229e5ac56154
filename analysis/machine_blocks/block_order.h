// How often machine blocks were executed of which no counter says so: the compiler adds some, to
// bring lanes together again behind branches and loops.
#pragma once

#include "codeobj/kernel_code.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace fade::profile {

struct BlockInStep {
  std::size_t block = 0;
  bool exactly = false; ///< else control goes through that one at least as often
};

/// For each block another one that is known, and that control goes through as often as far as the
/// graph shows it. Nothing for blocks that are known, that cannot be reached, or whose loop has
/// none that is known.
std::vector<std::optional<BlockInStep>> blocksInStep(const std::vector<codeobj::BasicBlock> &blocks,
                                                     const std::vector<bool> &is_known);

/// As often as control goes into a block it goes out of it. Adds what follows from that to what is
/// known of blocks; nothing if they contradict each other.
void addWhatFlowSays(const std::vector<codeobj::BasicBlock> &blocks,
                     std::vector<std::optional<uint64_t>> &executions);

} // namespace fade::profile
