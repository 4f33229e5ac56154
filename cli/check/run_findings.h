// Findings of a run of many processes (base/run_folder.h): one finding once, with the ranks that it
// was seen on.
//
//   run/host=node1/rank=3/pid=4711/check.json       what was checked
//                                  findings.jsonl   as fadeprobe check --json, with "text"
#pragma once

#include "check/command.h"
#include "check/finding_reader.h"

#include <functional>
#include <string>
#include <vector>

namespace fade::cli {

/// Reads what processes have left in their folders, writes it there as JSON lines instead, and
/// returns all of it together. `suppress` takes away what nobody wants to see.
FoundRun collectFindings(const std::vector<std::string> &folders, bool with_leaks,
                         const std::function<void(FoundRun &)> &suppress);

/// Whether processes that were checked have left findings in this folder.
bool isCheckedRun(const std::string &path);
/// fadeprobe check run/: the findings of all processes.
int showRunFindings(const CheckOptions &options);

} // namespace fade::cli
