// --suppress: findings that are known, one per line: check, kernel, place.
#pragma once

#include "base/result.h"
#include "check/finding_reader.h"
#include "fade/expression.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fade::cli {

class Suppressions {
public:
  /// "race  scan.*  lookback.h:12": a check or *, then regular expressions for the kernel's name
  /// and for the place ("file:line"), the latter optional; or the id of a finding. Lines that begin
  /// with # are comments.
  static Result<Suppressions> read(const std::string &path);
  bool matches(const FoundFinding &finding) const;

private:
  struct Rule {
    std::string check;
    Expression kernel;
    std::optional<Expression> place; ///< nothing: anywhere
  };
  std::vector<Rule> rules_;
  std::set<std::string> ids_;
};

} // namespace fade::cli
