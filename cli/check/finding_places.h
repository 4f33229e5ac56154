// Places of findings in the source: lines, calls that were inlined, who called from the host.
#pragma once

#include "check/finding_reader.h"
#include "check/recorded_findings.h"
#include "codeobj/host_lines.h"

#include <string>
#include <vector>

namespace fade::cli {

/// Lines of a source file from its first on, `most` at most.
std::vector<std::string> sourceLines(const std::string &file, uint32_t most);
/// With the blanks at its start; empty if there is none.
std::string wholeSourceLine(const std::string &file, uint32_t line);
std::string sourceLine(const std::string &file, uint32_t line);

/// Fills in what the code object knows about an instruction: line, callers, text.
void resolvePlace(FoundPlace &place, CodeObjects &objects);
/// The innermost place of the program's own that called for it, outside of helpers: hipMalloc<T> is
/// in HIP's headers, and many programs have a function of their own that allocates. `through`:
/// that.
FoundFrame callerOf(const checks::HostCall (&callers)[checks::kMostCallers],
                    const FindingFile &file, codeobj::HostLines &lines,
                    FoundFrame *through = nullptr);
FoundAllocation describeAllocation(const checks::AllocationInfo &raw, const FindingFile &file,
                                   codeobj::HostLines &lines);

} // namespace fade::cli
