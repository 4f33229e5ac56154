// Sees code objects on their way into the GPU and registers their kernels.
#pragma once

#include "hsa/hsa_api.h"

namespace fade {

/// Puts FADE's functions into the runtime's table.
void hookCode(HsaTables &tables);

} // namespace fade
