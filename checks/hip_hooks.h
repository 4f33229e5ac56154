// What the application asks of HIP, where that tells more than what HIP asks of HSA.
#pragma once

#include <cstdint>

namespace fade::checks {

/// PyTorch in this process runs with its caching allocator off: says so.
void tellOfTorch();

/// In OnLoad. Without it, checks know less: no wrapper stands in the way of anything else.
void hookHip();
/// ROCr shares pages of the host with GPUs, as HIP does for managed memory. HIP's first call, in
/// which its functions are replaced, is known by this alone.
void noteSharedPages(const void *memory, uint64_t size);

} // namespace fade::checks
