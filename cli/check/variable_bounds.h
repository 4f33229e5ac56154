// memory: accesses that begin in a variable of the code object and reach beyond its end.
//
// Compilers make one instruction of accesses to neighboring elements, such as those of an unrolled
// loop over a __constant__ array, but never one of accesses to two variables: what they do not know
// is where variables lie. So the machine code alone says which variable is meant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fade::cli {

/// An access of the instruction, of `size` bytes.
struct VariableAccess {
  uint64_t address = 0, size = 0;
};
struct Variable {
  uint64_t address = 0, size = 0;
  bool holds(uint64_t at) const { return at - address < size; }
};

/// Whether an access begins in the variable and ends behind it. `following`: the instruction, and
/// those behind it: registers that nobody reads were only loaded because there is no instruction
/// for fewer of them.
bool isAcrossEnd(const VariableAccess &access, const Variable &variable,
                 const std::vector<std::string> &following);

/// The address that a scalar load begins to count its constant offset from, where that was computed
/// from the place of the code: of a variable, or an element of it. `before`: instructions up to the
/// load, with it, and `addresses` of them.
std::optional<uint64_t> scalarBase(const std::vector<std::string> &before,
                                   const std::vector<uint64_t> &addresses);
/// The same of a vector access (global_*), to whose address lanes add their indices.
std::optional<uint64_t> vectorBase(const std::vector<std::string> &before,
                                   const std::vector<uint64_t> &addresses);

} // namespace fade::cli
