// Which registers an instruction reads and writes, for observers that want to know.
#pragma once

#include <fade/observer.h>

#include <string>
#include <vector>

namespace fade::sim {

struct RegisterUse {
  std::vector<ObservedRange> reads, writes;
};

// From LLVM's names of registers and tuples of them. What is not a register that holds values of
// the program (EXEC, MODE, constants) is left out.
std::vector<ObservedRange> ranges_of(const std::vector<std::string> &names);

} // namespace fade::sim
