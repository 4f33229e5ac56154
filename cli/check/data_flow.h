// Whether a value that is stored was made of one that was loaded, as the instructions between them
// say. For `h[x]++` in lanes of a wave that meet at x: where the result is a constant ("seen it"),
// nothing is lost.
#pragma once

#include <string>
#include <vector>

namespace fade::cli {

/// `instructions`: from the load to the store, both included, as text. False if that cannot be
/// said, or if doing it twice is the same as once (largest, smallest, bits that are set).
bool accumulates(const std::vector<std::string> &instructions);

/// `instructions`: those that share an entry of the line table, as text. Whether the one `load` is
/// the only one that accesses memory, and those before it compute its address in LDS.
bool computesAddress(const std::vector<std::string> &instructions, std::size_t load);

} // namespace fade::cli
