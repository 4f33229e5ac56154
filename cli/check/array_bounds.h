// Arrays that lie side by side in LDS, or in the memory of a code object: which of them an
// instruction means, and whether it stays there.
//
// The source says which: the line table has the column of the name, or of the operator behind it.
// Where it is not certain that the instruction comes from there, nothing is said of it.
//
// Debug information has the sizes of `__shared__` arrays, but not their places. So an access is
// wrong if there is no way to place the arrays, none on top of another, that has all accesses where
// they belong.
#pragma once

#include "check/finding_reader.h"
#include "codeobj/source_map.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fade::cli {

/// The array whose element the access at this column of a line loads, stores or changes; empty if
/// that cannot be told from the text.
std::string arrayName(const std::string &text, uint32_t column, checks::Place access);

/// Of an instruction in LDS with two addresses: whether the elements lie side by side. If many do,
/// not only one pair of them, both are of one array, or one is wrong: the end of an array and the
/// beginning of the next meet in one place.
bool areNeighbors(const std::string &instruction);
bool hasTwoAddresses(const std::string &instruction);

using LineReader = std::function<std::string(const std::string &file, uint32_t line)>;
/// `line`: the text of a line, from its first column on. Of a place that the line table shares with
/// the instructions before it nothing is said, unless its address tells that it is the array: it is
/// counted from `base`, or, in LDS, those instructions compute it.
std::optional<codeobj::SourceArray> arrayOf(const codeobj::SourceMap &map, const FoundPlace &place,
                                            const LineReader &line,
                                            std::optional<uint64_t> base = std::nullopt,
                                            bool is_computed_there = false);

/// An instruction that means an array.
struct ArrayUse {
  uint32_t span = 0; ///< its number
  codeobj::SourceArray array;
  uint64_t begin = 0, end = 0; ///< bytes that it touched
};

/// One that touched bytes which are not of its array.
struct OutOfArray {
  std::size_t use = 0; ///< its number
  bool is_high = true; ///< beyond the end; else before the start
  bool has_distance = false;
  int64_t distance = 0; ///< bytes behind the end, or before the start if negative
};

/// Of one kernel, all in LDS or all in the code object. `lds`: bytes that all arrays in LDS have.
std::vector<OutOfArray> outOfArrays(const std::vector<ArrayUse> &uses, uint64_t lds);

} // namespace fade::cli
