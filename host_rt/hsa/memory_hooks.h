// Notes what memory the application allocates.
#pragma once

#include "hsa/hsa_api.h"

namespace fade {

void hookMemory(HsaTables &tables);
/// Also sees what only captures need to know.
void hookMemoryForCaptures(HsaTables &tables);

} // namespace fade
