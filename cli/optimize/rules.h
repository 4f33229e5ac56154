// Rules that need no judgment: each looks at what was counted and makes an edit or not. An edit
// keeps what the kernel does, for all that a rule can see; whether it does is shown afterwards.
#pragma once

#include "optimize/source_text.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace fade::cli {

struct RuleEdit {
  std::string key;     ///< the same for the same edit, wherever others have moved it
  std::string comment; ///< for people
  Edits edits;
};

struct Rule {
  const char *name;
  /// All that it would do. `request`: as proposers get it (docs/formats.md).
  std::vector<RuleEdit> (*edits)(const SourceText &source, const nlohmann::ordered_json &request);
};

/// Most rewarding first.
const std::vector<Rule> &allRules();

} // namespace fade::cli
