// Who proposes other versions of the source: a program, which gets one JSON object on stdin for
// each attempt and answers with one on stdout (docs/formats.md), or FADE's own rules.
#pragma once

#include "base/result.h"

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace fade::cli {

struct Proposal {
  std::string source, comment;
  bool stops = false; ///< it has no more
};

class Proposer {
public:
  virtual ~Proposer() = default;
  /// `request`: as documented. `folder`: for files of this attempt.
  virtual Result<Proposal> propose(const nlohmann::ordered_json &request,
                                   const std::string &folder) = 0;
};

/// A command for the shell.
std::unique_ptr<Proposer> commandProposer(std::string command, std::chrono::seconds patience);
/// Small edits that FADE's findings suggest.
std::unique_ptr<Proposer> ruleProposer();

} // namespace fade::cli
