// Which loaded file an address is in, and the exported function around it: what dladdr() tells, but
// without the dynamic loader's main lock. That lock is held while constructors of a library run,
// which may wait for whoever asks here: a library that uses the GPU when it is loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace fade {

struct ModuleSymbol {
  std::string file;     ///< as the loader names it; the path of the program itself
  uint64_t bias = 0;    ///< from addresses in the file to those in memory
  uint64_t start = 0;   ///< where it begins in memory
  std::string function; ///< mangled; empty if none is exported there
  uint64_t function_start = 0, function_size = 0;
};

/// Nothing if the address is in no loaded file.
std::optional<ModuleSymbol> moduleSymbolAt(uint64_t address);

} // namespace fade
