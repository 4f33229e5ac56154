// Rules that need no judgment: each looks at what was counted and makes an edit or not.
#include "optimize/proposer.h"

#include <algorithm>
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

/// Comments, strings and characters as blanks, so that nothing is found in them; places stay.
std::string codeOf(const std::string &source) {
  std::string code = source;
  const auto blank = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < std::min(to, code.size()); ++i)
      if (code[i] != '\n') code[i] = ' ';
  };
  for (std::size_t at = 0; at < source.size();) {
    std::size_t end = at + 1;
    if (source.compare(at, 2, "//") == 0) {
      end = std::min(source.find('\n', at), source.size());
    } else if (source.compare(at, 2, "/*") == 0) {
      const std::size_t close = source.find("*/", at + 2);
      end = close == std::string::npos ? source.size() : close + 2;
    } else if (source[at] == '"' || source[at] == '\'') {
      while (end < source.size() && source[end] != source[at] && source[end] != '\n')
        end += source[end] == '\\' ? 2 : 1;
      ++end;
    } else {
      at = end;
      continue;
    }
    blank(at, end);
    at = end;
  }
  return code;
}

/// "add" of "void ns::add<int>(int*, int)".
std::string nameOf(const std::string &kernel) {
  static const std::regex name("(\\w+)\\s*(?:<[^(]*>)?\\s*\\(");
  std::smatch match;
  return std::regex_search(kernel, match, name) ? match[1].str() : kernel;
}

/// Where the parameters of the kernel begin and end, without the parentheses; both the same if it
/// is not there, or is there several times.
std::pair<std::size_t, std::size_t> parametersOf(const std::string &code, const std::string &name) {
  if (!std::regex_match(name, std::regex("\\w+"))) return {0, 0};
  const std::regex kernel("__global__[^;{}()]*(?:\\([^;{}]*\\)[^;{}()]*)?\\b" + name + "\\s*\\(");
  std::smatch match;
  if (!std::regex_search(code, match, kernel)) return {0, 0};
  const auto begin = static_cast<std::size_t>(match.position() + match.length());
  const std::string rest = code.substr(begin);
  if (std::regex_search(rest, kernel)) return {0, 0};
  int depth = 1;
  for (std::size_t at = begin; at < code.size(); ++at) {
    depth += code[at] == '(' ? 1 : code[at] == ')' ? -1 : 0;
    if (depth == 0) return {begin, at};
  }
  return {0, 0};
}

class RuleProposer : public Proposer {
public:
  Result<Proposal> propose(const Json &request, const std::string &) override {
    const std::string source = request.value("source", "");
    if (auto proposal = padArray(source, request)) return *proposal;
    if (auto proposal = restrictPointers(source, request)) return *proposal;
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

  /// A value that was loaded stays known after a store through another pointer. Whether the
  /// pointers really are apart shows in the results.
  std::optional<Proposal> restrictPointers(const std::string &source, const Json &request) {
    const std::string code = codeOf(source);
    for (const Json &kernel : request.value("kernels", Json::array())) {
      const std::string name = nameOf(kernel.value("kernel", ""));
      const auto [begin, end] = parametersOf(code, name);
      if (begin == end || !tried_.insert("restrict " + name).second) continue;
      static const std::regex pointer("\\*\\s*(?:const\\s+)?(?=[A-Za-z_]\\w*\\s*(?:,|$))");
      const std::string parameters = code.substr(begin, end - begin);
      if (parameters.find("__restrict") != std::string::npos) continue;
      Proposal proposal;
      proposal.source = source;
      std::size_t added = 0;
      for (std::sregex_iterator at(parameters.begin(), parameters.end(), pointer), none; at != none;
           ++at) {
        const std::string word = "__restrict__ ";
        proposal.source.insert(
            begin + static_cast<std::size_t>(at->position() + at->length()) + added, word);
        added += word.size();
      }
      if (added < 2 * 13) continue; // one alone has nobody to be apart from
      proposal.comment = fmt::format("the pointers of {} lead to memory of their own", name);
      return proposal;
    }
    return std::nullopt;
  }

  std::set<std::string> tried_;
};

} // namespace

std::unique_ptr<Proposer> ruleProposer() { return std::make_unique<RuleProposer>(); }

} // namespace fade::cli
