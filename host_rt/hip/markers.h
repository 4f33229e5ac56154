// Marks and ranges of the application, as host events.
#pragma once

#include <cstdint>

namespace fade::hip {

/// `kind`: events::MarkerKind. `text`: of a mark, push or start; may be null. `range`: of start and
/// stop. Nothing happens unless events are recorded.
void recordMarker(uint32_t kind, const char *text, uint64_t range) noexcept;

} // namespace fade::hip
