// Marks the code of an original with the blocks it comes from.
//
// Counts belong to blocks of the IR; operations and bytes to instructions of the machine. What ties
// them together is the line table of the original: a place in the source may have a discriminator,
// which tells apart the blocks that a line has become. It is no part of the code, so that the
// original stays as it is, and needs line tables (-gline-tables-only).
#pragma once

#include <cstdint>

namespace llvm {
class BasicBlock;
} // namespace llvm

namespace fade {

// Of a block whose site has this number. 0 is no block's.
inline uint32_t discriminatorOf(uint32_t site) { return site + 1; }

void markBlock(llvm::BasicBlock &original, uint32_t site);

} // namespace fade
