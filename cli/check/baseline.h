// Findings that are known: they have an id that stays the same when lines move, and a file of them
// (--baseline) tells what is new.
#pragma once

#include "base/result.h"
#include "check/finding_reader.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fade::cli {

/// Sets FoundFinding::id: check and a number made of kernel, file, function and the text of the
/// lines, not of their numbers. Those that have all of this in common are counted.
void setIds(std::vector<FoundFinding> &findings);

/// Whether a word is an id as setIds() makes them.
bool isFindingId(const std::string &word);

class Baseline {
public:
  /// JSON lines that `fadeprobe check --json` has written.
  static Result<Baseline> read(const std::string &path);
  /// Of --baseline; an empty one without a path. Nothing, after a line that says why, if it cannot
  /// be read.
  static std::optional<Baseline> of(const std::string &path);

  bool knows(const std::string &id) const { return ids_.contains(id); }
  std::size_t size() const { return ids_.size(); }
  /// Sets FoundFinding::is_known.
  void mark(std::vector<FoundFinding> &findings) const;
  /// How many of those in the file are not among the findings.
  std::size_t gone(const std::vector<FoundFinding> &findings) const;

private:
  std::set<std::string> ids_;
};

} // namespace fade::cli
