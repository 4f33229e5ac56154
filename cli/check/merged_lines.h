// Which line of the source a byte of an access belongs to.
//
// Compilers make one instruction of accesses that lie side by side (global_load_dwordx4), or in
// pairs (ds_read2_b32), and give it the line of one of them. The debug information has the types of
// variables, though, and the source the indices: `p[2 * i]` and `p[2 * i + 1]` are four bytes apart
// if p points to floats, and together the eight bytes of the instruction. Where lines cover the
// instruction in just one way, each of its bytes has a line.
#pragma once

#include "codeobj/source_map.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fade::cli {

/// An access as it is in the code.
struct MergedAccess {
  bool writes = false;
  uint32_t line = 0, column = 0; ///< that the instruction has
  std::string instruction;
  uint32_t size = 0;                    ///< bytes; of a pair, those of one of the two
  std::optional<uint32_t> byte, data{}; ///< the byte in question, and its first register
};

struct MergedLines {
  uint32_t line = 0, column = 0; ///< of the byte in question; 0: not known
  std::vector<uint32_t> others;  ///< further lines that have a part in the instruction, or may
};

/// See SourceMap::layout.
using LayoutOf = std::function<std::optional<codeobj::AccessLayout>(
    const std::string &variable, const std::vector<std::string> &steps)>;

/// Nothing if the instruction does only what its line says, as far as that can be known. `source`:
/// the lines of the file.
std::optional<MergedLines> mergedLines(const MergedAccess &access,
                                       const std::vector<std::string> &source,
                                       const LayoutOf &layout);

/// Whether a line of the source reads, or writes, an element at this column.
bool hasAccess(const std::string &line, uint32_t column, bool writes);

} // namespace fade::cli
