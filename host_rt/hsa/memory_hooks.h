// Notes what memory the application allocates.
#pragma once

#include "hsa/hsa_api.h"

namespace fade {

void hookMemory(HsaTables &tables);

} // namespace fade
