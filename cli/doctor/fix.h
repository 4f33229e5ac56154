// Writes what remedies can be written to files, and takes back exactly that. What was written is
// kept in a ledger in the same tree; a file that somebody changed since is never touched again.
#pragma once

#include "base/result.h"
#include "doctor/rules.h"
#include "doctor/tree.h"

#include <span>

namespace fade::doctor {

/// A file before and after.
struct FileChange {
  std::string path; ///< of the tree's machine
  bool was_there = false;
  std::string before; ///< empty if it was not there
  std::string after;
  std::vector<std::string> reasons; ///< the rules
};

struct FixPlan {
  std::vector<FileChange> changes;
  std::vector<std::string> commands; ///< to be run after writing
  /// Folders that have to be made, outer ones first; filled in by writeFixes.
  std::vector<std::string> folders;
};

/// Which remedy of which rule: "rule" (its first that can be written) or "rule:2".
/// Without any, the first that can be written of each finding.
Result<FixPlan> planFixes(const Tree &tree, std::span<const Finding> findings,
                          std::span<const std::string> chosen);

/// All files or none. An error also if there is a ledger already.
Status writeFixes(const Tree &tree, FixPlan plan);
/// The paths that were restored or removed.
Result<std::vector<std::string>> revertFixes(const Tree &tree);

/// What would be written, for people.
std::string asText(const FixPlan &plan);

inline constexpr const char *kLedger = "/var/lib/fade/doctor-fixes.json";

} // namespace fade::doctor
