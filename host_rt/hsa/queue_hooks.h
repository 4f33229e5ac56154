// Stands between the application and its queues: times every dispatch, and swaps kernels.
#pragma once

#include "hsa/hsa_api.h"

namespace fade {

void hookQueues(HsaTables &tables);

} // namespace fade
