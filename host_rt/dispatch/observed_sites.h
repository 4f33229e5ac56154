// A site table (fade/sites.h) made from machine code, for kernels that the software GPU watches.
#pragma once

#include "codeobj/code_object.h"
#include "codeobj/source_map.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace fade {

/// Loads into LDS have two sites: the second is as far behind the address of the first.
constexpr uint64_t kLdsSide = 1;

/// What there are sites for, besides accesses.
struct ObservedParts {
  bool blocks = false;       ///< of straight-line code
  bool instructions = false; ///< all of them
  bool access_places = true; ///< where accesses are in the source
};

/// An address in the code object and what is there.
struct ObservedPlace {
  uint64_t address = 0;
  uint32_t site = 0;
};

struct ObservedSites {
  std::vector<std::byte> table;
  std::vector<ObservedPlace> accesses, blocks; ///< by address
};

/// The sites of a kernel and of functions that it may call. `object` must have it.
Result<ObservedSites> makeSites(const std::shared_ptr<const codeobj::CodeObject> &object,
                                const std::string &symbol, ObservedParts parts);
/// The same for many kernels of one code object, whose line tables are read once; `map` may be
/// null.
Result<ObservedSites> makeSites(const codeobj::CodeObject &object, const codeobj::SourceMap *map,
                                const std::string &symbol, ObservedParts parts);

} // namespace fade
