// Rules that need no judgment: each looks at what was counted and makes an edit or not.
#include "optimize/proposer.h"

#include <fmt/format.h>
#include <regex>
#include <set>

namespace fade::cli {
namespace {

using Json = nlohmann::ordered_json;

uint64_t conflictsIn(const Json &request) {
  return request.value("counts", Json::object()).value("conflicts", uint64_t{0});
}

/// Elements that make rows begin in another bank: banks are 4 bytes wide.
int paddingFor(const std::string &type) {
  static const std::regex of_one("\\b(u?int8_t|char|bool|signed char|unsigned char)\\b"),
      of_two("\\b(u?int16_t|short|unsigned short|_Float16|__half|half|hip_bfloat16)\\b");
  if (std::regex_search(type, of_one)) return 4;
  if (std::regex_search(type, of_two)) return 2;
  return 1;
}

/// Comments and strings as blanks, so that nothing is found in them; places stay.
std::string codeOf(const std::string &source) {
  std::string code = source;
  static const std::regex other("//[^\\n]*|/\\*[^]*?\\*/|\"(\\\\.|[^\"\\\\\\n])*\"");
  for (std::sregex_iterator at(source.begin(), source.end(), other), end; at != end; ++at)
    for (long i = at->position(); i < at->position() + at->length(); ++i)
      if (code[static_cast<std::size_t>(i)] != '\n') code[static_cast<std::size_t>(i)] = ' ';
  return code;
}

class RuleProposer : public Proposer {
public:
  Result<Proposal> propose(const Json &request, const std::string &) override {
    const std::string source = request.value("source", "");
    if (auto proposal = padArray(source, request)) return *proposal;
    Proposal none;
    none.stops = true;
    return none;
  }

private:
  /// Lanes that go down a column of an array in LDS meet in one bank, unless rows have an odd
  /// length.
  std::optional<Proposal> padArray(const std::string &source, const Json &request) {
    if (conflictsIn(request) == 0) return std::nullopt;
    static const std::regex array(
        "__shared__\\s+([\\w:<> ]+?)\\s+(\\w+)\\s*((?:\\[[^\\]]+\\]\\s*)+)\\[([^\\]]+)\\]\\s*;");
    const std::string code = codeOf(source);
    for (std::sregex_iterator at(code.begin(), code.end(), array), end; at != end; ++at) {
      const std::string name = (*at)[2], length = (*at)[4];
      if (!tried_.insert(fmt::format("pad {} {} {}", at->position(), name, length)).second)
        continue;
      const int padding = paddingFor((*at)[1]);
      Proposal proposal;
      proposal.source = source;
      proposal.source.insert(static_cast<std::size_t>(at->position(4) + at->length(4)),
                             fmt::format(" + {}", padding));
      proposal.comment =
          fmt::format("rows of {} are {} longer, so that columns spread over the banks of LDS",
                      name, padding == 1 ? "one element" : fmt::format("{} elements", padding));
      return proposal;
    }
    return std::nullopt;
  }

  std::set<std::string> tried_;
};

} // namespace

std::unique_ptr<Proposer> ruleProposer() { return std::make_unique<RuleProposer>(); }

} // namespace fade::cli
