// What the application asks of HIP, where that tells more than what HIP asks of HSA.
#pragma once

namespace fade::checks {

/// PyTorch in this process runs with its caching allocator off: says so.
void tellOfTorch();

/// In OnLoad. Without it, checks know less: no wrapper stands in the way of anything else.
void hookHip();

} // namespace fade::checks
