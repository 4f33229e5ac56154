// Which functions of HIP are recorded: --api all|GROUP,...|REGEX,...
#pragma once

#include "base/result.h"
#include "fade/expression.h"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fade {

class ApiChoice {
public:
  /// Words are separated by commas: "all", the name of a group, or a regular expression that some
  /// function's name contains. An error names the word that is none of them.
  static Result<ApiChoice> parse(std::string_view text);

  bool wants(const std::string &function, const std::string &group) const;

private:
  bool is_all_ = false;
  std::set<std::string> groups_;
  std::vector<Expression> expressions_;
};

/// Of fade/hip_functions.inc.
std::vector<std::string_view> apiGroups();

} // namespace fade
