// Loads and stores that a GPU issues together (s_clause, from gfx10 on). LLVM gives all of them the
// line of the first; the instruction that computes an address still has its own.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace fade::cli {

struct ClausePlace {
  std::size_t first = 0;                 ///< of the clause
  std::optional<std::size_t> definition; ///< of the address, if it is only used here
  bool has_other_base = false;           ///< than the first
};

/// `instructions`: as text, one after the other. Nothing if the last of them is in no clause, or
/// the first of one.
std::optional<ClausePlace> clausePlace(const std::vector<std::string> &instructions);

} // namespace fade::cli
