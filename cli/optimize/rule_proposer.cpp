#include "optimize/proposer.h"
#include "optimize/rules.h"

#include <set>

namespace fade::cli {
namespace {

using Json = nlohmann::ordered_json;

/// One edit of one rule at a time, each once: what was accepted is part of the source by then.
class RuleProposer : public Proposer {
public:
  Result<Proposal> propose(const Json &request, const std::string &) override {
    const std::string source = request.value("source", "");
    const SourceText text(source);
    Proposal proposal;
    for (const Rule &rule : allRules())
      for (const RuleEdit &edit : rule.edits(text, request)) {
        if (edit.edits.empty() || !tried_.insert(rule.name + (" " + edit.key)).second) continue;
        proposal.source = edit.edits.applyTo(source);
        proposal.comment = edit.comment;
        return proposal;
      }
    proposal.stops = true;
    return proposal;
  }

private:
  std::set<std::string> tried_;
};

} // namespace

std::unique_ptr<Proposer> ruleProposer() { return std::make_unique<RuleProposer>(); }

} // namespace fade::cli
