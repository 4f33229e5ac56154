// Edits of loops: several turns at a time, so that what lies side by side is loaded at once.
#include "optimize/rule_parts.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

namespace fade::cli {
namespace {

using Json = nlohmann::ordered_json;

/// The blanks before a token if nothing else stands before it in its line.
std::optional<std::string_view> indentOf(std::string_view source, std::size_t at) {
  const std::size_t begin = at == 0 ? 0 : source.rfind('\n', at - 1) + 1; // npos + 1 is 0
  const std::string_view before = source.substr(begin, at - begin);
  if (before.find_first_not_of(" \t") != std::string_view::npos) return std::nullopt;
  return before;
}

/// Whether the line before this place is a pragma.
bool hasPragma(std::string_view source, std::size_t at) {
  std::string_view before = source.substr(0, at);
  before = before.substr(0, before.find_last_not_of(" \t\r\n") + 1);
  std::string_view line = before.substr(before.rfind('\n') + 1);
  line = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
  return line.starts_with("#pragma") || line.ends_with("\\");
}

bool isWholeNumber(std::string_view word) {
  static const std::set<std::string_view> types = {
      "const",   "int",      "unsigned", "long", "short", "size_t",   "uint32_t",
      "int32_t", "uint64_t", "int64_t",  "auto", "uint",  "ptrdiff_t"};
  return types.contains(word);
}

/// A loop of a kernel in which the threads of the grid take all numbers up to a limit in turn:
/// "for (int i = <global index>; i < n; i += <threads of the grid>)". Places are indexes of tokens.
struct GridLoop {
  std::string type, start, limit, step;
  std::size_t start_at = 0;           ///< in the source
  std::string_view name;              ///< "i"
  std::size_t body = 0, body_end = 0; ///< first and last token
};

class GridLoops {
public:
  GridLoops(const SourceText &source, const KernelText &kernel) : source_(source), kernel_(kernel) {
    for (std::size_t i = kernel.body; i < kernel.body_end; ++i)
      if (isAssigned(source, i)) ++assigned_[source.tokens()[i].text];
  }

  std::optional<GridLoop> at(std::size_t begin) const {
    GridLoop loop;
    if (!source_.is(begin, "for") || !source_.is(begin + 1, "(")) return std::nullopt;
    const std::size_t head_end = source_.partner(begin + 1);
    if (head_end >= kernel_.body_end) return std::nullopt;
    // The type and name, "= start;"
    std::size_t i = begin + 2;
    while (i < head_end && source_.isName(i) && isWholeNumber(text(i))) ++i;
    const std::size_t equals = i + 1, first = endOf(equals, head_end),
                      second = endOf(first, head_end);
    if (i == begin + 2 || !source_.isName(i) || !source_.is(equals, "=") || second >= head_end)
      return std::nullopt;
    loop.type = source_.between(begin + 2, i - 1);
    loop.name = text(i);
    // "name < limit;"
    if (!source_.is(first + 1, loop.name) || !source_.is(first + 2, "<") ||
        source_.is(first + 3, "=") || source_.is(first + 3, "<") || second < first + 4)
      return std::nullopt;
    // "name += step)"
    if (!source_.is(second + 1, loop.name) || !source_.is(second + 2, "+") ||
        !source_.is(second + 3, "=") || head_end < second + 5 || first < equals + 2)
      return std::nullopt;
    loop.start = source_.between(equals + 1, first - 1);
    loop.start_at = source_.tokens()[equals + 1].at;
    loop.limit = source_.between(first + 3, second - 1);
    loop.step = source_.between(second + 4, head_end - 1);
    if (!isIndex(meaning(equals + 1, first)) || !isThreads(meaning(second + 4, head_end)))
      return std::nullopt;
    loop.body = head_end + 1;
    loop.body_end =
        source_.is(loop.body, "{") ? source_.partner(loop.body) : endOf(head_end, kernel_.body_end);
    if (source_.is(loop.body, "if")) return std::nullopt; // it ends with its last branch
    if (loop.body_end >= kernel_.body_end || !isIndependent(loop)) return std::nullopt;
    return loop;
  }

private:
  std::string_view text(std::size_t i) const { return source_.tokens()[i].text; }

  /// The next ";" behind a token.
  std::size_t endOf(std::size_t i, std::size_t end) const {
    for (++i; i < end && !source_.is(i, ";"); ++i) {
    }
    return i;
  }

  /// As it would be written without blanks, brackets and casts; names that have one value stand
  /// for it.
  std::string meaning(std::size_t begin, std::size_t end, int depth = 0) const {
    static const std::map<std::string_view, std::string_view> others = {
        {"hipThreadIdx_x", "threadIdx.x"},
        {"hipBlockIdx_x", "blockIdx.x"},
        {"hipBlockDim_x", "blockDim.x"},
        {"hipGridDim_x", "gridDim.x"}};
    std::string all;
    for (std::size_t i = begin; i < end; ++i) {
      const std::string_view word = text(i);
      if (word == "(" || word == ")" || isWholeNumber(word)) continue;
      if (const auto other = others.find(word); other != others.end())
        all += other->second;
      else if (const auto value = depth < 3 && source_.isName(i) ? valueOf(i) : std::nullopt)
        all += meaning(value->first, value->second, depth + 1);
      else
        all += word;
    }
    return all;
  }
  static bool isIndex(const std::string &words) {
    return words == "blockIdx.x*blockDim.x+threadIdx.x" ||
           words == "blockDim.x*blockIdx.x+threadIdx.x" ||
           words == "threadIdx.x+blockIdx.x*blockDim.x" ||
           words == "threadIdx.x+blockDim.x*blockIdx.x";
  }
  static bool isThreads(const std::string &words) {
    return words == "gridDim.x*blockDim.x" || words == "blockDim.x*gridDim.x";
  }

  /// What a name is declared as, if that is the only value it gets: first token and the one behind.
  std::optional<std::pair<std::size_t, std::size_t>> valueOf(std::size_t name) const {
    const auto times = assigned_.find(text(name));
    if (times == assigned_.end() || times->second != 1) return std::nullopt;
    for (std::size_t i = kernel_.body + 1; i < name; ++i)
      if (source_.is(i, text(name)) && source_.is(i + 1, "=") && isWholeNumber(text(i - 1)))
        return std::pair(i + 2, endOf(i + 1, kernel_.body_end));
    return std::nullopt;
  }

  /// Whether it does not matter which thread takes which turn: nothing in the body tells threads
  /// apart or makes them wait for each other, and something is accessed at "[i]".
  bool isIndependent(const GridLoop &loop) const {
    static const std::set<std::string_view> unknown = {
        "break",     "return",  "goto",          "for",           "while",
        "do",        "switch",  "asm",           "static",        "blockIdx",
        "threadIdx", "gridDim", "hipBlockIdx_x", "hipThreadIdx_x"};
    if (source_.between(loop.body, loop.body_end).find('#') != std::string_view::npos) return false;
    bool has_access = false;
    std::set<std::string_view> declared;
    for (std::size_t i = loop.body; i <= loop.body_end; ++i) {
      has_access |= source_.is(i, "[") && source_.is(i + 1, loop.name) && source_.is(i + 2, "]");
      if (!source_.isName(i)) continue;
      const std::string_view word = text(i);
      // Of the names that begin so, many are about other threads: __shfl, __ballot, __syncthreads.
      if (unknown.contains(word) || word.starts_with("__") || word.starts_with("atomic"))
        return false;
      if (word == loop.name && isAssigned(source_, i)) return false;
      // The number of the thread by another name.
      if (const auto value = valueOf(i);
          value && meaning(value->first, value->second).find("threadIdx") != std::string::npos)
        return false;
      if (!isAssigned(source_, i)) continue;
      if (source_.is(i + 1, "=") && source_.isName(i - 1) && !source_.is(i - 1, "else") &&
          i > loop.body)
        declared.insert(word);
      else if (!declared.contains(word) && source_.is(i + 1, "="))
        return false; // the last turn decides
    }
    return has_access;
  }

  const SourceText &source_;
  const KernelText &kernel_;
  std::map<std::string_view, int> assigned_;
};

/// Elements of up to 16 bytes that a thread can take at once, by the widest that the kernel has
/// pointers to; 1: they are as wide already.
int elementsAtOnce(const SourceText &source, const KernelText &kernel) {
  int most = 4;
  for (std::size_t i = kernel.parameters + 1; i < kernel.parameters_end; ++i) {
    const std::string_view word = source.tokens()[i].text;
    if (word == "double" || word == "long" || word.ends_with("64_t") || word == "size_t")
      most = std::min(most, 2);
    const bool is_pointer = source.is(i + 1, "*") || source.is(i + 2, "*");
    if (is_pointer && source.isName(i) &&
        std::isdigit(static_cast<unsigned char>(word.back())) != 0)
      most = 1; // float4
  }
  return most;
}

} // namespace

/// Threads take several neighboring elements in a turn instead of one: the compiler makes one
/// access of them. What is left at the end is done as before.
std::vector<RuleEdit> widenLoops(const SourceText &source, const Json &request) {
  std::vector<RuleEdit> all;
  for (const KernelText *kernel : kernelsOf(source, request)) {
    const GridLoops loops(source, *kernel);
    const int width = elementsAtOnce(source, *kernel);
    for (std::size_t i = kernel->body; width > 1 && i < kernel->body_end; ++i) {
      const auto loop = loops.at(i);
      if (!loop) continue;
      const auto indent = indentOf(source.source(), source.tokens()[i].at);
      const std::string wide = fmt::format("{}_wide", loop->name),
                        part = fmt::format("{}_part", loop->name);
      const bool is_taken = std::ranges::any_of(source.tokens(), [&](const Token &token) {
        return token.text == wide || token.text == part;
      });
      if (!indent || hasPragma(source.source(), source.tokens()[i].at) || is_taken) continue;
      const std::string line = fmt::format("{}{}", lineEndOf(source), *indent);
      const auto body = source.between(loop->body, loop->body_end);
      RuleEdit edit;
      edit.key = fmt::format("{} {} {}", kernel->name, loop->name, loop->limit);
      edit.comment = fmt::format("threads of {} take {} neighboring elements of the loop over {} "
                                 "at once",
                                 kernel->name, width, loop->name);
      edit.edits.insert(
          source.tokens()[i].at,
          fmt::format("for ({0} {1} = {2}; {1} < ({3}) / {4}; {1} += {5}) {{{6}#pragma unroll{6}"
                      "  for (int {7} = 0; {7} < {4}; ++{7}) {{{6}    const {0} {8} = {4} * {1} + "
                      "{7};{6}    {9}{6}  }}{6}}}{6}",
                      loop->type, wide, loop->start, loop->limit, width, loop->step, line, part,
                      loop->name, body));
      // The rest of the elements.
      edit.edits.replace(
          loop->start_at, loop->start.size(),
          fmt::format("({}) / {} * {} + ({})", loop->limit, width, width, loop->start));
      addRestrict(source, *kernel, edit.edits);
      all.push_back(std::move(edit));
    }
  }
  return all;
}

/// Innermost loops, four turns at a time.
std::vector<RuleEdit> unrollLoops(const SourceText &source, const Json &request) {
  std::vector<RuleEdit> all;
  for (const KernelText *kernel : kernelsOf(source, request)) {
    unsigned number = 0;
    for (std::size_t i = kernel->body; i < kernel->body_end; ++i) {
      if (!source.is(i, "for") || !source.is(i + 1, "(")) continue;
      ++number;
      const std::size_t head_end = source.partner(i + 1);
      if (head_end >= kernel->body_end) continue;
      std::size_t end = head_end + 1;
      while (end < kernel->body_end && !source.is(end, ";") && !source.is(end, "{")) ++end;
      if (source.is(end, "{")) end = std::min(source.partner(end), kernel->body_end);
      const bool has_inner = std::any_of(
          source.tokens().begin() + static_cast<std::ptrdiff_t>(head_end),
          source.tokens().begin() + static_cast<std::ptrdiff_t>(end), [](const Token &token) {
            return token.text == "for" || token.text == "while" || token.text == "do";
          });
      const auto indent = indentOf(source.source(), source.tokens()[i].at);
      if (has_inner || !indent || hasPragma(source.source(), source.tokens()[i].at)) continue;
      RuleEdit edit;
      edit.key = fmt::format("{} {}", kernel->name, number);
      edit.comment = fmt::format("loop {} of {} is unrolled by four", number, kernel->name);
      edit.edits.insert(source.tokens()[i].at,
                        fmt::format("#pragma unroll 4{}{}", lineEndOf(source), *indent));
      all.push_back(std::move(edit));
    }
  }
  return all;
}

} // namespace fade::cli
