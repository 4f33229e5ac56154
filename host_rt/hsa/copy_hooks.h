// Copies of the application: recorded as host events (FADE_TRACE), and kept from holding up the
// records of kernels (FADE_TRANSPORT=device).
//
// An engine works on its copies one after the other. A copy of the application that waits for a
// kernel to end would hold up the copies that bring records of this kernel, and these are what the
// kernel may be waiting for. So such a copy is given to the runtime only when what it waits for has
// happened, and those behind it in the same direction after it: applications rely on that order.
#pragma once

#include "hsa/hsa_api.h"

namespace fade {

/// `keeps_engines_free`: as described above; else copies are only recorded.
void hookCopies(HsaTables &tables, bool keeps_engines_free);

} // namespace fade
