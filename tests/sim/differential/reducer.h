// Cuts a program down to what still has a certain property, such as disagreeing.
#pragma once

#include "comparison.h"

#include <functional>

namespace fade::sim::differential {

// The smallest program found by leaving out statements and expressions. `interesting` holds for the
// program of `seed`.
Program reduce(uint64_t seed, const std::function<bool(const Program &)> &interesting);

// Whether GPU and host disagree; not when it does not compile.
bool disagrees(const Program &program, const Target &target);

} // namespace fade::sim::differential
