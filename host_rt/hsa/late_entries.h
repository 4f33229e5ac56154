// Where in AmdExtTable a function is whose place no released header of FADE's has settled.
//
// The library of the HSA runtime exports each function, and the export does nothing but call what
// is in the table. So the places in question are given functions of FADE's for a moment, each
// another one, and the export is called: the one that answers is in the right place. Nothing of the
// runtime runs then. It happens in OnLoad, when hsa_init has not returned to anybody; should a
// thread call one of these functions nevertheless, it is passed on to the runtime's.
#pragma once

#include "hsa/hsa_api.h"

#include <span>
#include <vector>

namespace fade {

/// For each name its index in `table`, or kNoEntry: the runtime has no such function, or it is not
/// among the places from `first` on. The table is left as it was.
std::vector<int> placesInTable(std::span<void *> table, std::size_t first,
                               std::span<const char *const> names, const Exports &exports);

/// What the libraries export that these functions may be in. Which one's table it is shows when
/// they are asked; one of another runtime does nothing when it is called without arguments.
Exports exportsOf(const CoreApiTable &core);

} // namespace fade
