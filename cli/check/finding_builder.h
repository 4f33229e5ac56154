// A finding as libfadecheck wrote it, made one with places in the source.
#pragma once

#include "check/finding_reader.h"
#include "check/recorded_findings.h"
#include "codeobj/host_lines.h"

#include <vector>

namespace fade::cli {

FoundFinding findingOf(const checks::Finding &raw, const FindingFile &file, CodeObjects &objects,
                       codeobj::HostLines &lines);
/// Accesses beyond one of several arrays that lie side by side.
void readSpans(const FindingFile &file, CodeObjects &objects, codeobj::HostLines &lines,
               std::vector<FoundFinding> &found);
/// The rank of the process, if it has one.
void addRank(FoundFinding &f, const FindingFile &file);

} // namespace fade::cli
