// One cause, one finding: what is the same error for those who fix it becomes one finding, with the
// others as its details.
//
// The same cause is
//   - memory: the same kernel, or another instance of its template, beyond the same memory,
//     or beyond it and, at the same line, near no memory at all;
//   - init: likewise, memory that nothing wrote;
//   - race: pairs of lines of the same kernel that have a line in common, or are neighbors that one
//     barrier orders; or stores that race with themselves in the same allocation;
//   - wait: loads, or uses of what they load, of the same kernel that have a line in common;
//   - sync: the same line, or barriers that the same work-items miss;
//   - others: the same line.
//
// Follow-up errors belong to the overflow that made them: races with a store that is out of bounds,
// and LDS that stays unwritten where stores beyond its end are lost. Memory that is not written yet
// belongs to the missing order of the launches, and so do other launches that meet the same one.
#pragma once

#include "check/finding_reader.h"

#include <string>
#include <vector>

namespace fade::cli {

/// The name of a kernel without return type, template arguments and parameters: what all instances
/// of a template have in common.
std::string templateName(const std::string &kernel);

/// Findings in the order in which they are shown; each takes those of the same cause as details.
void groupByCause(std::vector<FoundFinding> &findings);

} // namespace fade::cli
