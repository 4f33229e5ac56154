// One sentence for each finding: what the numbers mean and what helps.
#pragma once

#include "memory_stats.h"

#include <string>
#include <string_view>

namespace fade::handlers {

/// Empty if there is nothing to say. A member is an access to a part of a struct.
std::string adviceFor(const Place &place, const PlaceStats &access, const MemoryModel &model,
                      bool is_member);
std::string adviceFor(const Place &place, const LdsStats &stats, const MemoryModel &model);

/// Whether the access at this column of a line of source, counted from 1, is to a member: a name
/// after a '.' or '->'.
bool isMemberAt(std::string_view line, uint32_t column);

/// The smallest number of elements that, put between the lanes, leaves the fewest extra cycles.
struct Padding {
  uint64_t elements = 0; ///< 0: none helps
  uint64_t bytes = 0;
  uint32_t conflicts = 0; ///< that are left in an execution
};
Padding paddingFor(uint64_t stride, uint32_t element, uint32_t lanes, uint32_t banks,
                   LaneRows rows = {});

} // namespace fade::handlers
