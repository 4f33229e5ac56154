// Pages that hold an end of one of the application's allocations.
#pragma once

#include "fade/summary.h"
#include "stream/dispatch_record.h"

#include <memory>

namespace fade {

/// The same object for the same allocations, as long as those do not change.
std::shared_ptr<const PartedPages>
partedPages(const std::shared_ptr<const Allocations> &allocations, uint32_t page);

} // namespace fade
