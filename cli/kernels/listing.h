// The source files a report needs, and the machine code behind their lines.
#pragma once

#include "analysis/run_log.h"

#include <map>
#include <string>
#include <vector>

namespace fade::report {

/// Files of source by number, in the order in which they are asked for.
class SourceFiles {
public:
  /// `roots`: folders below which files have to be for their text to come along; none: anywhere.
  explicit SourceFiles(std::vector<std::string> roots = {}) : roots_(std::move(roots)) {}

  /// The number of a file; the empty name has none and is -1. The text of the system's headers only
  /// comes along if somebody wants it.
  int64_t indexOf(const std::string &path, bool wants_text = false);
  /// [{path, lines: […] or null}]; lines that are not UTF-8 come as they are.
  Json json() const;
  /// Files that are here, and whose text does not come along because of the roots.
  std::vector<std::string> withheld() const;

private:
  std::vector<std::string> roots_;
  std::map<std::string, int64_t> index_;
  struct File {
    std::string path;
    bool has_text = false;
  };
  std::vector<File> files_;
};

/// The code of the kernels of the run, as found in `files`: what runs without instrumentation. Says
/// in `log.problems` what could not be read.
Json codeOf(RunLog &log, const std::vector<std::string> &files, SourceFiles &sources);
/// The same without a page: only what `log.code` says of the kernels.
void readCode(RunLog &log, const std::vector<std::string> &files);

} // namespace fade::report
