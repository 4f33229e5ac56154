// How often the instructions of a kernel were executed, where nobody could watch them: from how
// often its blocks were.
//
// The twin of a kernel counts entries and lanes of the blocks that the compiler had when the pass
// saw them. The line table of the original says of which of these blocks an instruction is
// (passes/BlockMarks.h). What the compiler did afterwards may move single instructions to another
// block, so a stretch of code that runs with the same lanes is taken as a whole: it belongs to the
// block that most of its instructions come from. Code that no line leads to is found by what stands
// before and behind it. Where that does not hold, it says so.
#pragma once

#include "codeobj/kernel_code.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fade::profile {

struct BlockCount {
  uint64_t executions = 0, lanes = 0;
};
/// By the number of the block's site.
using BlockCountsBySite = std::map<uint64_t, BlockCount>;
/// How often a block followed another one, and with how many lanes; by the numbers of both.
using BlockEdges = std::map<std::pair<uint64_t, uint64_t>, BlockCount>;

/// What instructions did, in sums.
struct InstructionWork {
  uint64_t executions = 0, lanes = 0;
  uint64_t flops = 0, bytes = 0;
  bool is_known = false; ///< else the block is not
};

struct PlacedCode {
  std::vector<InstructionWork> work; ///< of each instruction
  bool has_marks = false;            ///< some instruction names a block
  std::string doubt;                 ///< why the counts may be wrong; empty: they are exact
};

/// `edges` may be empty, where only blocks were counted. `discriminator`: of the instruction at an
/// address; 0: none.
PlacedCode placeBlocks(const codeobj::KernelCode &code, const BlockCountsBySite &blocks,
                       const BlockEdges &edges,
                       const std::function<uint32_t(uint64_t)> &discriminator);

/// By type and by the way of bytes, with the names that the lines of Hotspots have.
struct WorkSums {
  std::map<std::string, uint64_t> flops, bytes;
};
/// Adds what an instruction did, from how often it was executed. Sets its flops and bytes.
void addWork(const codeobj::InstructionInfo &info, InstructionWork &work, WorkSums &sums);

} // namespace fade::profile
