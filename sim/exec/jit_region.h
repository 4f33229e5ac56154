// Which segments are compiled together.
#pragma once

#include "exec/jit_code.h"

#include <functional>
#include <vector>

namespace fade::sim {

// `head` first; with it the loop that it is part of, or, if it is in none, what follows it. `find`
// gives the segment at an address, null if that is not to be compiled.
std::vector<const Segment *> jit_region(const Segment &head,
                                        const std::function<const Segment *(uint64_t)> &find);

} // namespace fade::sim
