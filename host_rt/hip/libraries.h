// Which libraries the process has, as host events: who asks for one, where they are, when they go.
// Addresses of stacks are resolved with that later, also if the library is gone by then.
#pragma once

namespace fade::hip {

/// Somebody calls dlopen(file). `caller`: the address it returns to.
void recordRequest(const char *file, const void *caller) noexcept;

/// Records what was loaded and unloaded since the last time. Quick if nothing was.
void recordLibraries() noexcept;

} // namespace fade::hip
